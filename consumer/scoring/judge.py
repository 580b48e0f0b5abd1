"""A fitted model: parts, calibration and known items, and the verdicts they give together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from consumer.calibration import LN10, Calibration, RecordRule
from consumer.errors import Misconfigured, ScorerFailed
from consumer.scoring.calibration_store import (
    load_calibration,
    load_evidence,
    load_rule,
    save_calibration,
    save_evidence,
    save_rule,
)
from consumer.scoring.known import KnownItems, load_known
from consumer.scoring.parts import Arrays, Facts, FittedPart, Floats, Integers, Measured, Part

Bools = npt.NDArray[np.bool_]
_Kind = TypeVar("_Kind", bound=np.generic)
Sections = Mapping[str, tuple[Arrays, Facts]]


class Verdicts(NamedTuple):
    """Per item: `scores` = -log10 p of the record; `parts` [items, parts] = -log10 p of each part, NaN
    for known items; `extrapolated`; `anomalous` at the threshold asked; `known`."""

    scores: Floats
    parts: Floats
    extrapolated: Bools
    anomalous: Bools
    known: Bools


class FittedModel(NamedTuple):
    """Everything that turns items into verdicts. Verdicts depend on the item and the model alone.
    `evidence`: what each part measured on the calibration items, which is all that calibrating anew
    takes; empty in models that were written without it."""

    parts: tuple[FittedPart, ...]
    calibration: Calibration
    rule: RecordRule
    known: KnownItems
    evidence: tuple[Measured, ...] = ()

    @property
    def part_names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def measure(self, items: Sequence[str]) -> list[Measured]:
        """What each part says of the items, in the parts' order. Blocks while the parts compute."""
        return [part.measure(items) for part in self.parts]

    def judge_new(self, measured: Sequence[Measured], threshold: float) -> Verdicts:
        """Of items that are not known. Raises ScorerFailed when a part returned NaN."""
        try:
            u = self.calibration.surprise(measured)
        except ValueError as error:
            raise ScorerFailed(f"a part of the model gave no number: {error}") from error
        new = np.zeros(len(u.new), bool)
        return Verdicts(
            scores=self.rule.new_score(u.new),
            parts=u.parts / LN10,
            extrapolated=self.rule.extrapolated(u.new),
            anomalous=self.rule.anomalous(u.new, threshold),
            known=new,
        )

    def judge_known(self, counts: Integers) -> Verdicts:
        """Of items seen that often in fitting: their rarity is all, and they never are anomalies."""
        no = np.zeros(len(counts), bool)
        parts = np.full((len(counts), len(self.parts)), np.nan)
        return Verdicts(self.rule.known_score(counts), parts, no, no, ~no)

    def judge(self, items: Sequence[str], threshold: float) -> Verdicts:
        """Of any items, in their order; equal items are measured as often as they occur."""
        counts = [self.known.count(item) for item in items]
        fresh = [item for item, count in zip(items, counts, strict=True) if count is None]
        return self.judge_all(counts, self.measure(fresh) if fresh else [], threshold)

    def judge_all(
        self, counts: Sequence[int | None], measured: Sequence[Measured], threshold: float
    ) -> Verdicts:
        """Of items seen that often in fitting, None for new ones, and of what the parts measured on the
        new ones in their order. Raises ScorerFailed."""
        known = np.array([count is not None for count in counts], bool)
        old = self.judge_known(np.array([count for count in counts if count is not None], np.int64))
        if known.all():
            return old
        new = self.judge_new(measured, threshold)
        return Verdicts(
            scores=_merge(known, old.scores, new.scores),
            parts=_merge(known, old.parts, new.parts),
            extrapolated=_merge(known, old.extrapolated, new.extrapolated),
            anomalous=_merge(known, old.anomalous, new.anomalous),
            known=known,
        )

    def examine(self, item: str) -> tuple[float, tuple[float, ...]]:
        """The score of an item as if it had not been seen in fitting, and every part's statistics: what
        a self-test compares. Blocks; raises ScorerFailed."""
        measured = self.measure([item])
        values = tuple(float(value) for each in measured for value in each.values[0])
        return float(self.judge_new(measured, threshold=0.0).scores[0]), values

    def save(self) -> dict[str, tuple[Arrays, Facts]]:
        """Arrays and facts by section: one for each part, `calibration`, `rule`, `known` and
        `evidence`."""
        sections = {part.name: part.save() for part in self.parts}
        sections["calibration"] = save_calibration(self.calibration)
        sections["rule"] = save_rule(self.rule)
        sections["known"] = (self.known.save(), {"items": len(self.known)})
        sections["evidence"] = save_evidence(self.evidence)
        return sections


def load_model(sections: Sections, parts: Sequence[Part]) -> FittedModel:
    """The inverse of `FittedModel.save`; `parts` in the order in which they were fitted. Raises
    Misconfigured for a missing or damaged section."""
    wanted = [*(part.name for part in parts), "calibration", "rule", "known"]
    if missing := [name for name in wanted if name not in sections]:
        raise Misconfigured([f"model: section {name!r} is missing; fit the model again" for name in missing])
    return FittedModel(
        tuple(part.load(*sections[part.name]) for part in parts),
        load_calibration(*sections["calibration"]),
        load_rule(*sections["rule"]),
        load_known(sections["known"][0]),
        load_evidence(sections["evidence"][0], len(parts)) if "evidence" in sections else (),
    )


def _merge(known: Bools, old: npt.NDArray[_Kind], new: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
    merged = np.empty((len(known), *new.shape[1:]), new.dtype)
    merged[known] = old
    merged[~known] = new
    return merged

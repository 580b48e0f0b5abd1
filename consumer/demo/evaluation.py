"""How well the anomalies were found. Pure: labels and outcomes in, numbers out.

A false alarm is a normal record that was flagged. Repeats of one text (one model input) count once,
because whoever watches sees one alert; the raw count stands beside it. Precision counts texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from consumer.demo.labels import COVERED, Kind, Truth
from consumer.evaluation import FalseAlarms, count_false_alarms

LENGTHS: Final = (60, 120, 100_000)
"""Upper ends of the buckets of message length (characters) for which false alarms are told apart."""


class Judged(msgspec.Struct, frozen=True):
    """A produced record, its label, and what came out for it. `item` is its model input, or for what
    was never scored something that tells it from others. `known`: the model saw the item in fitting."""

    truth: Truth
    item: str
    flagged: bool
    known: bool = False


class KindScore(msgspec.Struct, frozen=True):
    """Of one kind, or of several together."""

    records: int
    found: int
    texts: int
    precision: float

    @property
    def recall(self) -> float:
        return self.found / self.records if self.records else 1.0


class Unseen(msgspec.Struct, frozen=True):
    """Of the normal records: texts that the model had not seen, templates no fleet of the pool has."""

    texts: int
    unseen_texts: int
    text_records: float  # share of the normal records
    templates: int
    unseen_templates: int
    template_records: float


def false_alarms(judged: Sequence[Judged], fits: Callable[[Judged], bool] = lambda _: True) -> FalseAlarms:
    """Among the normal records that `fits`."""
    normal = (j for j in judged if j.truth.kind is Kind.NORMAL and fits(j))
    return count_false_alarms((j.item, j.flagged) for j in normal)


def false_alarms_by_length(judged: Sequence[Judged]) -> list[tuple[int, FalseAlarms]]:
    """(upper end of the bucket in characters, false alarms in it), short texts first."""
    found = []
    for low, high in zip((0, *LENGTHS), LENGTHS, strict=False):
        found.append((high, false_alarms(judged, lambda j: low < len(j.truth.message) <= high)))  # noqa: B023 - called at once
    return found


def score_of(judged: Sequence[Judged], *kinds: Kind) -> KindScore:
    """Recall over the records of these kinds; precision of their flagged texts against the false alarms."""
    wanted = [j for j in judged if j.truth.kind in kinds]
    found = [j for j in wanted if j.flagged]
    right = len({j.item for j in found})
    alarms = right + false_alarms(judged).texts
    return KindScore(
        len(wanted), len(found), len({j.item for j in wanted}), right / alarms if alarms else 1.0
    )


def unseen(judged: Sequence[Judged], pool: set[str]) -> Unseen:
    """`pool`: names of the templates that the model's fleets could have used."""
    normal = [j for j in judged if j.truth.kind is Kind.NORMAL]
    new_text = [j for j in normal if not j.known]
    new_template = [j for j in normal if j.truth.template not in pool]
    return Unseen(
        texts=len({j.item for j in normal}),
        unseen_texts=len({j.item for j in new_text}),
        text_records=len(new_text) / max(1, len(normal)),
        templates=len({j.truth.template for j in normal}),
        unseen_templates=len({j.truth.template for j in new_template}),
        template_records=len(new_template) / max(1, len(normal)),
    )


def meets_target(judged: Sequence[Judged]) -> bool:
    """Recall of at least .9 over the covered kinds and .7 in each, at 1 % false alarms at most."""
    each = [score_of(judged, kind).recall for kind in COVERED]
    return score_of(judged, *COVERED).recall >= 0.9 and min(each) >= 0.7 and false_alarms(judged).rate <= 0.01

"""Fitting: every part learns from normal items, and all are calibrated on items new to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from consumer.calibration import RecordRule, fit_calibration, fit_known_share, threshold_for
from consumer.errors import Misconfigured
from consumer.scoring.judge import FittedModel
from consumer.scoring.known import Tally, known_items
from consumer.scoring.parts import FitTask, FittedPart, Integers, Measured, Part, Progress, silent

LEAST_ITEMS = 8
_USUAL_RATE = 0.01


class FitOptions(msgspec.Struct, frozen=True):
    """`blocks`: parts into which up to `small` items are cut, each scored by a fit without it; of more
    items a random eighth is held out once. `max_known` bounds the known items kept with the model."""

    blocks: int = 8
    seed: int = 0
    small: int = 1_500
    max_known: int = 200_000


class _CrossFitted(NamedTuple):
    part: FittedPart
    measured: Measured  # on the calibration items, in their order


class Odd(NamedTuple):
    """An item of the fit that the fits without it found odd: maybe not normal at all."""

    item: str
    score: float


class Learnt(NamedTuple):
    """The model, and those of its calibration items that would have been called anomalous at the usual
    rate had they not been learnt, the oddest first."""

    model: FittedModel
    odd: tuple[Odd, ...]


def fit(
    tally: Tally, parts: Sequence[Part], options: FitOptions | None = None, progress: Progress = silent
) -> FittedModel:
    """`learn`, for whoever wants the model alone."""
    return learn(tally, parts, options, progress).model


def learn(
    tally: Tally, parts: Sequence[Part], options: FitOptions | None = None, progress: Progress = silent
) -> Learnt:
    """Learn from counted items. The same tally, options and machine give the same model.

    Blocks until done (minutes with a language model). Raises Misconfigured below 8 distinct items.
    """
    options = FitOptions() if options is None else options
    items, counts = tally.items, tally.counts
    if len(items) < LEAST_ITEMS:
        raise Misconfigured([_too_few(len(items), tally.records)])
    held = held_out_sets(len(items), options)
    fitted = [_cross_fit(part, _Job(items, counts, held, options.seed, progress)) for part in parts]
    progress("calibrate", 0, 1)
    measured = tuple(each.measured for each in fitted)
    calibration = fit_calibration(measured)
    rule = RecordRule(len(items) / tally.records, fit_known_share(counts), calibration.n)
    known = known_items(zip(items, counts, strict=True), options.max_known)
    model = FittedModel(tuple(each.part for each in fitted), calibration, rule, known, measured)
    progress("calibrate", 1, 1)
    return Learnt(model, _odd(model, measured, [items[i] for i in np.concatenate(held).tolist()]))


def _odd(model: FittedModel, measured: Sequence[Measured], items: Sequence[str]) -> tuple[Odd, ...]:
    """A burst of anomalies in the fit data is found this way, block by block of the others."""
    verdicts = model.judge_new(measured, threshold_for(_USUAL_RATE))
    odd = [Odd(items[i], float(verdicts.scores[i])) for i in np.flatnonzero(verdicts.anomalous).tolist()]
    return tuple(sorted(odd, key=lambda each: -each.score))


def held_out_sets(n: int, options: FitOptions) -> list[Integers]:
    """Which items each fit does without: contiguous blocks that cover all, or one random eighth."""
    if n <= options.small:
        return [block.astype(np.int64) for block in np.array_split(np.arange(n), min(options.blocks, n))]
    chosen = np.random.default_rng(options.seed).choice(n, n // 8, replace=False)
    return [np.sort(chosen).astype(np.int64)]


class _Job(NamedTuple):
    items: Sequence[str]
    counts: Sequence[int]
    held: Sequence[Integers]
    seed: int
    progress: Progress

    def without(self, out: Integers, hint: object | None, stage: str) -> FitTask:
        """The task of learning all items but `out`."""
        gone = set(out.tolist())
        kept = [i for i in range(len(self.items)) if i not in gone]
        return FitTask(
            items=[self.items[i] for i in kept],
            counts=[self.counts[i] for i in kept],
            held_out=self.pick(out) if hint is None else (),
            hint=hint,
            seed=self.seed,
            progress=_staged(self.progress, stage),
        )

    def pick(self, at: Integers) -> list[str]:
        return [self.items[i] for i in at.tolist()]


def _cross_fit(part: Part, job: _Job) -> _CrossFitted:
    """Fit and measure without each held-out set in turn; then fit on all, unless there was only one
    set: what was never learnt then stays unlearnt."""
    hint: object | None = None
    measured: list[Measured] = []
    rounds = len(job.held) + (len(job.held) > 1)
    for number, out in enumerate(job.held, start=1):
        fitted = part.fit(job.without(out, hint, f"{part.name} {number}/{rounds}"))
        measured.append(fitted.measure(job.pick(out)))
        hint = fitted.hint if hint is None else hint
    if rounds > 1:
        nothing = np.zeros(0, np.int64)
        fitted = part.fit(job.without(nothing, hint, f"{part.name} {rounds}/{rounds}"))
    values = np.concatenate([each.values for each in measured])
    return _CrossFitted(fitted, Measured(values, np.concatenate([each.lengths for each in measured])))


def _staged(progress: Progress, stage: str) -> Progress:
    """Name the round instead of whatever the part calls it."""

    def report(_: str, done: int, total: int) -> None:
        progress(stage, done, total)

    return report


def _too_few(items: int, records: int) -> str:
    return (
        f"only {items} different texts in {records} records: fitting needs at least {LEAST_ITEMS} "
        "(150 and more for a false-alarm rate of 1 %); give it more of your normal records"
    )

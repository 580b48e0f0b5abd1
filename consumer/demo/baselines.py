"""What two trivial scorers make of the same run: one looks at the level alone, one at the length alone.

Their threshold is chosen on the labels of this very run, the lowest that stays at 1 % false alarms, so
they look better than they could ever be in use. What was dead-lettered counts for nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from consumer import evaluation
from consumer.demo.evaluation import Judged, false_alarms
from consumer.demo.labels import COVERED, Kind, Truth

MOST_FALSE_ALARMS: Final = 0.01
SCORED_KINDS: Final = tuple(kind for kind in COVERED if kind is not Kind.MALFORMED)

Measure = Callable[[Truth], float]


def level_alone(normal: Sequence[Truth]) -> Measure:
    """By the level among `normal`."""
    measure = evaluation.level_alone(truth.level for truth in normal)
    return lambda truth: measure(truth.level)


def length_alone(normal: Sequence[Truth]) -> Measure:
    """By the length of the message among `normal`."""
    measure = evaluation.length_alone([len(truth.message) for truth in normal])
    return lambda truth: measure(len(truth.message))


def judged_by(measure: Measure, judged: Sequence[Judged]) -> list[Judged]:
    """The scored records, flagged by `measure` at the threshold that favours it most."""
    scored = [j for j in judged if j.truth.kind in (*SCORED_KINDS, Kind.NORMAL)]
    values = [measure(j.truth) for j in scored]
    best = _flagged(scored, values, math.inf)
    for threshold in sorted(set(values), reverse=True):
        flagged = _flagged(scored, values, threshold)
        if false_alarms(flagged).rate > MOST_FALSE_ALARMS:
            break
        best = flagged
    return best


def _flagged(scored: Sequence[Judged], values: Sequence[float], threshold: float) -> list[Judged]:
    return [
        msgspec.structs.replace(j, flagged=value >= threshold)
        for j, value in zip(scored, values, strict=True)
    ]

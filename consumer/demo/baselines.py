"""What two trivial scorers make of the same run: one looks at the level alone, one at the length alone.

Their threshold is chosen on the labels of this very run, the lowest that stays at 1 % false alarms, so
they look better than they could ever be in use. What was dead-lettered counts for nobody.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from consumer.demo.evaluation import Judged, false_alarms
from consumer.demo.labels import COVERED, Kind, Truth

MOST_FALSE_ALARMS: Final = 0.01
SCORED_KINDS: Final = tuple(kind for kind in COVERED if kind is not Kind.MALFORMED)

Measure = Callable[[Truth], float]


def level_alone(normal: Sequence[Truth]) -> Measure:
    """Surprise of the level, -ln of its share among `normal`; a level never seen counts as half seen."""
    counts = Counter(truth.level for truth in normal)
    total = sum(counts.values())
    return lambda truth: -math.log((counts[truth.level] or 0.5) / total)


def length_alone(normal: Sequence[Truth]) -> Measure:
    """Distance of ln(length) from the median of `normal`, in either direction."""
    middle = statistics.median(_log_length(truth) for truth in normal)
    return lambda truth: abs(_log_length(truth) - middle)


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


def _log_length(truth: Truth) -> float:
    return math.log(max(1, len(truth.message)))

"""How good scores are, given labels. Pure: labels and scores in, numbers out.

Nothing here chooses a threshold for use. The recalls at a false-alarm rate are read off the ROC curve
of the very records that are judged: they say what the order of the scores is worth, no more.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RATES = (0.001, 0.01)
"""False-alarm rates at which recall is read off the ROC curve."""


class Ranking(msgspec.Struct, frozen=True):
    """What the order of the scores is worth. `recall_at`: one for each of RATES."""

    average_precision: float
    auroc: float
    recall_at: tuple[float, ...]


class FalseAlarms(msgspec.Struct, frozen=True):
    """Among `normal` records, `raw` were flagged, of `texts` different texts."""

    normal: int
    texts: int
    raw: int

    @property
    def rate(self) -> float:
        """Repeats of one text counted once."""
        return self.texts / self.normal if self.normal else 0.0

    @property
    def raw_rate(self) -> float:
        return self.raw / self.normal if self.normal else 0.0


class _Curve(NamedTuple):
    """Anomalies and normal ones at or above each different score, the highest score first."""

    hits: Integers
    misses: Integers


def ranking(anomalous: Bools, scores: Floats) -> Ranking:
    """Equal scores count as one step, in the order of nobody's choice. Raises ValueError unless there
    are anomalies and normal ones."""
    if anomalous.all() or not anomalous.any():
        raise ValueError("a ranking needs anomalies and normal ones")
    curve = _curve(anomalous, scores)
    return Ranking(_average_precision(curve), _auroc(curve), tuple(_recall(curve, rate) for rate in RATES))


def _curve(anomalous: Bools, scores: Floats) -> _Curve:
    order = np.argsort(-scores, kind="stable")
    ranked, ordered = scores[order], anomalous[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    hits = np.cumsum(ordered)[ends].astype(np.int64)
    return _Curve(hits, (ends + 1 - hits).astype(np.int64))


def _average_precision(curve: _Curve) -> float:
    """Sum over the steps of (recall gained) x (precision after the step)."""
    precision = curve.hits / (curve.hits + curve.misses)
    gained = np.diff(curve.hits, prepend=0) / curve.hits[-1]
    return float((gained * precision).sum())


def _auroc(curve: _Curve) -> float:
    """Area under the ROC curve by trapezoids: half a point for each pair of equal scores."""
    recall = np.append(0, curve.hits) / curve.hits[-1]
    rate = np.append(0, curve.misses) / curve.misses[-1]
    return float(((recall[1:] + recall[:-1]) / 2 * np.diff(rate)).sum())


def _recall(curve: _Curve, rate: float) -> float:
    """The best recall with at most `rate` of the normal ones at or above the threshold."""
    allowed = curve.misses <= rate * curve.misses[-1]
    return float(curve.hits[allowed].max(initial=0) / curve.hits[-1])


def count_false_alarms(flagged: Iterable[tuple[Hashable, bool]]) -> FalseAlarms:
    """Of normal records: (what tells one text from another, whether the record was flagged)."""
    normal, texts = 0, Counter[Hashable]()
    for text, wrong in flagged:
        normal += 1
        texts.update((text,) if wrong else ())
    return FalseAlarms(normal, len(texts), texts.total())


def level_alone(levels: Iterable[str]) -> Callable[[str], float]:
    """A trivial scorer: surprise of the level, -ln of its share among `levels`; one that is not among
    them counts as half seen."""
    counts = Counter(levels)
    total = counts.total()
    return lambda level: -math.log((counts[level] or 0.5) / total)


def length_alone(lengths: Sequence[int]) -> Callable[[int], float]:
    """A trivial scorer: distance of ln(length) from the median of `lengths`, in either direction."""
    middle = statistics.median(map(_log_length, lengths))
    return lambda length: abs(_log_length(length) - middle)


def _log_length(length: int) -> float:
    return math.log(max(1, length))


def first_part(records: int, share: float) -> Bools:
    """The records that come first, `share` of them: what happened before the rest."""
    return np.arange(records) < round(records * share)


def random_part(text_of: Integers, share: float, seed: int) -> Bools:
    """The records of randomly chosen texts, `share` of the different ones: no text is in both parts."""
    texts = int(text_of.max(initial=-1)) + 1
    chosen = np.zeros(texts, bool)
    chosen[np.random.default_rng(seed).permutation(texts)[: round(texts * share)]] = True
    return chosen[text_of]

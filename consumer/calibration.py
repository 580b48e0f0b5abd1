"""From statistics to p-values: what "one record in a thousand looks this odd" is computed with.

All surprise here is u = -ln p, in nats, so that nothing underflows; only the last step divides by
ln 10. Values are clipped to +-1e100 on entry, so that no sum or square overflows: every result is
finite, and p > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LARGEST = 1e100
LN10 = math.log(10.0)


class Tail(NamedTuple):
    """p-values against a calibration sample: mid-ranks in the bulk, an exponential tail beyond it.

    `values` is sorted. Beyond `start`, the (1 - q) quantile with q = clip(10/n, .1, .5), u grows by
    1/`scale` per unit from `floor` = -ln((1 + number above)/(n + 1)).
    """

    values: Floats
    start: float
    scale: float
    floor: float

    def surprise(self, x: Floats) -> Floats:
        """-ln p of each x: finite, > 0, never falling as x grows."""
        x = clipped(x)
        below = np.searchsorted(self.values, x, side="left")
        not_above = np.searchsorted(self.values, x, side="right")
        n = len(self.values)
        p = (n - not_above + 0.5 * (not_above - below) + 0.5) / (n + 1)
        bulk = np.minimum(-np.log(p), self.floor)
        return np.where(x > self.start, self.floor + (x - self.start) / self.scale, bulk)


def clipped(x: Floats) -> Floats:
    """Within +-1e100. Raises ValueError for NaN, which no order statistic can place."""
    if np.isnan(x).any():
        raise ValueError("a statistic is not a number")
    return np.clip(x, -_LARGEST, _LARGEST)


def fit_tail(values: Floats) -> Tail:
    """The exponential tail has mean excess (sum of excesses + sd/4)/(number above + 1), at least sd/20
    and 1e-9: ties would give 0. A constant sample has no scale of its own: its tail falls in units of
    the constant, at least 1, so that the first value that differs does not outshout everything."""
    ordered = np.sort(clipped(values))
    n = len(ordered)
    q = min(max(10.0 / n, 0.1), 0.5)
    start = float(np.quantile(ordered, 1.0 - q))
    excess = ordered[ordered > start] - start
    sd = float(np.std(ordered))
    unit = max(abs(start), 1.0)
    scale = max((float(excess.sum()) + sd / 4.0) / (len(excess) + 1), sd / 20.0, 1e-9)
    if sd <= 1e-9 * unit:
        scale = unit
    return Tail(ordered, start, scale, -math.log((1 + len(excess)) / (n + 1)))


def cap(u: Floats, n: int) -> Floats:
    """Evidence saturates: u up to c = ln((n + 1)/20) (ln 1.5 below n = 30), beyond it
    c + s ln(1 + (u - c)/s) with s = 1.5 min(1, n/500). Strictly increasing."""
    c = math.log(max(n + 1, 30) / 20.0)
    s = 1.5 * min(1.0, n / 500.0)
    return np.where(u <= c, u, c + s * np.log1p(np.maximum(u - c, 0.0) / s))


class LengthLine(NamedTuple):
    """Location and scale of a statistic as straight lines in ln(token count)."""

    location: tuple[float, float]  # at ln 1, per unit of ln(count)
    scale: tuple[float, float]
    least: float  # the scale line is never taken below this

    def residual(self, x: Floats, lengths: Integers) -> Floats:
        """(x - location)/scale for texts of these token counts."""
        t = _log_length(lengths)
        scale = np.maximum(self.scale[0] + self.scale[1] * t, self.least)
        return (clipped(x) - (self.location[0] + self.location[1] * t)) / scale


def fit_length(x: Floats, lengths: Integers) -> LengthLine:
    """Robust fit: the location to x, the scale to the absolute residuals. The scale is kept above a
    fifth of the median absolute residual, because a falling line would cross zero somewhere."""
    t = _log_length(lengths)
    location = _robust_line(t, clipped(x))
    off = np.abs(clipped(x) - (location[0] + location[1] * t))
    return LengthLine(location, _robust_line(t, off), max(float(np.median(off)) / 5.0, 1e-9))


def _log_length(lengths: Integers) -> Floats:
    return np.log(np.maximum(lengths, 1).astype(np.float64))


def _robust_line(t: Floats, y: Floats) -> tuple[float, float]:
    """Huber's line by reweighted least squares: residuals beyond 1.345 robust sds count less."""
    weights = np.ones_like(y)
    line = (float(np.median(y)), 0.0)
    for _ in range(50):
        line = _weighted_line(t, y, weights)
        off = np.abs(y - (line[0] + line[1] * t))
        spread = 1.4826 * float(np.median(off))
        if spread <= 1e-12 * (1.0 + float(np.abs(y).max())):
            break
        bend = 1.345 * spread
        weights = bend / np.maximum(off, bend)
    return line


def _weighted_line(t: Floats, y: Floats, w: Floats) -> tuple[float, float]:
    total = float(w.sum())
    mean_t, mean_y = float((w * t).sum()) / total, float((w * y).sum()) / total
    spread = float((w * (t - mean_t) ** 2).sum())
    if spread <= 1e-9 * total:  # all of one length: no slope to be had
        return mean_y, 0.0
    slope = float((w * (t - mean_t) * (y - mean_y)).sum()) / spread
    return mean_y - slope * mean_t, slope


class PartCalibration(NamedTuple):
    """One part: its statistics' lines (None where length does not matter) and tails, and the tail of
    the sum of its capped statistics."""

    lines: tuple[LengthLine | None, ...]
    tails: tuple[Tail, ...]
    total: Tail

    def surprise(self, values: Floats, lengths: Integers) -> Floats:
        """-ln p of the part [items] from its statistics [items, statistics], not capped yet."""
        return self.total.surprise(_capped_sum(self.lines, self.tails, values, lengths))


def fit_part(values: Floats, lengths: Integers) -> PartCalibration:
    """`values` [n, statistics] and token counts [n] of the calibration items. Counts that are all 0
    mean that length does not matter."""
    columns = range(values.shape[1])
    by_length = bool(np.any(lengths > 0))
    lines = tuple(fit_length(values[:, j], lengths) if by_length else None for j in columns)
    tails = tuple(fit_tail(_column(values, lengths, line, j)) for j, line in enumerate(lines))
    return PartCalibration(lines, tails, fit_tail(_capped_sum(lines, tails, values, lengths)))


def _column(values: Floats, lengths: Integers, line: LengthLine | None, j: int) -> Floats:
    return values[:, j] if line is None else line.residual(values[:, j], lengths)


def _capped_sum(
    lines: Sequence[LengthLine | None], tails: Sequence[Tail], values: Floats, lengths: Integers
) -> Floats:
    total = np.zeros(len(values))
    for j, (line, tail) in enumerate(zip(lines, tails, strict=True)):
        u = tail.surprise(_column(values, lengths, line, j))
        total += cap(u, len(tail.values))
    return total


class ItemSurprise(NamedTuple):
    """-ln p_new [items], and -ln p of every part [items, parts]."""

    new: Floats
    parts: Floats


class Calibration(NamedTuple):
    """All parts, and the tail of the sum of the capped parts."""

    parts: tuple[PartCalibration, ...]
    total: Tail

    @property
    def n(self) -> int:
        """Calibration items."""
        return len(self.total.values)

    def surprise(self, measured: Sequence[tuple[Floats, Integers]]) -> ItemSurprise:
        """`measured`: (values [items, statistics], lengths [items]) per part, in the parts' order."""
        pairs = zip(self.parts, measured, strict=True)
        u = np.column_stack([part.surprise(values, lengths) for part, (values, lengths) in pairs])
        return ItemSurprise(self.total.surprise(cap(u, self.n).sum(axis=1)), u)


def fit_calibration(measured: Sequence[tuple[Floats, Integers]]) -> Calibration:
    """From what each part measured on the calibration items, which must be new to what scored them."""
    parts = tuple(fit_part(values, lengths) for values, lengths in measured)
    n = len(measured[0][0])
    pairs = zip(parts, measured, strict=True)
    sums = sum(cap(part.surprise(values, lengths), n) for part, (values, lengths) in pairs)
    return Calibration(parts, fit_tail(np.asarray(sums, dtype=np.float64)))


class KnownShare(NamedTuple):
    """Share of the fit records whose item was seen at most k times, as a step function: `shares[i]`
    holds from `counts[i]` on. Both ascending."""

    counts: Integers
    shares: Floats

    def share(self, k: Integers) -> Floats:
        """0 below the smallest count seen, 1 from the largest on."""
        at = np.searchsorted(self.counts, k, side="right")
        return np.concatenate([[0.0], self.shares])[at]


def fit_known_share(counts: Sequence[int]) -> KnownShare:
    """`counts`: how often each distinct item was seen in fitting."""
    each, items = np.unique(np.asarray(counts, dtype=np.int64), return_counts=True)
    records = np.cumsum(each * items).astype(np.float64)
    return KnownShare(each, records / records[-1])


class RecordRule(NamedTuple):
    """From an item to a record. `pi`: share of first-sight items among the fit records."""

    pi: float
    known: KnownShare
    n: int

    def new_score(self, u_new: Floats) -> Floats:
        """-log10(pi p_new)."""
        return (u_new - math.log(self.pi)) / LN10

    def known_score(self, counts: Integers) -> Floats:
        """-log10(pi + (1 - pi) share of fit records whose item was seen at most so often)."""
        return -np.log10(np.minimum(self.pi + (1.0 - self.pi) * self.known.share(counts), 1.0)) + 0.0

    def extrapolated(self, u_new: Floats) -> npt.NDArray[np.bool_]:
        """p_new < 1/(n + 1): less than the calibration items can prove."""
        return u_new > math.log(self.n + 1)

    def anomalous(self, u_new: Floats, threshold: float) -> npt.NDArray[np.bool_]:
        """Of new items only: p at most the rate behind `threshold`, and p_new at most a half."""
        return (self.new_score(u_new) >= threshold) & (u_new >= math.log(2.0))

    @property
    def smallest_rate(self) -> float:
        """The smallest false-alarm rate per record that the calibration items support."""
        return self.pi / (self.n + 1)


def threshold_for(rate: float) -> float:
    """The score at which a false-alarm rate per record is reached: -log10(rate)."""
    return -math.log10(rate)

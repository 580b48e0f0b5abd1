"""Long texts in windows, windows in device batches, and the results back in their places. Pure.

A text is a sequence of token ids that begins with one id marking its beginning; that mark is read
but never scored. A window reads a stretch of a text and scores the tokens that no earlier window
scored, so that every token is scored exactly once, with at least `context` tokens before it where
the text has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Windowing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`width`: tokens that one row reads at most. `context`: how many of them an earlier row scored."""

    width: int = 256
    context: int = 64

    def __post_init__(self) -> None:
        if not 0 < self.context < self.width:
            raise ValueError(f"context {self.context} must lie between 0 and the width {self.width}")


class Window(NamedTuple):
    """A row: reads positions [start, stop - 1), scores positions [first, stop)."""

    start: int
    first: int
    stop: int


def windows(length: int, windowing: Windowing) -> Iterator[Window]:
    """The windows of a text of `length` ids, the mark included; none when nothing is to be scored."""
    start, first = 0, 1
    while first < length:
        stop = min(length, start + windowing.width + 1)
        yield Window(start, first, stop)
        first = stop
        start = stop - 1 - windowing.context


class Packed(NamedTuple):
    """Texts laid end to end. Text i is `ids[bounds[i]:bounds[i + 1]]`, its mark first; `rows` is
    [n_windows, 3] as in Window, in positions of `ids`."""

    ids: Ints
    bounds: Ints
    rows: Ints


def pack(texts: Sequence[Sequence[int]], mark: int, windowing: Windowing) -> Packed:
    """Lay token ids (without the mark) end to end and cut them into windows."""
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) + 1 for text in texts], out=bounds[1:])
    ids = np.full(int(bounds[-1]), mark, np.int64)
    rows: list[tuple[int, int, int]] = []
    for base, text in zip(bounds.tolist(), texts, strict=False):
        ids[base + 1 : base + 1 + len(text)] = text
        rows += [(base + w.start, base + w.first, base + w.stop) for w in windows(len(text) + 1, windowing)]
    return Packed(ids, bounds, np.array(rows, np.int64).reshape(-1, 3))


def device_batches(packed: Packed, budget: int, most_waste: float = 1.0) -> list[Ints]:
    """Row numbers of each device batch, as `bands` cuts them, longest rows first.

    Longest first: what does not fit into the device's memory shows at once, and the first row of a
    batch is its width.
    """
    widths = row_widths(packed)
    order = np.argsort(-widths, kind="stable")
    return [order[band] for band in bands(widths[order], budget, most_waste)]


def bands(widths: Ints, budget: int, most_waste: float) -> Iterator[slice]:
    """Cut rows that are sorted by their widths, longest first, so that rows times longest row ≤ `budget`
    and no more than a share `most_waste` of these places is padding.

    A row longer than the budget makes a band of its own.
    """
    before = np.concatenate([[0], np.cumsum(widths)])
    at = 0
    while at < len(widths):
        longest = int(widths[at])
        most = min(len(widths) - at, max(1, budget // longest))
        places = longest * np.arange(1, most + 1)
        tokens = before[at + 1 : at + 1 + most] - before[at]
        count = max(1, int(np.count_nonzero(tokens >= (1 - most_waste) * places)))
        yield slice(at, at + count)
        at += count


def row_widths(packed: Packed) -> Ints:
    """Tokens that each row reads."""
    widths: Ints = packed.rows[:, 2] - packed.rows[:, 0] - 1
    return widths


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """As many numbers as each length says, counted from each start, end to end."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths - starts, lengths)


class Found(NamedTuple):
    """Values at positions of `ids`."""

    positions: Ints
    values: npt.NDArray[np.floating]


class Matrix(NamedTuple):
    """One device batch, [rows, width] each. `scored` marks the places that count; position p of
    `ids` is predicted at the place where `places` is p."""

    inputs: Ints
    targets: Ints
    places: Ints
    scored: npt.NDArray[np.bool_]

    @property
    def tokens(self) -> int:
        """Places that hold a token: those up to each row's last scored one."""
        return int(self.scored.size - np.argmax(self.scored[:, ::-1], axis=1).sum())

    @property
    def divisible(self) -> bool:
        """Whether it has more than one row."""
        return len(self.inputs) > 1

    def halves(self) -> tuple[Matrix, Matrix]:
        """In two by its rows, for a device that does not hold it."""
        middle = (len(self.inputs) + 1) // 2
        return self._rows(slice(None, middle)), self._rows(slice(middle, None))

    def _rows(self, some: slice) -> Matrix:
        return Matrix(self.inputs[some], self.targets[some], self.places[some], self.scored[some])

    def pick(self, values: npt.NDArray[np.floating]) -> Found:
        """`values`: one for each place, row by row."""
        return Found(self.places[self.scored], values.reshape(self.scored.shape)[self.scored])


def matrix(packed: Packed, rows: Ints) -> Matrix:
    """Fill a device batch. What lies beyond a row's end is some valid id: a causal model never lets
    it reach the places before it, and its own results are dropped."""
    start, first, stop = (packed.rows[rows, column][:, None] for column in range(3))
    width = int((stop - start).max()) - 1
    places = start + 1 + np.arange(width)
    scored = (places >= first) & (places < stop)
    inside = np.minimum(places, stop - 1)
    return Matrix(packed.ids[inside - 1], packed.ids[inside], places, scored)


def unpack(packed: Packed, found: Iterable[Found]) -> Floats:
    """Values in the places of `ids`; zero at the marks."""
    values = np.zeros(len(packed.ids))
    for each in found:
        values[each.positions] = each.values
    return values


def padded_waste(packed: Packed, batches: Sequence[Ints]) -> float:
    """Share of the computed places that are padding or repeated context; 0 when nothing is computed."""
    widths = row_widths(packed)
    computed = sum(len(rows) * int(widths[rows].max()) for rows in batches)
    useful = len(packed.ids) - (len(packed.bounds) - 1)
    return 1 - useful / computed if computed else 0.0

"""Long texts in windows, windows in device batches, and the results back in their places. Pure.

A text is a sequence of token ids that begins with one id marking its beginning; that mark is read
but never scored. A window reads a stretch of a text and scores the tokens that no earlier window
scored, so that every token is scored exactly once, with at least `context` tokens before it where
the text has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def device_batches(packed: Packed, budget: int) -> list[Ints]:
    """Row numbers of each device batch, longest rows first, so that rows times longest row ≤ `budget`.

    A row longer than the budget makes a batch of its own. Longest first: what does not fit into the
    device's memory shows at once, and the first row of a batch is its width.
    """
    widths = row_widths(packed)
    order = np.argsort(-widths, kind="stable")
    batches: list[Ints] = []
    at = 0
    while at < len(order):
        count = max(1, budget // int(widths[order[at]]))
        batches.append(order[at : at + count])
        at += count
    return batches


def row_widths(packed: Packed) -> Ints:
    """Tokens that each row reads."""
    widths: Ints = packed.rows[:, 2] - packed.rows[:, 0] - 1
    return widths


class Matrix(NamedTuple):
    """One device batch, [rows, width] each. `scored` marks the places that count; position p of
    `ids` is predicted at the place where `places` is p."""

    inputs: Ints
    targets: Ints
    places: Ints
    scored: npt.NDArray[np.bool_]


def matrix(packed: Packed, rows: Ints) -> Matrix:
    """Fill a device batch. What lies beyond a row's end is some valid id: a causal model never lets
    it reach the places before it, and its own results are dropped."""
    start, first, stop = (packed.rows[rows, column][:, None] for column in range(3))
    width = int((stop - start).max()) - 1
    places = start + 1 + np.arange(width)
    scored = (places >= first) & (places < stop)
    inside = np.minimum(places, stop - 1)
    return Matrix(packed.ids[inside - 1], packed.ids[inside], places, scored)


def halves(laid: Matrix) -> tuple[Matrix, Matrix]:
    """A device batch that did not fit, in two by its rows."""
    middle = (len(laid.inputs) + 1) // 2
    return _rows(laid, slice(None, middle)), _rows(laid, slice(middle, None))


def _rows(laid: Matrix, some: slice) -> Matrix:
    return Matrix(laid.inputs[some], laid.targets[some], laid.places[some], laid.scored[some])


def unpack(packed: Packed, batches: Sequence[tuple[Matrix, npt.NDArray[np.floating]]]) -> Floats:
    """Values per place back to values per position of `ids`; zero at the marks."""
    values = np.zeros(len(packed.ids))
    for laid, result in batches:
        values[laid.places[laid.scored]] = result[laid.scored]
    return values


def padded_waste(packed: Packed, batches: Sequence[Ints]) -> float:
    """Share of the computed places that are padding or repeated context; 0 when nothing is computed."""
    widths = row_widths(packed)
    computed = sum(len(rows) * int(widths[rows].max()) for rows in batches)
    useful = len(packed.ids) - (len(packed.bounds) - 1)
    return 1 - useful / computed if computed else 0.0

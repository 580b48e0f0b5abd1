"""Which device batches windows are computed in: rows of like length, or prefix trees. Pure.

Both give the same values. Trees compute a shared beginning once and need next to no padding, but their
rows are long, and attention costs more the longer a row is. Which of the two is cheaper, and with what length
of row, is estimated before anything is filled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from consumer.packing import Ints, Matrix, Packed, bands, device_batches, matrix, row_widths
from consumer.prefixes import Forest, Sorted, fill_rows, forest, sort_windows

Laid: TypeAlias = Matrix | Forest

MOST_WASTE = 0.04  # share of the places of a device batch that may be padding
LIMITS = (64, 96, 128, 192, 256, 384, 512)  # nodes of a tree row that are tried


class Cost(NamedTuple):
    """Of computing, in units of one token's way through the model without attention (19 µs of one core
    with the shipped model, where both figures were measured)."""

    forward: float = 100.0  # of a device batch, whatever is in it: 2 ms
    attention: float = 0.0012  # of a token, for each place of its row

    def of(self, shapes: Iterable[tuple[int, int]]) -> float:
        """Of device batches of these rows and widths."""
        return sum(self.forward + rows * width * (1 + self.attention * width) for rows, width in shapes)


class _Tried(NamedTuple):
    """One way: what it costs, and the tree rows of each device batch as runs of sorted windows."""

    cost: float
    batches: list[list[slice]]


def plan(packed: Packed, budget: int, cost: Cost | None) -> list[Laid]:
    """Device batches of at most `budget` places, unless a single window is longer: those whose cost is the
    least. They are of no more than MOST_WASTE padding. Without `cost`, no trees."""
    plain = device_batches(packed, budget, MOST_WASTE)
    if cost is not None and len(packed.rows) > 1:
        windows = sort_windows(packed)
        best = min((_tried(windows, limit, budget, cost) for limit in LIMITS), key=lambda each: each.cost)
        if best.cost < cost.of(_shapes(packed, plain)):
            return [forest(packed, [windows.order[row] for row in rows]) for rows in best.batches]
    return [matrix(packed, rows) for rows in plain]


def _tried(windows: Sorted, limit: int, budget: int, cost: Cost) -> _Tried:
    """Tree rows of at most `limit` nodes where the budget allows it, rows of like size together."""
    rows = fill_rows(windows, min(limit, budget))
    rows.sort(key=lambda row: -row.nodes)
    sizes = np.array([row.nodes for row in rows])
    cuts = list(bands(sizes, budget, MOST_WASTE))
    shapes = [(cut.stop - cut.start, int(sizes[cut.start])) for cut in cuts]
    return _Tried(cost.of(shapes), [[row.windows for row in rows[cut]] for cut in cuts])


def _shapes(packed: Packed, batches: Iterable[Ints]) -> Iterable[tuple[int, int]]:
    widths = row_widths(packed)
    return ((len(rows), int(widths[rows[0]])) for rows in batches)

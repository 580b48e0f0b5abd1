"""Windows as prefix trees: a beginning that several windows share is computed once. Pure.

A causal model predicts a token from what stands before it, so that windows which begin alike have the
same predictions as far as they are alike. Sorted by their ids, windows with a common beginning stand
side by side; a tree row holds their distinct beginnings (nodes) in depth-first order:

    windows read   a b c      row      a b c d x
                   a b d      depths   0 1 2 2 1
                   a x        ends     5 4 3 4 5

A node reads itself and its ancestors alone: node j is an ancestor of node i, or i itself, exactly when
j <= i < ends[j]. Windows that share nothing stand in one row all the same, each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from consumer.packing import Found, Ints, Packed, ranges, row_widths


class Sorted(NamedTuple):
    """Windows side by side with those that begin alike. [windows] each: numbers in `Packed.rows`, tokens
    read, and how many of these, from the first on, the window before reads as well."""

    order: Ints
    widths: Ints
    shared: Ints


def sort_windows(packed: Packed) -> Sorted:
    """All windows by their token ids."""
    ids = packed.ids.astype(">u4").tobytes()  # bytes of such numbers compare as the numbers do
    keys = [ids[start:stop] for start, _, stop in (packed.rows * 4).tolist()]
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    return Sorted(order, row_widths(packed)[order], _shared(packed, order))


def _shared(packed: Packed, order: Ints) -> Ints:
    """Tokens that each window begins with like the one before it; 0 for the first."""
    starts, _, stops = packed.rows[order].T
    widths = stops - starts - 1
    shared = np.zeros(len(order), np.int64)
    if len(order) < 2:
        return shared
    both = np.minimum(widths[1:], widths[:-1])
    depths = ranges(np.zeros_like(both), both)
    left = packed.ids[np.repeat(starts[:-1], both) + depths]
    right = packed.ids[np.repeat(starts[1:], both) + depths]
    alike = np.where(left == right, np.repeat(both, both), depths)
    shared[1:] = np.minimum.reduceat(alike, np.cumsum(both) - both)
    return shared


class TreeRow(NamedTuple):
    """A run of sorted windows, and how many nodes their tree has."""

    windows: slice
    nodes: int


def fill_rows(windows: Sorted, limit: int) -> list[TreeRow]:
    """Neighbours together in tree rows of at most `limit` nodes. A window that is longer makes a row of
    its own. A beginning is computed again in each row that it stands in."""
    rows: list[TreeRow] = []
    begin = nodes = 0
    for at, (width, shared) in enumerate(zip(windows.widths.tolist(), windows.shared.tolist(), strict=True)):
        if nodes and nodes + width - shared > limit:
            rows.append(TreeRow(slice(begin, at), nodes))
            begin, nodes = at, 0
        nodes += width - shared if nodes else width
    return [*rows, TreeRow(slice(begin, len(windows.order)), nodes)]


class Forest(NamedTuple):
    """A device batch of tree rows, [rows, width]: `inputs`, `depths` and `ends` as above, in places of
    the row; beyond a row's nodes each place reads itself alone. [scored]: position `positions` of `ids`
    is `targets`, predicted at `parents`, a place of the whole batch, row by row. `packed` and `windows`, the
    numbers in each row, are what it was made of; `tokens`: nodes in all."""

    packed: Packed
    windows: Sequence[Ints]
    inputs: Ints
    depths: Ints
    ends: Ints
    parents: Ints
    targets: Ints
    positions: Ints
    tokens: int

    @property
    def divisible(self) -> bool:
        """Whether there is more than one window in it."""
        return sum(map(len, self.windows)) > 1

    def halves(self) -> tuple[Forest, Forest]:
        """In two by its rows; a single row by its windows, which then share nothing across."""
        rows = self.windows
        if len(rows) == 1:
            middle = len(rows[0]) // 2
            return forest(self.packed, [rows[0][:middle]]), forest(self.packed, [rows[0][middle:]])
        middle = (len(rows) + 1) // 2
        return forest(self.packed, rows[:middle]), forest(self.packed, rows[middle:])

    def pick(self, values: npt.NDArray[np.floating]) -> Found:
        """`values`: [scored], in the order of `positions`."""
        return Found(self.positions, values)


def forest(packed: Packed, windows: Sequence[Ints]) -> Forest:
    """Fill a device batch with a tree row for each of these runs of sorted windows."""
    rows = [_grow(packed, each) for each in windows]
    width = max(len(row.nodes) for row in rows)
    inputs, depths = np.zeros((2, len(rows), width), np.int64)
    ends = np.tile(np.arange(1, width + 1), (len(rows), 1))
    for at, row in enumerate(rows):
        here = at, slice(len(row.nodes))
        inputs[here], depths[here], ends[here] = packed.ids[row.nodes], row.depths, row.ends
    parents = np.concatenate([row.parents + at * width for at, row in enumerate(rows)])
    positions = np.concatenate([row.positions for row in rows])
    tokens = sum(len(row.nodes) for row in rows)
    return Forest(packed, windows, inputs, depths, ends, parents, packed.ids[positions], positions, tokens)


class _Row(NamedTuple):
    """[nodes]: a position of `ids` where each node stands, `depths` and `ends`. [scored]: the node that
    predicts each of `positions`."""

    nodes: Ints
    depths: Ints
    ends: Ints
    parents: Ints
    positions: Ints


def _grow(packed: Packed, windows: Ints) -> _Row:
    """One tree row of sorted windows. A window's path is the path of the one before it as far as both are
    alike, then nodes of its own; where the paths part, the subtrees of the path before come to their end."""
    starts, firsts, stops = packed.rows[windows].T
    widths, shared = stops - starts - 1, _shared(packed, windows)
    depths = ranges(shared, widths - shared)
    ends = np.empty(len(depths), np.int64)
    path = np.empty(int(widths.max()), np.int64)
    parents: list[Ints] = []
    nodes = before = 0
    for width, alike, skipped in zip(
        widths.tolist(), shared.tolist(), (firsts - 1 - starts).tolist(), strict=True
    ):
        ends[path[alike:before]] = nodes
        path[alike:width] = np.arange(nodes, nodes + width - alike)
        parents.append(path[skipped:width].copy())
        nodes, before = nodes + width - alike, width
    ends[path[:before]] = nodes
    positions = ranges(firsts, stops - firsts)
    return _Row(ranges(starts + shared, widths - shared), depths, ends, np.concatenate(parents), positions)

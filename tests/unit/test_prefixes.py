"""Tree rows hold each beginning once, and every node reads its own text and nothing else."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.packing import Ints, Packed, Windowing, pack, row_widths, unpack
from consumer.prefixes import Forest, fill_rows, forest, sort_windows

MARK = 9
# Few different ids, so that texts begin alike, repeat each other and are beginnings of each other.
texts_of_ids = st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=12).filter(any)
windowings = st.integers(2, 9).flatmap(
    lambda width: st.builds(Windowing, width=st.just(width), context=st.integers(1, width - 1))
)


def _grown(packed: Packed, limit: int) -> Forest:
    windows = sort_windows(packed)
    return forest(packed, [windows.order[row.windows] for row in fill_rows(windows, limit)])


def _read(trees: Forest, parent: int) -> list[int]:
    """The ids that a node reads, by the rule that the mask follows."""
    row, place = divmod(parent, trees.inputs.shape[1])
    return [int(trees.inputs[row, j]) for j in range(place + 1) if place < trees.ends[row, j]]


def _context(packed: Packed, position: int) -> list[int]:
    """What must be read before a position: its window up to there."""
    start = next(start for start, first, stop in packed.rows.tolist() if first <= position < stop)
    return packed.ids[start:position].tolist()


@settings(deadline=None)
@given(texts_of_ids, windowings, st.integers(1, 40))
def test_a_node_reads_its_window_up_to_itself_and_nothing_else(
    texts: list[list[int]], windowing: Windowing, limit: int
) -> None:
    packed = pack(texts, MARK, windowing)
    trees = _grown(packed, limit)
    for parent, position in zip(trees.parents.tolist(), trees.positions.tolist(), strict=True):
        context = _context(packed, position)
        assert _read(trees, parent) == context
        assert trees.depths.flat[parent] == len(context) - 1


@settings(deadline=None)
@given(texts_of_ids, windowings, st.integers(1, 40))
def test_every_token_is_scored_once_and_from_its_own_id(
    texts: list[list[int]], windowing: Windowing, limit: int
) -> None:
    packed = pack(texts, MARK, windowing)
    trees = _grown(packed, limit)
    assert len(set(trees.positions.tolist())) == len(trees.positions) == sum(map(len, texts))
    values = unpack(packed, [trees.pick(trees.targets.astype(float))])
    scored = np.delete(packed.ids, packed.bounds[:-1])
    assert np.delete(values, packed.bounds[:-1]).tolist() == scored.tolist()


@settings(deadline=None)
@given(texts_of_ids, windowings)
def test_one_row_computes_each_distinct_beginning_once(texts: list[list[int]], windowing: Windowing) -> None:
    packed = pack(texts, MARK, windowing)
    beginnings = {
        tuple(packed.ids[start : start + length].tolist())
        for start, _, stop in packed.rows.tolist()
        for length in range(1, stop - start)
    }
    assert _grown(packed, limit=10_000).tokens == len(beginnings)


@settings(deadline=None)
@given(texts_of_ids, windowings, st.integers(1, 40))
def test_a_row_keeps_its_limit_unless_one_window_is_longer(
    texts: list[list[int]], windowing: Windowing, limit: int
) -> None:
    packed = pack(texts, MARK, windowing)
    windows = sort_windows(packed)
    rows = fill_rows(windows, limit)
    trees = _grown(packed, limit)
    assert [row.nodes for row in rows] == [_nodes(packed, each) for each in trees.windows]
    assert trees.tokens == sum(row.nodes for row in rows)
    for row in rows:
        assert row.nodes <= limit or row.windows.stop - row.windows.start == 1


def _nodes(packed: Packed, windows: Ints) -> int:
    return forest(packed, [windows]).inputs.shape[1]


@settings(deadline=None)
@given(texts_of_ids, windowings, st.integers(1, 40))
def test_beyond_its_nodes_a_row_reads_nothing_but_itself(
    texts: list[list[int]], windowing: Windowing, limit: int
) -> None:
    trees = _grown(pack(texts, MARK, windowing), limit)
    for row, windows in enumerate(trees.windows):
        nodes = _nodes(trees.packed, windows)
        assert trees.ends[row, nodes:].tolist() == list(range(nodes + 1, trees.inputs.shape[1] + 1))
        assert (trees.ends[row, :nodes] <= nodes).all()


@settings(deadline=None)
@given(texts_of_ids, windowings, st.integers(1, 40))
def test_halving_down_to_single_windows_loses_none(
    texts: list[list[int]], windowing: Windowing, limit: int
) -> None:
    packed = pack(texts, MARK, windowing)
    queue, single = [_grown(packed, limit)], []
    while queue:
        trees = queue.pop()
        if trees.divisible:
            queue += trees.halves()
        else:
            single.append(trees)
    assert sorted(int(trees.windows[0][0]) for trees in single) == list(range(len(packed.rows)))
    assert sum(trees.tokens for trees in single) == row_widths(packed).sum()


def test_the_example_of_the_module() -> None:
    a, b, c, d, x, last = range(6)
    trees = _grown(pack([[b, c, last], [b, d, last], [x, last]], a, Windowing(9, 1)), 99)
    assert trees.inputs.tolist() == [[a, b, c, d, x]]
    assert trees.depths.tolist() == [[0, 1, 2, 2, 1]]
    assert trees.ends.tolist() == [[5, 4, 3, 4, 5]]
    assert trees.parents.tolist() == [0, 1, 2, 0, 1, 3, 0, 4]

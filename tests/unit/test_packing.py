"""Windows cover every token once; device batches keep their budget; values return to their places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.packing import (
    Packed,
    Windowing,
    device_batches,
    matrix,
    pack,
    padded_waste,
    row_widths,
    unpack,
    windows,
)

MARK = 999
texts_of_ids = st.lists(st.lists(st.integers(0, 500), max_size=60), max_size=12)
windowings = st.integers(2, 20).flatmap(
    lambda width: st.builds(Windowing, width=st.just(width), context=st.integers(1, width - 1))
)


@given(st.integers(0, 500), windowings)
def test_every_token_is_scored_exactly_once(length: int, windowing: Windowing) -> None:
    scored = [p for w in windows(length, windowing) for p in range(w.first, w.stop)]
    assert scored == list(range(1, length))


@given(st.integers(0, 500), windowings)
def test_a_window_reads_no_more_than_its_width_and_no_less_than_its_context(
    length: int, windowing: Windowing
) -> None:
    for window in windows(length, windowing):
        assert window.stop - 1 - window.start <= windowing.width
        assert window.start == 0 or window.first - window.start > windowing.context


def test_a_text_within_the_width_is_one_window_from_its_beginning() -> None:
    assert list(windows(5, Windowing(4, 2))) == [(0, 1, 5)]


def test_a_longer_text_overlaps_by_the_context() -> None:
    assert list(windows(8, Windowing(4, 2))) == [(0, 1, 5), (2, 5, 7), (4, 7, 8)]


@pytest.mark.parametrize(("width", "context"), [(4, 4), (4, 0), (1, 2)])
def test_a_context_that_leaves_nothing_to_score_is_refused(width: int, context: int) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        Windowing(width, context)


@given(texts_of_ids, windowings, st.integers(1, 200))
def test_device_batches_hold_every_row_once_and_keep_their_budget(
    texts: list[list[int]], windowing: Windowing, budget: int
) -> None:
    packed = pack(texts, MARK, windowing)
    batches = device_batches(packed, budget)
    assert sorted(row for rows in batches for row in rows.tolist()) == list(range(len(packed.rows)))
    for rows in batches:
        assert len(rows) == 1 or len(rows) * int(row_widths(packed)[rows].max()) <= budget


@given(texts_of_ids, windowings, st.integers(1, 200))
def test_values_return_to_the_token_that_they_were_computed_for(
    texts: list[list[int]], windowing: Windowing, budget: int
) -> None:
    packed = pack(texts, MARK, windowing)
    laid = [matrix(packed, rows) for rows in device_batches(packed, budget)]
    values = unpack(packed, [m.pick(m.targets.astype(float).ravel()) for m in laid])
    for i, text in enumerate(texts):
        begin, end = packed.bounds[i], packed.bounds[i + 1]
        assert values[begin] == 0
        assert values[begin + 1 : end].tolist() == [float(t) for t in text]


@given(texts_of_ids, windowings)
def test_a_place_reads_the_token_before_the_one_it_predicts(
    texts: list[list[int]], windowing: Windowing
) -> None:
    packed = pack(texts, MARK, windowing)
    for rows in device_batches(packed, 64):
        laid = matrix(packed, rows)
        before = packed.ids[laid.places[laid.scored] - 1]
        assert laid.inputs[laid.scored].tolist() == before.tolist()


def test_a_text_never_reads_into_its_neighbour() -> None:
    packed = pack([[1, 2, 3, 4], [7]], MARK, Windowing(8, 2))
    laid = matrix(packed, np.array([0, 1]))
    assert laid.inputs[1].tolist() == [MARK, MARK, MARK, MARK]
    assert laid.scored[1].tolist() == [True, False, False, False]


def test_halves_of_an_odd_batch_lose_no_row() -> None:
    laid = matrix(pack([[1, 2], [3, 4], [5]], MARK, Windowing()), np.array([0, 1, 2]))
    first, second = laid.halves()
    assert (len(first.inputs), len(second.scored)) == (2, 1)
    assert np.concatenate([first.places, second.places]).tolist() == laid.places.tolist()


def test_nothing_to_score_makes_no_batch_and_no_waste() -> None:
    packed: Packed = pack([[], []], MARK, Windowing())
    assert device_batches(packed, 100) == []
    assert padded_waste(packed, []) == 0.0


def test_waste_counts_padding_and_repeated_context() -> None:
    packed = pack([[1, 2, 3, 4], [5, 6]], MARK, Windowing())
    assert padded_waste(packed, [np.array([0, 1])]) == pytest.approx(1 - 6 / 8)

"""Trees where they pay, rows of like length elsewhere; hardly any padding in either."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.packing import Matrix, Packed, Windowing, pack
from consumer.planning import MOST_WASTE, Cost, Laid, plan
from consumer.prefixes import Forest

MARK = 999
texts_of_ids = st.lists(st.lists(st.integers(0, 3), max_size=60), max_size=30)
costs = st.none() | st.just(Cost())


def _texts(count: int, alike: int, apart: int) -> Packed:
    """Texts whose first `alike` tokens are the same and whose last `apart` are random."""
    rng = random.Random(7)
    return pack(
        [[1] * alike + [rng.randrange(900) for _ in range(apart)] for _ in range(count)], MARK, Windowing()
    )


def _places(plan: list[Laid]) -> int:
    return sum(laid.inputs.size for laid in plan)


@settings(deadline=None)
@given(texts_of_ids, st.integers(1, 300), costs)
def test_every_token_is_planned_once_whatever_way_is_chosen(
    texts: list[list[int]], budget: int, cost: Cost | None
) -> None:
    packed = pack(texts, MARK, Windowing(20, 5))
    found = [
        position
        for laid in plan(packed, budget, cost)
        for position in laid.pick(laid.targets.ravel().astype(float)).positions.tolist()
    ]
    assert len(found) == len(set(found)) == sum(map(len, texts))


@settings(deadline=None)
@given(texts_of_ids, st.integers(1, 300), costs)
def test_device_batches_keep_the_budget_and_hardly_pad(
    texts: list[list[int]], budget: int, cost: Cost | None
) -> None:
    for laid in plan(pack(texts, MARK, Windowing(20, 5)), budget, cost):
        assert laid.inputs.size <= budget or not laid.divisible
        assert laid.tokens >= (1 - MOST_WASTE) * laid.inputs.size


def test_what_begins_alike_is_computed_once() -> None:
    packed = _texts(count=40, alike=50, apart=5)
    trees = plan(packed, 2_048, Cost())
    assert all(isinstance(laid, Forest) for laid in trees)
    assert _places(trees) < _places(plan(packed, 2_048, None)) / 3


def test_long_texts_that_share_nothing_stay_in_rows_of_like_length() -> None:
    assert all(isinstance(laid, Matrix) for laid in plan(_texts(30, 0, 200), 2_048, Cost()))


def test_a_few_texts_of_all_lengths_make_one_device_batch_without_padding() -> None:
    packed = pack([[n] * n for n in range(1, 20)], MARK, Windowing())
    (laid,) = plan(packed, 2_048, Cost())
    assert laid.tokens == laid.inputs.size


def test_without_a_cost_no_trees_are_made() -> None:
    assert all(isinstance(laid, Matrix) for laid in plan(_texts(40, 50, 5), 2_048, None))


@pytest.mark.parametrize(("attention", "kind"), [(0.0, Forest), (1.0, Matrix)])
def test_dear_attention_speaks_against_long_rows(attention: float, kind: type[Laid]) -> None:
    laid = plan(_texts(60, 6, 30), 2_048, Cost(forward=0, attention=attention))
    assert {type(each) for each in laid} == {kind}


def test_nothing_to_score_makes_no_device_batch() -> None:
    assert plan(pack([[], []], MARK, Windowing()), 2_048, Cost()) == []


def test_a_handful_of_windows_of_all_lengths_is_one_device_batch() -> None:
    rng = random.Random(8)
    texts = [[rng.randrange(900) for _ in range(length)] for length in (3, 9, 17, 26, 40)]
    packed = pack(texts, MARK, Windowing())
    assert len(plan(packed, 2_048, Cost())) == 1
    assert len(plan(packed, 2_048, None)) == len(texts)


def test_windows_that_one_padded_device_batch_would_hold_are_hardly_padded_either() -> None:
    """Of so many short ones, the tree is a long row, and dear."""
    rng = random.Random(2_282)
    texts = [[rng.randrange(4) for _ in range(rng.randrange(61))] for _ in range(rng.randrange(1, 31))]
    for laid in plan(pack(texts, MARK, Windowing(20, 5)), rng.randrange(1, 301), Cost()):
        assert laid.tokens >= (1 - MOST_WASTE) * laid.inputs.size

"""The breaker, told the time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consumer.stores.breaker import Breaker


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker(3, 5.0)
    assert [breaker.failed(at) for _ in range(3)] == [False, False, True]
    return breaker


def test_it_opens_at_the_third_failure_in_a_row_and_says_so_once() -> None:
    breaker = opened()
    assert breaker.open
    assert not breaker.failed(1.0)


def test_a_success_between_failures_starts_the_count_anew() -> None:
    breaker = Breaker(3, 5.0)
    for _ in range(5):
        breaker.failed(0.0)
        breaker.failed(0.0)
        assert not breaker.succeeded()
    assert breaker.allows(0.0)


def test_while_open_it_lets_one_trial_through_for_each_cool_down() -> None:
    breaker = opened(at=10.0)
    assert [breaker.allows(t) for t in (10.0, 14.9, 15.0, 15.1, 19.9, 20.0)] == [
        False, False, True, False, False, True,
    ]  # fmt: skip


def test_a_failed_trial_leaves_it_open_and_a_good_one_closes_it() -> None:
    breaker = opened()
    assert breaker.allows(5.0)
    assert not breaker.failed(5.0)
    assert not breaker.allows(5.1)
    assert breaker.allows(10.0)
    assert breaker.succeeded()
    assert not breaker.succeeded()
    assert breaker.allows(10.0)
    assert not breaker.open


@given(st.lists(st.floats(0, 100), max_size=60))
def test_a_store_that_always_fails_is_tried_no_more_than_threshold_plus_one_for_each_cool_down(
    times: list[float],
) -> None:
    breaker, tried = Breaker(3, 5.0), 0
    for now in sorted(times):
        if breaker.allows(now):
            tried += 1
            breaker.failed(now)
    assert tried <= 3 + 100 / 5.0

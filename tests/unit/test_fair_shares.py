"""How a count is shared among partitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consumer.kafka.reader import fair_shares

SIZES = st.lists(st.integers(0, 1_000), max_size=12)


@given(SIZES, st.integers(1, 20_000))
def test_shares_fit_the_sizes_add_up_and_are_as_equal_as_they_can_be(sizes: list[int], count: int) -> None:
    shares = fair_shares(sizes, count)
    assert sum(shares) == min(count, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    short = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not short or max(shares) <= min(short) + 1

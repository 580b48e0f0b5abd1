"""The score cache is bounded and keeps what is used."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consumer.scoring.cache import Cache, digest


@given(st.integers(0, 9), st.lists(st.tuples(st.booleans(), st.integers(0, 20))))
def test_it_never_holds_more_than_its_size_and_never_a_wrong_value(
    size: int, steps: list[tuple[bool, int]]
) -> None:
    cache: Cache[int, int] = Cache(size)
    for is_put, key in steps:
        if is_put:
            cache.put(key, key * 10)
        else:
            assert cache.get(key) in (None, key * 10)
        assert len(cache) <= size


def test_what_is_asked_for_again_and_again_stays() -> None:
    cache: Cache[int, str] = Cache(4)
    cache.put(0, "hot")
    for key in range(1, 50):
        cache.put(key, "cold")
        assert cache.get(0) == "hot"
    assert cache.get(1) is None


def test_a_size_of_zero_remembers_nothing() -> None:
    cache: Cache[int, str] = Cache(0)
    cache.put(1, "x")
    assert (cache.get(1), len(cache)) == (None, 0)


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_different_items_have_different_keys_even_with_lone_surrogates(a: str, b: str) -> None:
    assert (digest(a) == digest(b)) == (a == b)

"""Keys and bytes of marks, and what a mark may suppress (I19)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.marks import DONE, Keys, Mark, decode, encode, mark_of
from consumer.records import Record

FIRST = Record("events", 3, 41, b'{"id":"a","message":"x"}')
MARK = mark_of(FIRST)
KEY = Keys("group", "topic-id").of("a")


def again(partition: int = 3, offset: int = 42, value: bytes | None = FIRST.value) -> Record:
    return Record("events", partition, offset, value)


def test_a_done_mark_suppresses_the_same_value_at_other_coordinates() -> None:
    assert MARK.suppresses(again())
    assert MARK.suppresses(again(partition=4, offset=41))


def test_a_record_that_is_read_again_is_never_suppressed_by_its_own_mark() -> None:
    assert not MARK.suppresses(FIRST)


def test_an_id_that_comes_with_another_value_is_never_suppressed() -> None:
    assert not MARK.suppresses(again(value=b'{"id":"a","message":"y"}'))
    assert not MARK.suppresses(again(value=None))


@pytest.mark.parametrize("state", [state for state in range(256) if state != DONE])
def test_a_mark_in_any_other_state_never_suppresses(state: int) -> None:
    pending = decode(encode(MARK._replace(state=state), KEY), KEY)
    assert pending is not None
    assert not pending.suppresses(again())


@given(
    st.builds(
        Mark,
        partition=st.integers(0, 2**32 - 1),
        offset=st.integers(0, 2**63 - 1),
        digest=st.binary(min_size=16, max_size=16),
        state=st.integers(0, 255),
    )
)
def test_what_was_written_is_read(mark: Mark) -> None:
    entry = encode(mark, KEY)
    assert len(entry) == 38
    assert decode(entry, KEY) == mark


@given(st.binary(max_size=60))
def test_other_bytes_are_no_mark(entry: bytes) -> None:
    assert decode(entry, KEY) is None


@given(st.integers(0, 37), st.integers(1, 255))
def test_a_mark_with_a_spoilt_byte_is_none(place: int, flip: int) -> None:
    entry = bytearray(encode(MARK, KEY))
    entry[place] ^= flip
    assert decode(bytes(entry), KEY) is None


def test_a_mark_under_another_key_is_none() -> None:
    assert decode(encode(MARK, KEY), Keys("group", "topic-id").of("b")) is None


def test_groups_topics_and_ids_have_keys_of_their_own() -> None:
    scopes = [("g", "t"), ("g", "t2"), ("g2", "t"), ("gt", ""), ("", "gt"), ("2g", "t")]
    keys = [Keys(*scope).of(event_id) for scope in scopes for event_id in ("a", "b", "2a", "g", "")]
    assert len(set(keys)) == len(keys)


@given(st.text(max_size=600))
def test_a_key_is_short_the_same_every_time_and_does_not_show_the_id(event_id: str) -> None:
    key = Keys("group", "topic-id").of(event_id)
    assert key == Keys("group", "topic-id").of(event_id)
    assert len(key) == 21
    assert len(event_id) < 3 or event_id.encode("utf-8", "surrogatepass") not in key

"""When a micro-batch closes."""

from __future__ import annotations

import pytest

from consumer.batcher import Batcher
from consumer.records import ClosedBy, Empty, Entry, Record
from consumer.settings import Batch

from .world.scene import P0, P1

POLICY = Batch(count=3, byte_size=10, max_wait=1.0, idle_wait=0.1)


def entry(offset: int, size: int = 1, partition: int = 0, value: bytes | None = b"") -> Entry:
    return Entry(Record("in", partition, offset, value if value is None else b"x" * size), Empty())


def filled(*entries: Entry, asked_at: float = 0.0) -> Batcher:
    batcher = Batcher(POLICY)
    batcher.add(entries, asked_at)
    return batcher


def offsets(batcher: Batcher, closed_by: ClosedBy = ClosedBy.COUNT) -> list[int]:
    return [e.record.offset for e in batcher.take(closed_by).entries]


def test_an_empty_batcher_is_never_due_and_has_room_for_a_whole_batch() -> None:
    batcher = Batcher(POLICY)
    assert batcher.can_take(1e9, idle=True) is None
    assert batcher.due(idle=True) is None
    assert batcher.room == 3


def test_taking_from_an_empty_batcher_is_an_error() -> None:
    with pytest.raises(IndexError):
        Batcher(POLICY).take(ClosedBy.COUNT)


def test_a_batch_closes_on_count_before_its_time() -> None:
    batcher = filled(entry(0), entry(1), entry(2))
    assert batcher.can_take(0.0, idle=False) is ClosedBy.COUNT
    assert batcher.room == 0


def test_a_batch_closes_on_bytes_before_its_time() -> None:
    batcher = filled(entry(0, size=4), entry(1, size=6))
    assert batcher.can_take(0.0, idle=False) is ClosedBy.BYTES
    assert batcher.room == 0


def test_a_batch_closes_exactly_when_its_oldest_entry_is_max_wait_old() -> None:
    batcher = filled(entry(0), asked_at=5.0)
    batcher.add([entry(1)], asked_at=5.9)
    assert batcher.can_take(5.99, idle=False) is None
    assert batcher.due(idle=False) == 6.0
    assert batcher.can_take(6.0, idle=False) is ClosedBy.AGE


def test_an_idle_device_gets_a_batch_after_the_shorter_wait() -> None:
    batcher = filled(entry(0), asked_at=5.0)
    assert batcher.due(idle=True) == 5.1
    assert batcher.can_take(5.05, idle=True) is None
    assert batcher.can_take(5.1, idle=True) is ClosedBy.IDLE
    assert batcher.can_take(5.1, idle=False) is None


@pytest.mark.parametrize("asked_at", [0.1, 0.7, 1_000.3, 1_008.7544, 123_456_789.123])
def test_at_the_moment_that_due_names_the_batch_can_be_taken(asked_at: float) -> None:
    batcher = filled(entry(0), asked_at=asked_at)
    for idle in (True, False):
        due = batcher.due(idle=idle)
        assert due is not None
        assert batcher.can_take(due, idle=idle) is not None


def test_a_batch_holds_at_most_count_entries_in_arrival_order() -> None:
    batcher = filled(*(entry(n) for n in range(5)))
    assert offsets(batcher) == [0, 1, 2]
    assert len(batcher) == 2
    assert batcher.can_take(0.0, idle=False) is None


def test_a_batch_holds_at_most_byte_size_bytes() -> None:
    batcher = filled(entry(0, size=6), entry(1, size=5), entry(2))
    assert offsets(batcher, ClosedBy.BYTES) == [0]
    assert offsets(batcher, ClosedBy.AGE) == [1, 2]


def test_a_record_beyond_byte_size_travels_alone() -> None:
    batcher = filled(entry(0, size=50), entry(1))
    assert offsets(batcher, ClosedBy.BYTES) == [0]
    assert batcher.can_take(0.0, idle=False) is None


def test_keys_and_headers_count_as_bytes() -> None:
    keyed = Entry(Record("in", 0, 0, b"x", key=b"k" * 10), Empty())
    batcher = filled(keyed, entry(1))
    assert offsets(batcher, ClosedBy.BYTES) == [0]
    with_header = Entry(Record("in", 0, 2, b"x", headers=(("trace", None),)), Empty())
    batcher.add([with_header], asked_at=0.0)
    assert batcher.take(ClosedBy.BYTES).size == 1  # the entry before: the header's objects fill a batch


def test_a_tombstone_has_no_bytes_and_counts_as_a_record() -> None:
    batcher = filled(*(entry(n, value=None) for n in range(3)))
    assert batcher.can_take(0.0, idle=False) is ClosedBy.COUNT


def test_a_batch_tells_when_the_poll_of_its_oldest_entry_was_asked() -> None:
    batcher = filled(entry(0), asked_at=1.0)
    batcher.add([entry(1), entry(2), entry(3)], asked_at=2.0)
    assert batcher.take(ClosedBy.COUNT).asked_at == 1.0
    assert batcher.take(ClosedBy.AGE).asked_at == 2.0


def test_a_poll_that_exceeds_the_room_is_never_refused() -> None:
    batcher = filled(*(entry(n) for n in range(6)))
    assert (len(batcher), batcher.room, batcher.overfull) == (6, 0, True)


def test_one_full_batch_is_not_overfull_but_two_batches_of_bytes_are() -> None:
    assert not filled(entry(0), entry(1), entry(2)).overfull
    assert filled(entry(0, size=20)).overfull


def test_dropping_partitions_leaves_the_others_their_order_age_and_bytes() -> None:
    batcher = filled(entry(0, size=9, partition=0), asked_at=1.0)
    batcher.add([entry(7, size=2, partition=1), entry(1, partition=0), entry(8, partition=1)], asked_at=2.0)
    assert batcher.drop([P0]) == 2
    assert not batcher.holds(P0)
    assert batcher.holds(P1)
    assert batcher.can_take(2.0, idle=False) is None  # neither its count nor its bytes are full any more
    batch = batcher.take(ClosedBy.AGE)
    assert ([e.record.offset for e in batch.entries], batch.asked_at) == ([7, 8], 2.0)


def test_clearing_forgets_everything() -> None:
    batcher = filled(entry(0, size=9), entry(1))
    assert batcher.clear() == 2
    assert (len(batcher), batcher.room, batcher.due(idle=True)) == (0, 3, None)


def test_a_micro_batch_tells_the_bytes_of_its_own_records() -> None:
    batcher = Batcher(Batch(count=2))
    batcher.add([Entry(Record("in", 0, n, b"x" * (n + 1), b"k"), Empty()) for n in range(3)], 0.0)
    assert [batcher.take(ClosedBy.COUNT).size for _ in range(2)] == [2 + 3, 4]

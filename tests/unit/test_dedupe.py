"""Repeats of an event: what is looked up, what is suppressed, what is remembered."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import pytest

from consumer.dedupe import NoMarks, SharedMarks
from consumer.marks import Keys, encode, mark_of
from consumer.records import (
    ClosedBy,
    Duplicate,
    Empty,
    Entry,
    Event,
    MicroBatch,
    Output,
    Reason,
    Record,
    Rejection,
    Verdict,
)
from consumer.sharing import StoreStats
from consumer.templates import LARGE_KEY

from .world.device import SCORE


class FakeStore:
    """Keeps the first value of a key; counts calls."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}
        self.asked: list[int] = []
        self.down = False

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        self.asked.append(len(keys))
        return [None if self.down else self.entries.get(key) for key in keys]

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        for key, value in entries.items():
            self.entries.setdefault(key, value)

    def stats(self) -> StoreStats:
        return StoreStats(lookups=len(self.asked))

    def close(self) -> None:
        return


class FakeTopicId:
    def __init__(self) -> None:
        self.id: str | None = "topic-1"
        self.renewals = 0

    def renew(self) -> None:
        self.renewals += 1

    def known(self) -> str | None:
        return self.id


class World:
    def __init__(self) -> None:
        self.store, self.topic = FakeStore(), FakeTopicId()
        self.marks = SharedMarks("group", self.store, self.topic)

    def sift(self, *entries: Entry) -> MicroBatch:
        return self.marks.sift(MicroBatch(entries, ClosedBy.COUNT, 0.0))

    def publish(self, *entries: Entry, verdict: Verdict = SCORE) -> None:
        """Sifted, given this verdict, acknowledged."""
        batch = self.sift(*entries)
        self.marks.keep(batch, [Output(e, verdict) for e in batch.entries])

    def repeats(self, *entries: Entry) -> list[tuple[int, int] | None]:
        """The first record's coordinates, for each entry that is a repeat."""
        found = [e.decoded for e in self.sift(*entries).entries]
        return [(d.partition, d.offset) if isinstance(d, Duplicate) else None for d in found]


def entry(
    offset: int, event_id: str | None = "a", value: bytes = b"x", partition: int = 0, key: bytes | None = None
) -> Entry:
    return Entry(Record("events", partition, offset, value, key), Event("x", id=event_id))


def test_a_repeat_names_the_first_record_and_its_id_and_keeps_its_place() -> None:
    world = World()
    world.publish(entry(7, partition=2))
    new, empty = entry(8, "b"), Entry(Record("events", 0, 10, None), Empty())
    batch = world.sift(new, entry(9), empty)
    assert batch.entries == (new, Entry(entry(9).record, Duplicate("a", 2, 7)), empty)
    assert batch.events == (new.decoded,)


def test_a_record_that_is_read_again_is_scored_again() -> None:
    world = World()
    world.publish(entry(7))
    assert world.repeats(entry(7), entry(8)) == [None, (0, 7)]


def test_an_id_with_another_value_is_scored_and_counted() -> None:
    world = World()
    world.publish(entry(7, value=b"x"))
    assert world.repeats(entry(8, value=b"y")) == [None]
    assert world.marks.stats().reused == 1


def test_the_first_value_of_an_id_keeps_its_mark() -> None:
    world = World()
    world.publish(entry(7, value=b"x"))
    world.publish(entry(8, value=b"y"))
    assert world.repeats(entry(9, value=b"x"), entry(9, value=b"y")) == [(0, 7), None]


def test_what_is_under_way_suppresses_nothing() -> None:
    world = World()
    assert world.repeats(entry(7), entry(8)) == [None, None]
    assert world.repeats(entry(9)) == [None]
    assert world.store.entries == {}


def test_events_without_an_id_are_neither_looked_up_nor_remembered() -> None:
    world = World()
    world.publish(entry(7, None))
    assert world.repeats(entry(8, None)) == [None]
    assert world.store.asked == []
    assert world.store.entries == {}


def test_one_call_looks_up_a_whole_batch() -> None:
    world = World()
    world.publish(entry(1, "a"), entry(2, "b"), entry(3, None), entry(4, "c"))
    assert world.store.asked == [3]
    assert world.marks.stats().asked == 3


@pytest.mark.parametrize("verdict", [Rejection(Reason.POISON, "it fails"), Duplicate("a", 0, 1), Empty()])
def test_only_what_was_scored_is_remembered(verdict: Verdict) -> None:
    world = World()
    world.publish(entry(7), verdict=verdict)
    assert world.store.entries == {}


def test_a_result_that_may_have_become_a_dead_letter_for_its_huge_key_leaves_no_mark() -> None:
    world = World()
    world.publish(entry(7, key=b"k" * (LARGE_KEY + 1)), entry(8, "b", key=b"k" * LARGE_KEY))
    assert len(world.store.entries) == 1


def test_a_record_whose_partition_was_lost_meanwhile_leaves_no_mark() -> None:
    world = World()
    batch = world.sift(entry(7, "a"), entry(8, "b", partition=1))
    world.marks.keep(batch, [Output(batch.entries[1], SCORE)])
    assert world.repeats(entry(9, "a"), entry(9, "b")) == [None, (1, 8)]


def test_a_topic_that_was_created_again_knows_nothing_of_the_old_one() -> None:
    world = World()
    world.publish(entry(7))
    world.marks.renew()
    world.topic.id = "topic-2"
    assert world.topic.renewals == 1
    assert world.repeats(entry(0)) == [None]


def test_a_batch_of_the_old_topic_is_remembered_as_such() -> None:
    world = World()
    batch = world.sift(entry(7))
    world.topic.id = "topic-2"
    world.marks.keep(batch, [Output(batch.entries[0], SCORE)])
    assert world.repeats(entry(0)) == [None]


def test_while_the_topic_has_no_known_id_nothing_is_looked_up_or_remembered() -> None:
    world = World()
    world.topic.id = None
    world.publish(entry(7))
    assert world.store.asked == []
    world.topic.id = "topic-1"
    assert world.repeats(entry(8)) == [None]


def test_another_group_has_marks_of_its_own() -> None:
    world = World()
    world.publish(entry(7))
    world.marks = SharedMarks("another", world.store, world.topic)
    assert world.repeats(entry(8)) == [None]


def test_a_store_that_does_not_answer_makes_every_event_a_new_one() -> None:
    world = World()
    world.publish(entry(7))
    world.store.down = True
    assert world.repeats(entry(8)) == [None]


def test_spoilt_entries_are_ignored_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    world = World()
    world.publish(entry(7))
    (key,) = world.store.entries
    for spoilt in (b"", b"x" * 38, world.store.entries[key][:-1], encode(mark_of(entry(7).record), b"other")):
        world.store.entries[key] = spoilt
        assert world.repeats(entry(8)) == [None]
    assert world.marks.stats().refused == 4
    assert [record.action for record in caplog.records] == ["mark_refused"]  # type: ignore[attr-defined]


def test_a_mark_in_another_state_is_ignored() -> None:
    world = World()
    key = Keys("group", "topic-1").of("a")
    world.store.entries[key] = encode(mark_of(entry(7).record)._replace(state=2), key)
    assert world.repeats(entry(8)) == [None]


def test_without_marks_every_event_is_scored() -> None:
    marks = NoMarks()
    batch = MicroBatch((entry(7), entry(8)), ClosedBy.COUNT, 0.0)
    marks.keep(batch, [Output(e, SCORE) for e in batch.entries])
    assert marks.sift(batch) is batch

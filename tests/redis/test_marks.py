"""Whatever happens to Redis: no event is suppressed that nobody brought before, and little time is lost."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from consumer.dedupe import SharedMarks
from consumer.marks import decode, encode
from consumer.records import ClosedBy, Duplicate, Entry, Event, MicroBatch, Output, Record, Score
from consumer.settings import Dedupe, RedisSection
from consumer.stores.redis_store import open_marks
from tests.redis.faults import FAULTS, Fault, Home
from tests.redis.servers import Valkey, until, valkey

BATCHES, RECORDS = 12, 40
BEFORE = BATCHES // 4
# Long enough for a busy machine to answer in time, so that what is counted here is exact.
PATIENT = {"budget": 0.5, "timeout": 0.5, "connect_timeout": 0.5}
FIRST, SECOND = 1, 2  # partitions of the first records and of their copies


class KnownTopicId:
    def renew(self) -> None:
        return

    def known(self) -> str | None:
        return "topic"


class Replica:
    """Sifts and keeps as the loop does; `added`: seconds that each micro-batch spent on it."""

    def __init__(self, redis: RedisSection, ttl: int = 100) -> None:
        self._store = open_marks(redis, Dedupe(enabled=True, ttl=ttl, budget=redis.budget))
        self.marks = SharedMarks("group", self._store, KnownTopicId())
        self.added: list[float] = []

    def work(self, entries: Sequence[Entry]) -> list[Duplicate]:
        """Everything that is no repeat is scored and acknowledged; returns the repeats."""
        began = time.monotonic()
        batch = self.marks.sift(MicroBatch(tuple(entries), ClosedBy.COUNT, 0.0))
        repeats = [e.decoded for e in batch.entries if isinstance(e.decoded, Duplicate)]
        assert len(batch.events) + len(repeats) == len(entries)
        self.marks.keep(batch, [Output(e, Score(1.0, False, 2.0)) for e in batch.entries])
        self.added.append(time.monotonic() - began)
        return repeats

    def close(self) -> None:
        """Also waits for a call that is under way, since the server that it goes to is closed next; one that
        does not end is cut off."""
        self.marks.close()
        ends_itself = time.monotonic() + 1.0
        until(lambda: not self._store._lane._thread.is_alive() or self._cut(ends_itself))

    def _cut(self, when: float) -> bool:
        if time.monotonic() > when:
            self._store._client.cut()
        return False


def events(batch: int, partition: int) -> list[Entry]:
    """The same ids and values in every partition."""
    begin = batch * RECORDS
    return [
        Entry(Record("events", partition, n, b"value %d" % n), Event("x", id=f"event-{n}"))
        for n in range(begin, begin + RECORDS)
    ]


def at(server: Valkey, **settings: Any) -> RedisSection:
    return RedisSection(url=f"redis://127.0.0.1:{server.port}", **{**PATIENT, "budget": 5.0, **settings})


@contextmanager
def running(settings: RedisSection, ttl: int = 100) -> Iterator[Replica]:
    replica = Replica(settings, ttl)
    yield replica
    replica.close()


class Tried(NamedTuple):
    replica: Replica
    repeats: Sequence[Duplicate]
    budget: float


def fill(server: Valkey) -> None:
    """Every other event of each batch has a mark."""
    with running(at(server)) as first:
        for batch in range(BATCHES):
            first.work(events(batch, FIRST)[::2])
            until(lambda batch=batch: server.admin.dbsize() == (batch + 1) * RECORDS // 2)  # type: ignore[misc]
    for n in range(200):  # a server that loads its data answers between pieces of some kilobytes
        server.admin.set(f"other:{n}", os.urandom(4_000))


def try_out(fault: Fault, directory: Path) -> Tried:
    """Copies of all events, while the fault strikes."""
    with ExitStack() as stack:
        home = Home(stack.enter_context(valkey()), directory, stack)
        fill(home.valkey)
        settings = fault.settings(home, **PATIENT)
        replica = stack.enter_context(running(settings))
        repeats = [d for batch in range(BEFORE) for d in replica.work(events(batch, SECOND))]
        with fault.strike(home.valkey):
            repeats += [d for batch in range(BEFORE, BATCHES) for d in replica.work(events(batch, SECOND))]
            if fault.trouble == "write":
                until(lambda: replica.marks.stats().store.write_errors > 0)
            return Tried(replica, repeats, settings.budget)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_only_true_repeats_are_suppressed_and_a_micro_batch_waits_no_longer_than_its_budget(
    fault: Fault, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tried = try_out(fault, tmp_path)
    found = {"all": BATCHES, "before": BEFORE, "none": 0}[fault.hits] * RECORDS // 2
    assert len(tried.repeats) == found
    assert all(
        d == Duplicate(f"event-{d.offset}", FIRST, d.offset) and d.offset % 2 == 0 for d in tried.repeats
    )
    assert sum(tried.replica.added) <= tried.budget * BATCHES
    stats = tried.replica.marks.stats()
    assert stats.store.read_errors == (3 if fault.trouble == "read" else 0)
    assert bool(stats.refused) == (fault.trouble == "refused")
    told = [r.operation for r in caplog.records if getattr(r, "action", "") == "redis_bypassed"]  # type: ignore[attr-defined]
    assert told.count("read") == (fault.trouble == "read")


def test_a_mark_has_the_prefix_and_a_time_to_live_and_shows_neither_id_nor_value() -> None:
    with valkey() as server, running(at(server, key_prefix="here:"), ttl=77) as replica:
        replica.work(events(0, FIRST))
        until(lambda: server.admin.dbsize() == RECORDS)
        keys = server.admin.keys("*")
        assert all(key.startswith(b"here:seen:") for key in keys)
        assert all(0 < server.admin.ttl(key) <= 77 for key in keys)
        everything = b"".join([*keys, *server.admin.mget(keys)])
        assert b"event" not in everything
        assert b"value" not in everything


def test_a_second_record_neither_replaces_the_mark_of_the_first_nor_prolongs_it() -> None:
    with valkey() as server, running(at(server)) as one, running(at(server), ttl=1_000) as two:
        batch = MicroBatch(tuple(events(0, SECOND)), ClosedBy.COUNT, 0.0)
        both_scored = two.marks.sift(batch)
        one.work(events(0, FIRST))
        until(lambda: server.admin.dbsize() == RECORDS)
        two.marks.keep(both_scored, [Output(e, Score(1.0, False, 2.0)) for e in both_scored.entries])
        repeats = two.work(events(0, SECOND))
        assert {d.partition for d in repeats} == {FIRST}
        assert max(server.admin.ttl(key) for key in server.admin.keys("*")) <= 100
        assert two.marks.stats().store.written == 0


def test_one_command_looks_a_micro_batch_up_and_repeats_are_not_written_again() -> None:
    with valkey() as server, running(at(server)) as replica:
        replica.work(events(0, FIRST))
        until(lambda: server.admin.dbsize() == RECORDS)
        assert len(replica.work(events(0, SECOND))) == RECORDS
        replica.work(events(1, FIRST))
        until(lambda: server.admin.dbsize() == 2 * RECORDS)
        calls = server.admin.info("commandstats")
        assert (calls["cmdstat_mget"]["calls"], calls["cmdstat_set"]["calls"]) == (3, 2 * RECORDS)


@pytest.mark.parametrize("state", [0, 2, 255])
def test_a_mark_in_another_state_suppresses_nothing_and_is_left_alone(state: int) -> None:
    with valkey() as server, running(at(server)) as replica:
        replica.work(events(0, FIRST))
        until(lambda: server.admin.dbsize() == RECORDS)
        for key in server.admin.keys("*"):
            bare = key.removeprefix(b"anomaly-consumer:")
            mark = decode(server.admin.get(key), bare)
            assert mark is not None
            server.admin.set(key, encode(mark._replace(state=state), bare))
        assert replica.work(events(0, SECOND)) == []
        assert replica.marks.stats().refused == 0


def test_a_mark_costs_no_more_memory_than_the_documentation_says() -> None:
    with valkey() as server, running(at(server), ttl=86_400) as replica:
        replica.work(events(0, FIRST))
        until(lambda: server.admin.dbsize() == RECORDS)
        used = [server.admin.memory_usage(key) for key in server.admin.keys("*")]
        assert sum(used) / len(used) < 110  # bytes; the tables of the server come on top

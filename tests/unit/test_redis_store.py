"""What replicas share, over a client that fails on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event

import pytest

from consumer.settings import RedisSection
from consumer.stores.lane import Errand
from consumer.stores.redis_store import RedisStore, open_scores


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeClient:
    """Answers from memory; raises `error`, or waits for `gate`, while there is one."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}
        self.calls: list[str] = []
        self.read_error: Exception | None = None
        self.write_error: Exception | None = None
        self.gate: Event | None = None
        self.wrote = Event()
        self.cuts = 0
        self.while_writing: list[Callable[[], object]] = []

    def read(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        self.calls.append("read")
        if self.gate is not None:
            self.gate.wait()
        if self.read_error is not None:
            raise self.read_error
        return [self.entries.get(key) for key in keys]

    def write(self, entries: Mapping[bytes, bytes]) -> int:
        self.calls.append("write")
        self.wrote.set()
        while self.while_writing:
            self.while_writing.pop()()
        if self.write_error is not None:
            raise self.write_error
        self.entries.update(entries)
        return len(entries)

    def close(self) -> None:
        self.calls.append("close")

    def cut(self) -> None:
        self.cuts += 1


class World:
    def __init__(self, budget: float = 5.0) -> None:
        self.client, self.clock = FakeClient(), Clock()
        settings = RedisSection(url="redis://x")
        self.store = RedisStore(settings, self.client, "scores", budget, self.clock)

    def settle(self) -> None:
        """Wait until the lane has done what was sent: a read comes behind every write."""
        gate, self.client.gate = self.client.gate, None
        error, self.client.read_error = self.client.read_error, None
        self.store._reads.open = False
        self.store.get_many([b"settle"])
        self.client.gate, self.client.read_error = gate, error


def test_it_is_off_unless_a_url_is_set() -> None:
    assert open_scores(RedisSection()) is None


def test_what_is_put_is_found_in_one_call_each() -> None:
    world = World()
    world.store.put_many({b"a": b"1", b"b": b"2"})
    assert world.store.get_many([b"b", b"c", b"a"]) == [b"2", None, b"1"]
    assert world.client.calls == ["write", "read"]
    assert world.store.stats().written == 2


def test_nothing_is_called_for_nothing() -> None:
    world = World()
    world.store.put_many({})
    assert world.store.get_many([]) == []
    assert world.client.calls == []


def test_failing_reads_are_misses_told_once_and_bypassed_after_the_third(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.client.read_error = OSError("refused")
    for _ in range(10):
        assert world.store.get_many([b"a", b"b"]) == [None, None]
    assert world.client.calls == ["read"] * 3
    stats = world.store.stats()
    assert (stats.lookups, stats.read_errors, stats.reads_bypassed) == (3, 3, True)
    for trial in range(1, 5):
        world.clock.now = 5.0 * trial
        world.store.get_many([b"a"])
    assert world.client.calls == ["read"] * 7
    assert [record.action for record in caplog.records] == ["redis_bypassed"]  # type: ignore[attr-defined]


def test_it_comes_back_with_the_first_good_trial() -> None:
    world = World()
    world.client.entries[b"a"] = b"1"
    world.client.read_error = OSError("refused")
    for _ in range(3):
        world.store.get_many([b"a"])
    world.client.read_error = None
    assert world.store.get_many([b"a"]) == [None]
    world.clock.now = 5.0
    assert world.store.get_many([b"a"]) == [b"1"]
    assert not world.store.stats().reads_bypassed


def test_a_client_that_never_answers_is_given_up_and_what_waits_behind_it_is_skipped() -> None:
    world = World(budget=0.01)
    world.client.gate = gate = Event()
    for _ in range(10):
        assert world.store.get_many([b"a"]) == [None]
    world.store.put_many({b"a": b"1"})
    assert world.client.calls == ["read"]
    assert world.store.stats().read_errors == 3
    assert world.client.cuts == 1
    gate.set()
    assert world.client.wrote.wait(10)
    assert world.client.calls == ["read", "write"]


def test_a_store_that_takes_nothing_is_still_read() -> None:
    world = World()
    world.client.entries[b"a"] = b"1"
    world.client.write_error = OSError("OOM")
    for _ in range(10):
        world.store.put_many({b"b": b"2"})
        assert world.store.get_many([b"a"]) == [b"1"]
    stats = world.store.stats()
    assert world.client.calls.count("write") == stats.write_errors == 3
    assert world.client.cuts == 0
    assert (stats.reads_bypassed, stats.writes_bypassed) == (False, True)
    world.client.write_error, world.clock.now = None, 5.0
    world.store.put_many({b"b": b"2"})
    assert world.store.get_many([b"b"]) == [b"2"]
    assert not world.store.stats().writes_bypassed


def blocked(world: World) -> Event:
    """The lane hangs in a read until this is set."""
    world.client.gate = gate = Event()
    world.store.get_many([b"a"])
    world.client.gate = None
    return gate


def test_writes_that_pile_up_go_out_together() -> None:
    world = World(budget=0.01)
    gate = blocked(world)
    for n in range(100):
        world.store.put_many({b"%d" % n: b""})
    gate.set()
    world.settle()
    assert len(world.client.entries) == 100
    assert world.client.calls.count("write") == 1


def test_a_great_many_entries_are_written_in_pieces_that_let_look_ups_through() -> None:
    world = World()
    look_up = Errand(lambda: world.client.read([b"a"]))
    world.client.while_writing.append(lambda: world.store._lane.offer(look_up))
    world.store.put_many({b"%d" % n: b"" for n in range(2_500)})
    for _ in range(4):  # each lets what waits before it pass
        world.settle()
    assert world.store.stats().written == 2_500
    assert world.client.calls[:2] == ["write", "read"]
    assert world.client.calls.count("write") == 3


def test_what_exceeds_the_room_is_dropped_and_the_caller_goes_on() -> None:
    world = World(budget=0.01)
    gate = blocked(world)
    for n in range(3_000):
        world.store.put_many({b"%d" % n: bytes(8_192)})
    gate.set()
    for _ in range(3):
        world.settle()
    assert 900 < len(world.client.entries) < 1_100
    world.store.put_many({b"later": b""})
    world.settle()
    assert b"later" in world.client.entries


def test_nothing_is_written_any_more_once_it_is_closed() -> None:
    world = World(budget=0.01)
    world.client.gate = gate = Event()
    world.store.get_many([b"a"])
    world.store.put_many({b"a": b"1"})
    world.store.close()
    gate.set()
    world.store._lane._thread.join(10)
    assert not world.store._lane._thread.is_alive()
    assert world.client.calls == ["read", "close"]

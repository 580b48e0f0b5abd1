"""Events that come again under the id of an earlier one, on real brokers and a real Valkey."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from consumer.marks import Keys, Mark, decode, encode, mark_of
from consumer.records import Record
from tests.kafka.collect import Item
from tests.kafka.failpoint import Boundary
from tests.kafka.history import Sent
from tests.kafka.replicas import Replica
from tests.kafka.scenario import Scenario
from tests.kafka.waiting import eventually
from tests.redis.servers import Valkey, valkey

pytestmark = pytest.mark.redis

PREFIX = b"anomaly-consumer:"
PENDING = 2


class Dedupe:
    """A group that shares a Valkey, and what became of each record."""

    def __init__(self, scenario: Scenario, server: Valkey) -> None:
        self.scenario, self.server = scenario, server

    def prepare(self, **settings: object) -> None:
        url = f"redis://127.0.0.1:{self.server.port}/0"
        patient = {"redis__timeout": 2, "redis__connect_timeout": 2, "dedupe__budget": 2}
        self.scenario.prepare({"input": 3}, redis__url=url, dedupe__enabled="true", **{**patient, **settings})

    def feed(self, items: Sequence[Item]) -> list[Sent]:
        """Sent, and finished by whoever runs."""
        sent = self.scenario.feed(items).finish()
        self.scenario.until_committed()
        return sent

    def remembered(self, count: int) -> None:
        """Block until so many marks are there: they are written in the background."""
        eventually("marks written", lambda: len(self.marks()) == count, 30)

    def marks(self) -> list[Mark]:
        keys = self.server.admin.keys(PREFIX + b"seen:*")
        entries = zip(keys, self.server.admin.mget(keys), strict=True) if keys else ()
        found = [decode(entry, key.removeprefix(PREFIX)) for key, entry in entries]
        assert None not in found
        return [mark for mark in found if mark is not None]

    def results(self, count: int) -> list[dict[str, Any]]:
        """All results, once there are so many."""
        eventually("results read", lambda: len(self.scenario.results()) >= count, 60)
        return [msgspec.json.decode(m.value() or b"") for m in self.scenario.results()]

    def topic_id(self, bootstrap: str) -> str:
        name = self.scenario.name("input")
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        return str(admin.describe_topics(TopicCollection([name]))[name].result(30).topic_id)


@pytest.fixture
def dedupe(scenario: Scenario) -> Iterator[Dedupe]:
    with valkey() as server:
        yield Dedupe(scenario, server)


def events(count: int, text: str = "request") -> list[Item]:
    """With ids of their own; a copy may get to another partition."""
    rng = random.Random(count)
    return [Item(b"%d" % rng.randrange(9), _event(f"id-{n}", f"{text} {n}"), "scored") for n in range(count)]


def copies(items: Sequence[Item]) -> list[Item]:
    """The same values under other keys."""
    return [item._replace(key=None, expected="duplicate") for item in items]


def _event(event_id: str, message: str) -> bytes:
    return msgspec.json.encode({"id": event_id, "message": message})


def outcomes(results: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(result["outcome"] for result in results)


def place(result: dict[str, Any]) -> tuple[int, int]:
    return result["input"]["partition"], result["input"]["offset"]


def counted(replica: Replica, line: str) -> float:
    """The value of one line of its metrics."""
    (found,) = [each for each in replica.metrics().splitlines() if each.startswith(f"{line} ")]
    return float(found.rpartition(" ")[2])


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_a_copy_is_published_as_a_duplicate_that_names_the_first_whoever_scored_it(
    dedupe: Dedupe, guarantee: str
) -> None:
    dedupe.prepare(processing__guarantee=guarantee)
    items = events(500)
    first = dedupe.scenario.start("first")
    dedupe.feed(items)
    dedupe.remembered(500)
    dedupe.scenario.stop(first)
    second = dedupe.scenario.start("second")
    dedupe.feed([*copies(items), *events(600)[500:]])
    results = dedupe.results(1_100)
    numbers = {
        name: counted(second, f"consumer_{name}")
        for name in ('records_total{outcome="duplicate"}', "dedupe_events_total", "dedupe_read_errors_total")
    }
    dedupe.scenario.stop(second)
    assert outcomes(results) == {"scored": 600, "duplicate": 500}
    assert len({place(result) for result in results}) == 1_100
    scored = {r["event_id"]: r["input"] for r in results if r["outcome"] == "scored"}
    for repeat in (r for r in results if r["outcome"] == "duplicate"):
        origin = scored[repeat["event_id"]]
        assert repeat["first"] == {name: origin[name] for name in ("topic", "partition", "offset")}
        assert "score" not in repeat
    assert list(numbers.values()) == [500, 600, 0]


def test_an_id_that_comes_with_another_value_is_scored(dedupe: Dedupe) -> None:
    dedupe.prepare()
    replica = dedupe.scenario.start("only")
    dedupe.feed(events(100))
    dedupe.remembered(100)
    dedupe.feed(events(100, "another request"))
    assert outcomes(dedupe.results(200)) == {"scored": 200}
    assert counted(replica, "consumer_dedupe_reused_ids_total") == 100
    dedupe.scenario.stop(replica)


def test_a_kill_between_a_mark_and_its_commit_suppresses_nothing(dedupe: Dedupe) -> None:
    """F5: whatever a dead process had marked comes out again."""
    dedupe.prepare()
    sent = dedupe.scenario.feed(events(2_000)).finish()
    doomed = dedupe.scenario.start("doomed", failpoint=f"{Boundary.BEFORE_COMMIT}:4")
    assert doomed.wait(60) == -signal.SIGKILL
    committed = dedupe.scenario.committed()
    ahead = [m for m in dedupe.marks() if m.offset >= committed.get(m.partition, 0)]
    assert ahead, "nothing was marked that was not committed: the kill proves nothing"
    assert dedupe.scenario.start("heir", "--stop-at-end").wait(60) == 0
    results = dedupe.results(len(sent) + len(ahead))
    assert outcomes(results) == {"scored": len(results)}
    assert {place(r) for r in results} == {(s.partition, s.offset) for s in sent}


def test_marks_that_are_only_begun_suppress_nothing(dedupe: Dedupe, scenario: Scenario) -> None:
    """F5, told by hand: another record with each value began, and its process died."""
    dedupe.prepare()
    keys = Keys(scenario.group, dedupe.topic_id(scenario._bootstrap))
    items = events(300)
    for n, item in enumerate(items):
        begun = mark_of(Record("input", 2, 1_000_000 + n, item.value))._replace(state=PENDING)
        key = keys.of(f"id-{n}")
        dedupe.server.admin.set(PREFIX + key, encode(begun, key))
    replica = scenario.start("only")
    dedupe.feed(items)
    assert outcomes(dedupe.results(300)) == {"scored": 300}
    assert counted(replica, "consumer_dedupe_refused_total") == 0
    scenario.stop(replica)


def test_offsets_moved_back_have_everything_scored_again(dedupe: Dedupe, scenario: Scenario) -> None:
    dedupe.prepare()
    replica = scenario.start("before")
    sent = dedupe.feed(events(300))
    dedupe.remembered(300)
    scenario.stop(replica)
    _move_back(scenario)
    assert scenario.start("after", "--stop-at-end").wait(60) == 0
    results = dedupe.results(600)
    assert outcomes(results) == {"scored": 600}
    assert set(Counter(map(place, results)).values()) == {2}
    assert len(sent) == 300


def _move_back(scenario: Scenario) -> None:
    admin = AdminClient({"bootstrap.servers": scenario._bootstrap, "log_level": 0})
    begin = [TopicPartition(scenario.name("input"), partition, 0) for partition in scenario.committed()]
    wanted = ConsumerGroupTopicPartitions(scenario.group, begin)
    eventually("group empty", lambda: scenario.members() == 0, 30)
    admin.alter_consumer_group_offsets([wanted])[scenario.group].result(30)


def test_a_topic_that_is_created_again_has_no_repeats_of_the_old_one(
    dedupe: Dedupe, scenario: Scenario
) -> None:
    """F29: the same events, at other offsets of a topic of the same name."""
    dedupe.prepare()
    items = events(300)
    replica = scenario.start("before")
    dedupe.feed(items)
    dedupe.remembered(300)
    scenario.stop(replica)
    scenario.delete_topic("input")
    scenario.create_topic("input")
    scenario.feed(items[::-1]).finish()
    assert scenario.start("after", "--stop-at-end").wait(60) == 0
    assert outcomes(dedupe.results(600)) == {"scored": 600}
    dedupe.remembered(600)


def test_without_its_valkey_repeats_are_scored_and_nothing_stops(dedupe: Dedupe) -> None:
    dedupe.prepare(redis__timeout=0.2, redis__connect_timeout=0.2, dedupe__budget=0.1)
    replica = dedupe.scenario.start("only")
    items = events(300)
    dedupe.feed(items)
    dedupe.remembered(300)
    dedupe.server.kill()
    dedupe.feed(copies(items))
    assert outcomes(dedupe.results(600)) == {"scored": 600}
    assert replica.ready()
    dedupe.scenario.stop(replica)

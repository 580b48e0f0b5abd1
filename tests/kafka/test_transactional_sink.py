"""What transactions really do on Apache Kafka, and what our sink makes of it.

| the client and the brokers | test |
|---|---|
| results and offsets become visible together | several_batches_share… |
| an aborted result is never seen, and its room in the log stays | a_lost_partition_aborts… |
| a request found too large fails the whole transaction | the_result_that_is_too_large… |
| a second producer with the same id fences the first for good | a_second_owner_of_the_id… |
| the brokers abort what outlasts transaction.timeout | a_transaction_that_outlasts… |
| a member that the group expelled cannot commit | an_expelled_member_commits_nothing |
| a producer that left without a word is aborted by its successor | a_successor_with_the_same_id… |
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.errors import Fatal, Misconfigured
from consumer.kafka.messages import Outgoings
from consumer.kafka.transactions import TransactionalSink
from consumer.ports import ModelInfo, Observer, Receipt
from consumer.records import Entry, Event, Output, Record, Score, TopicPartition
from consumer.settings import DeadLetter, Input, Kafka, Processing, Results, Settings, Transaction
from tests.kafka.cluster import AnyCluster
from tests.kafka.collect import Reader
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually
from tests.mock_cluster.conftest import QUIET

SOON = 30.0


class Stage:
    """Topics, a group with one member, and sinks for it."""

    def __init__(self, bootstrap: str, topics: Topics, results: Mapping[str, str]) -> None:
        run = uuid4().hex[:8]
        self.bootstrap = bootstrap
        self.source = TopicPartition(topics.create(f"input-{run}"), 0)
        self.results = topics.create(f"results-{run}", config=results)
        self.dead = topics.create(f"dead-{run}")
        self._group = f"group-{run}"
        self._sinks: list[TransactionalSink] = []
        self.observer: Observer = Observer()
        self.stale: object = None  # what a member that does not know it yet says of itself
        self.member = self._join()

    def _join(self) -> Consumer:
        member = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": self._group,
                "session.timeout.ms": 6_000,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        member.subscribe([self.source.topic])
        eventually("the member owns its partition", lambda: self._owned(member), 60, every=0)
        return member

    @staticmethod
    def _owned(member: Consumer) -> bool:
        member.poll(0.2)
        return bool(member.assignment())

    def settings(self, instance: str | None = None, **transaction: Any) -> Settings:
        return Settings(
            kafka=Kafka(bootstrap_servers=self.bootstrap, group_id=self._group, group_instance_id=instance),
            input=Input(topic=self.source.topic),
            output=Results(topic=self.results),
            dead_letter=DeadLetter(topic=self.dead),
            processing=Processing(guarantee="exactly-once"),
            transaction=Transaction(**transaction),
        )

    def sink(self, instance: str | None = None, **transaction: Any) -> TransactionalSink:
        settings = self.settings(instance, **transaction)
        outgoings = Outgoings(settings, ModelInfo("m", "0" * 16), {self.results: 1, self.dead: 1})
        sink = TransactionalSink(settings, outgoings, self, QUIET, self.observer)
        self._sinks.append(sink)
        return sink

    def group_metadata(self) -> object:
        return self.stale or self.member.consumer_group_metadata()

    def positions(self, offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
        return [KafkaPartition(*partition, offset) for partition, offset in offsets.items()]

    def scored(self, *offsets: int, size: int = 5) -> list[Output]:
        score = Score(1.0, is_anomaly=False, threshold=2.0)
        return [
            Output(Entry(Record(*self.source, o, b"hello", None), Event(_text(size))), score) for o in offsets
        ]

    def seen(self) -> list[str]:
        """What a subscriber of committed records finds of results and dead letters, as `topic:offset`."""
        reader = Reader(self.bootstrap, {self.results: 1, self.dead: 1})
        reader.start()
        return sorted(map(self._named, reader.finish()))

    def seen_before_the_end(self) -> list[str]:
        """The same while a transaction is open, which would hold `seen` up."""
        reader = Reader(self.bootstrap, {self.results: 1, self.dead: 1})
        reader.start()
        return sorted(map(self._named, reader.decided()))

    def _named(self, message: Any) -> str:
        if message.topic() == self.dead:
            return f"dead:{dict(message.headers())['__connect.errors.offset'].decode()}"
        return "result:" + message.value().split(b'"id":"')[1].split(b'"')[0].decode().rsplit("|", 1)[1]

    def committed(self) -> int:
        return self.member.committed([KafkaPartition(*self.source)], timeout=10)[0].offset

    def close(self) -> None:
        for sink in self._sinks:
            sink.close(time.monotonic() + 1)
        self.member.close()


def _text(size: int) -> str:
    """What compression cannot make small."""
    return random.Random(size).randbytes(size // 2).hex()


@pytest.fixture
def stage(cluster: AnyCluster, topics: Topics, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Marked with `results`: settings of the results topic."""
    stage = Stage(cluster.bootstrap, topics, getattr(request, "param", {}))
    yield stage
    stage.close()


def until_done(sink: TransactionalSink, receipt: Receipt) -> None:
    assert receipt.wait(time.monotonic() + SOON)


def test_several_batches_share_a_transaction_with_their_offsets(stage: Stage) -> None:
    sink = stage.sink(max_time=0.5, timeout=120)
    receipts = [sink.send(stage.scored(n, n + 1), {stage.source: n + 2}) for n in (0, 2, 4)]
    sink._outlet.flush(SOON)
    assert not any(receipt.done() for receipt in receipts)
    assert stage.seen_before_the_end() == []
    until_done(sink, receipts[0])
    assert all(r.done() and r.failure() is None and r.committed() for r in receipts)
    assert receipts[2].offsets() == {stage.source: 6}
    assert stage.committed() == 6
    assert stage.seen() == [f"result:{n}" for n in range(6)]


def test_a_transaction_ends_early_when_it_holds_enough_records(stage: Stage) -> None:
    sink = stage.sink(max_time=10.0, max_records=3)
    small = sink.send(stage.scored(0), {stage.source: 1})
    sink.step(time.monotonic())
    assert not small.done()
    large = sink.send(stage.scored(1, 2), {stage.source: 3})
    sink.step(time.monotonic())
    assert small.done()
    assert large.done()
    assert stage.committed() == 3


def test_a_transaction_ends_early_when_it_holds_enough_bytes(stage: Stage) -> None:
    sink = stage.sink(max_time=10.0, max_bytes=2 * stage.scored(0)[0].entry.record.size)
    small = sink.send(stage.scored(0), {stage.source: 1})
    sink.step(time.monotonic())
    assert not small.done()
    large = sink.send(stage.scored(1), {stage.source: 2})
    sink.step(time.monotonic())
    assert small.done()
    assert large.done()


def test_settling_commits_at_once(stage: Stage) -> None:
    sink = stage.sink(max_time=10.0)
    receipt = sink.send(stage.scored(0), {stage.source: 1})
    sink.settle(time.monotonic() + SOON)
    assert receipt.done()
    assert receipt.failure() is None
    assert stage.committed() == 1


class CallLog(Observer):
    """The calls that may not return: entered and left."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def entered_call(self, name: str, now: float) -> None:
        self.calls.append(name)

    def left_call(self, now: float) -> None:
        self.calls.append("left")


def test_whoever_watches_knows_of_the_call_that_forgets_its_time_limit(stage: Stage) -> None:
    stage.observer = log = CallLog()
    sink = stage.sink(max_time=10.0)
    sink.send(stage.scored(0), {stage.source: 1})
    sink.settle(time.monotonic() + SOON)
    assert log.calls == ["send_offsets_to_transaction", "left"]


def test_a_lost_partition_aborts_what_nobody_may_see(stage: Stage) -> None:
    sink = stage.sink(max_time=10.0)
    receipt = sink.send(stage.scored(0, 1), {stage.source: 2})
    sink.strike([TopicPartition(stage.source.topic, 9)])
    assert not receipt.done()
    sink.strike([stage.source])
    assert receipt.done()
    assert "not ours any more" in str(receipt.failure())
    again = sink.send(stage.scored(0, 1), {stage.source: 2})
    sink.settle(time.monotonic() + SOON)
    assert again.failure() is None
    assert stage.seen() == ["result:0", "result:1"]
    assert stage.committed() == 2


@pytest.mark.parametrize("stage", [{"max.message.bytes": "2000"}], indirect=True)
def test_the_result_that_is_too_large_becomes_a_dead_letter_and_its_neighbours_do_not(stage: Stage) -> None:
    sink = stage.sink(max_time=0.05)
    outputs = [*stage.scored(0), *stage.scored(1, size=1_990), *stage.scored(2)]
    for _ in range(3):  # together, alone, without the culprit
        receipt = sink.send(outputs, {stage.source: 3})
        until_done(sink, receipt)
        if receipt.failure() is None:
            break
        assert "MSG_SIZE_TOO_LARGE" in str(receipt.failure())
    assert receipt.failure() is None
    assert stage.seen() == ["dead:1", "result:0", "result:2"]
    assert stage.committed() == 3
    following = sink.send(stage.scored(3), {stage.source: 4})
    until_done(sink, following)
    assert following.failure() is None


def test_a_second_owner_of_the_id_ends_the_first_for_good(stage: Stage) -> None:
    first = stage.sink(instance="slot-1")
    first.send(stage.scored(0), {stage.source: 1})
    second = stage.sink(instance="slot-1")
    with pytest.raises(Fatal, match=r"same transactional id.*transaction\.timeout"):
        first.settle(time.monotonic() + SOON)
    with pytest.raises(Fatal, match="same transactional id"):
        first.send(stage.scored(0), {stage.source: 1})
    second.send(stage.scored(0), {stage.source: 1})
    second.settle(time.monotonic() + SOON)
    assert stage.seen() == ["result:0"]
    assert stage.committed() == 1


def test_a_successor_with_the_same_id_ends_what_was_left_open(stage: Stage) -> None:
    dead = stage.sink(instance="slot-1", timeout=900)
    dead.send(stage.scored(0), {stage.source: 1})
    dead._outlet.flush(SOON)
    heir = stage.sink(instance="slot-1")
    heir.send(stage.scored(0), {stage.source: 1})
    heir.settle(time.monotonic() + SOON)
    assert stage.seen() == ["result:0"]


def test_a_transaction_that_outlasts_its_timeout_is_never_seen(stage: Stage) -> None:
    sink = stage.sink(max_time=0.5, timeout=1.0)
    sink.send(stage.scored(0), {stage.source: 1})
    sink._outlet.flush(SOON)
    eventually("the brokers abort it", lambda: _aborted(stage), 60)
    with pytest.raises(Fatal, match=r"outlasted transaction\.timeout"):
        sink.settle(time.monotonic() + SOON)
    assert stage.seen() == []
    assert stage.committed() < 0


def _aborted(stage: Stage) -> bool:
    """The brokers' marker follows the result: nothing is open any more."""
    stable = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "stable"})
    end = stable.get_watermark_offsets(KafkaPartition(stage.results, 0), timeout=10)[1]
    stable.close()
    return end > 1


def test_an_expelled_member_commits_nothing(stage: Stage) -> None:
    sink = stage.sink(max_time=10.0)
    stage.stale = stage.member.consumer_group_metadata()
    stage.member.unsubscribe()
    stage.member.poll(0.5)
    receipt = sink.send(stage.scored(0), {stage.source: 1})
    sink.settle(time.monotonic() + SOON)
    assert receipt.done()
    assert "aborted" in str(receipt.failure())
    assert stage.seen() == []


def test_a_timeout_that_the_brokers_refuse_is_named_before_the_work_begins(stage: Stage) -> None:
    with pytest.raises(Misconfigured, match=r"transaction\.timeout"):
        stage.sink(timeout=901.0)

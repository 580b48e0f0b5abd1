"""The real client against librdkafka's in-process brokers: a cluster per test, a recording listener."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer

from consumer.demo.cluster import InProcessCluster
from consumer.kafka.source import KafkaSource
from consumer.ports import Observer, Polled
from consumer.records import Record, Start, TopicPartition
from consumer.settings import Settings

PATIENCE = 30.0
QUIET = logging.getLogger("tests.quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


@pytest.fixture
def cluster() -> Iterator[InProcessCluster]:
    with InProcessCluster(rebalance_delay_ms=300) as running:
        for topic in ("events", "anomaly-scores", "anomaly-dead-letters"):
            running.create_topic(topic, 2)
        yield running


@pytest.fixture
def settings(cluster: InProcessCluster) -> Settings:
    return changed(Settings(), "kafka", bootstrap_servers=cluster.bootstrap)


def changed(settings: Settings, section: str, **fields: Any) -> Settings:
    """`settings` with other values in one section."""
    part = msgspec.structs.replace(getattr(settings, section), **fields)
    return msgspec.structs.replace(settings, **{section: part})


def produce(cluster: InProcessCluster, values: Collection[bytes], partition: int = 0, **options: Any) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap}, logger=QUIET)
    for value in values:
        producer.produce("events", value=value, partition=partition, **options)
    assert producer.flush(PATIENCE) == 0


class Journal(Observer):
    """Observer and Listener that write down what they are told, in order."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []
        self.starts: dict[TopicPartition, Start] = {}
        self.fail_with: Exception | None = None

    def on_assigned(self, starts: Mapping[TopicPartition, Start]) -> None:
        self.lines.append(("assigned", dict(starts)))
        self.starts |= starts
        if self.fail_with is not None:
            raise self.fail_with

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.lines.append(("revoked", set(partitions)))

    def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.lines.append(("lost", set(partitions)))

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.lines.append(("committed", dict(offsets)))

    def on_commit_refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        self.lines.append(("refused", set(partitions), why))

    def skipped(self, partition: TopicPartition, records: int) -> None:
        self.lines.append(("skipped", partition, records))

    def trouble(self, what: str, why: str | None) -> None:
        self.lines.append(("trouble", what, why))

    def told(self, kind: str) -> list[tuple[Any, ...]]:
        return [line for line in self.lines if line[0] == kind]


class Rig:
    """A source with its journal, and polling until something is true."""

    def __init__(self, settings: Settings) -> None:
        self.journal = Journal()
        self.source = KafkaSource(settings, self.journal, QUIET)
        self.records: list[Record] = []
        self.ends: dict[TopicPartition, int] = {}

    def subscribed(self) -> Rig:
        self.source.subscribe(self.journal)
        return self

    def poll(self, timeout: float = 0.2, limit: int = 1000) -> Polled:
        polled = self.source.poll(timeout, limit)
        self.records += polled.records
        self.ends |= polled.ends
        return polled

    def until(self, true: Callable[[], bool]) -> None:
        """Poll until `true()`; fails the test after PATIENCE seconds."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, self.journal.lines
            self.poll()


@pytest.fixture
def rig(settings: Settings) -> Iterator[Rig]:
    made = Rig(settings).subscribed()
    yield made
    made.source.close()

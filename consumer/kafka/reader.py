"""Reads a fixed stretch of a topic without being a member of any group and without committing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.errors import Infrastructure, Misconfigured
from consumer.kafka.config import Config, consumer_config, make_client, quiet_logger
from consumer.loading import redacted
from consumer.masking import shown
from consumer.records import Record
from consumer.settings import Settings

_GROUP_KEYS = (
    "group.instance.id",
    "group.protocol",
    "partition.assignment.strategy",
    "session.timeout.ms",
    "max.poll.interval.ms",
)
_POLL = 0.5  # seconds
_AT_ONCE = 500


class Stretch(NamedTuple):
    """Offsets [start, end) of one partition, of which at most `most` records are wanted."""

    partition: int
    start: int
    end: int
    most: int


class TopicReader:
    """Reads `topic` by itself: partitions are assigned by hand, nothing is ever committed.

    Only committed records of transactions are seen. Blocks for at most `timeout` seconds without an
    answer or a record; then it raises Infrastructure.
    """

    def __init__(self, settings: Settings, topic: str, timeout: float = 30.0) -> None:
        logger, _ = quiet_logger()
        self._settings = settings
        self._topic = topic
        self._timeout = timeout
        self._consumer: Consumer = make_client(Consumer, reader_config(settings), settings, logger=logger)

    def plan(self, since_ms: int | None, count: int) -> list[Stretch]:
        """What to read, fixed now: records up to the present ends, from `since_ms` (milliseconds since
        the epoch) or the beginning, `count` in all, shared among the partitions by how much they hold.

        Raises Misconfigured when the topic does not exist or no broker answers.
        """
        try:
            bounds = self._bounds(since_ms)
        except KafkaException as error:
            raise Misconfigured([self._unreached(str(error.args[0].str()))]) from error
        shares = fair_shares([end - start for start, end in bounds.values()], count)
        return [
            Stretch(partition, start, end, most)
            for (partition, (start, end)), most in zip(bounds.items(), shares, strict=True)
            if most
        ]

    def read(self, plan: Sequence[Stretch]) -> Iterator[Record]:
        """The records of the plan, in order within each partition. Offsets may have gaps."""
        left = {stretch.partition: stretch for stretch in plan}
        self._consumer.assign([self._at(stretch.partition, stretch.start) for stretch in plan])
        waited_until = time.monotonic() + self._timeout
        while left:
            messages = self._consumer.consume(_AT_ONCE, _POLL)
            if messages:
                waited_until = time.monotonic() + self._timeout
            elif time.monotonic() > waited_until:
                raise self._trouble(f"nothing arrived for {self._timeout:.0f} seconds")
            for message in messages:
                yield from self._taken(message, left)

    def close(self) -> None:
        self._consumer.close()

    def _taken(self, message: Message, left: dict[int, Stretch]) -> Iterator[Record]:
        """The record, if it is wanted; takes finished partitions out of `left`."""
        partition, offset = message.partition() or 0, message.offset() or 0
        error = message.error()
        if error is not None:
            self._check(error)
        stretch = left.get(partition)
        if stretch is None:
            return
        if offset >= stretch.end or error is not None:
            self._finish(partition, left)  # an error that passed the check is the end of the partition
            return
        if stretch.most == 1 or offset == stretch.end - 1:
            self._finish(partition, left)
        else:
            left[partition] = stretch._replace(most=stretch.most - 1)
        yield self._record(message)

    def _finish(self, partition: int, left: dict[int, Stretch]) -> None:
        del left[partition]
        self._consumer.pause([self._at(partition)])

    def _check(self, error: KafkaError) -> None:
        """Returns for the end of a partition alone; what the client retries by itself is no message."""
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise self._trouble("retention removed records before they were read; begin later")
        raise self._trouble(error.str())

    def _bounds(self, since_ms: int | None) -> dict[int, tuple[int, int]]:
        """First wanted offset and end of every partition."""
        partitions = self._partitions()
        bounds = {p: self._watermarks(p) for p in partitions}
        if since_ms is None:
            return bounds
        asked = [self._at(p, since_ms) for p in partitions]
        found = self._consumer.offsets_for_times(asked, timeout=self._timeout)
        starts = {at.partition: at.offset for at in found}
        # A negative offset: no record is that young.
        return {p: (starts[p] if starts[p] >= 0 else end, end) for p, (_, end) in bounds.items()}

    def _partitions(self) -> list[int]:
        """Asks for all topics: a question about one that is missing could create it."""
        topic = self._consumer.list_topics(timeout=self._timeout).topics.get(self._topic)
        if topic is None or not topic.partitions:
            raise Misconfigured([f"topic {shown(self._topic)}: does not exist; name one that holds records"])
        return sorted(topic.partitions)

    def _watermarks(self, partition: int) -> tuple[int, int]:
        bounds = self._consumer.get_watermark_offsets(self._at(partition), timeout=self._timeout)
        if bounds is None:
            raise Misconfigured([self._unreached(f"no answer about partition {partition}")])
        return bounds

    def _record(self, message: Message) -> Record:
        kind, timestamp = message.timestamp()
        return Record(
            topic=self._topic,
            partition=message.partition() or 0,
            offset=message.offset() or 0,
            value=message.value(),
            timestamp=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        )

    def _at(self, partition: int, offset: int = 0) -> KafkaPartition:
        return KafkaPartition(self._topic, partition, offset)

    def _unreached(self, why: str) -> str:
        servers = shown(self._settings.kafka.bootstrap_servers)
        reason = redacted(why, self._settings)
        return (
            f"kafka.bootstrap_servers = {servers}: topic {shown(self._topic)} cannot be read: {reason}; "
            "start the broker there or correct the address (`consumer check` tells more)"
        )

    def _trouble(self, why: str) -> Infrastructure:
        return Infrastructure(f"topic {shown(self._topic)}: {redacted(why, self._settings)}")


def reader_config(settings: Settings) -> Config:
    """The service's own configuration without what makes a member of a group."""
    config = {name: value for name, value in consumer_config(settings).items() if name not in _GROUP_KEYS}
    return config | {"group.id": f"{settings.kafka.client_id}-reader"}  # demanded by the client, never used


def fair_shares(sizes: Sequence[int], count: int) -> list[int]:
    """How many of `count` records each of several stretches gives: as equal as their sizes allow."""
    shares = [0] * len(sizes)
    left = min(count, sum(sizes))
    for done, i in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[i] = min(sizes[i], left // (len(sizes) - done))
        left -= shares[i]
    return shares

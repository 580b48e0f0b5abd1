"""Reads stretches of one topic's partitions, committed records only, and never waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
from msgspec.structs import replace

from consumer.errors import Infrastructure, Misconfigured
from consumer.kafka.config import Config, consumer_config, make_client, quiet_logger
from consumer.loading import redacted
from consumer.masking import shown
from consumer.settings import Settings
from consumer.verify.broker import Broker

_POLL = 0.2  # seconds
_AT_ONCE = 5_000
_SILENCE = 30.0  # seconds without a record after which the brokers count as gone


# Prefetch that keeps one core busy and memory small; the user's own [kafka.consumer] wins.
_TUNING = {
    "queued.max.messages.kbytes": "8192",
    "fetch.max.bytes": "4194304",
    "max.partition.fetch.bytes": "524288",
}


class Span(NamedTuple):
    """Offsets [start, end) of one partition."""

    start: int
    end: int


class Held(msgspec.Struct, frozen=True):
    """A partition that could not be read to its end: an open transaction begins at `stable`."""

    topic: str
    partition: int
    stable: int
    end: int


class Stretches:
    """What is to be read of one topic. Iterating reads it, in order within each partition.

    Afterwards `held` names the partitions that an open transaction kept us from reading to their ends for
    `patience` seconds in which nothing else was left to do, and `removed` the first offset that was left
    where retention passed us.
    """

    def __init__(self, reader: Reader, topic: str, spans: Mapping[int, Span], patience: float) -> None:
        self._reader, self._topic, self._patience = reader, topic, patience
        self._left = {partition: span for partition, span in spans.items() if span.start < span.end}
        self._moved = time.monotonic()
        self.held: list[Held] = []
        self.removed: dict[int, int] = {}

    def __iter__(self) -> Iterator[list[Message]]:
        """Raises Infrastructure when the brokers fall silent."""
        consumer = self._reader.consumer
        consumer.assign([self._at(partition, span.start) for partition, span in self._left.items()])
        self._moved = time.monotonic()
        while self._left:
            messages = consumer.consume(_AT_ONCE, _POLL)
            if messages:
                yield self._wanted(messages)
            self._look_at_the_time(bool(messages))
        consumer.unassign()

    def _wanted(self, messages: list[Message]) -> list[Message]:
        left, records = self._left, []
        for message in messages:
            partition, offset = message.partition() or 0, message.offset() or 0
            span = left.get(partition)
            if span is None:
                continue
            error = message.error()
            if error is not None:
                self._event(error, partition, offset)
                continue
            if offset < span.end:
                records.append(message)
            if offset >= span.end - 1:
                self._finish(partition)
        return records

    def _event(self, error: KafkaError, partition: int, offset: int) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            if offset >= self._left[partition].end:
                self._finish(partition)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._skip(partition)
        else:
            raise self._reader.trouble(self._topic, error.str())

    def _skip(self, partition: int) -> None:
        """Retention was faster: go on at what it left."""
        low = self._reader.lows(self._topic, [partition])[partition]
        self.removed[partition] = low
        span = self._left[partition]
        self._finish(partition)
        if low < span.end:
            self._left[partition] = span
            self._reader.consumer.incremental_assign([self._at(partition, low)])

    def _finish(self, partition: int) -> None:
        del self._left[partition]
        self._reader.consumer.incremental_unassign([self._at(partition)])

    def _look_at_the_time(self, moved: bool) -> None:
        """Give up on what is held by transactions, or on the brokers."""
        now = time.monotonic()
        if moved:
            self._moved = now
        idle = now - self._moved
        if not self._left or idle < min(self._patience, _SILENCE):
            return
        stable = self._reader.stable(self._topic, sorted(self._left))
        held = [Held(self._topic, p, stable[p], s.end) for p, s in self._left.items() if stable[p] < s.end]
        if len(held) == len(self._left) and idle >= self._patience:
            self.held += held
            self._left.clear()
        elif len(held) < len(self._left) and idle >= _SILENCE:
            raise self._reader.trouble(self._topic, f"nothing arrived for {_SILENCE:.0f} seconds")

    def _at(self, partition: int, offset: int = 0) -> TopicPartition:
        return TopicPartition(self._topic, partition, offset)


class Reader:
    """A consumer that is a member of no group and commits nothing."""

    def __init__(self, settings: Settings, broker: Broker) -> None:
        logger, _ = quiet_logger()
        self._settings, self._broker = settings, broker
        self.consumer: Consumer = make_client(Consumer, _config(settings), settings, logger=logger)

    def read(self, topic: str, spans: Mapping[int, Span], patience: float) -> Stretches:
        return Stretches(self, topic, spans, patience)

    def lows(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """As of Broker; raises Infrastructure, for what could be asked before is no wrong setting."""
        return self._asked(lambda: self._broker.lows(topic, partitions))

    def stable(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """Likewise."""
        return self._asked(lambda: self._broker.stable(topic, partitions))

    def _asked(self, ask: Callable[[], dict[int, int]]) -> dict[int, int]:
        try:
            return ask()
        except Misconfigured as error:
            raise Infrastructure(str(error)) from error

    def trouble(self, topic: str, why: str) -> Infrastructure:
        return Infrastructure(f"topic {shown(topic)}: {redacted(why, self._settings)}")

    def close(self) -> None:
        self.consumer.close()


def _config(settings: Settings) -> Config:
    """The service's own, whose group is named (the client demands one) but never joined."""
    tuned = _TUNING | settings.kafka.consumer
    single = replace(settings.kafka, assignor="range", group_instance_id=None, consumer=tuned)
    return consumer_config(replace(settings, kafka=single))

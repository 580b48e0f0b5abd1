"""A subscriber like any other: it reads results and dead letters, and knows only their public formats."""

from __future__ import annotations

import time
from typing import Final

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from consumer.demo.outputs import DeadLetter, Output, Result
from consumer.errors import ConsumerError

_BATCH: Final = 2_000
_ANSWER: Final = 10.0  # seconds that a question to the in-process cluster may take


class Subscriber:
    """Reads both topics from their beginning under a group of its own. For one thread."""

    def __init__(self, bootstrap: str, results: str, dead_letters: str) -> None:
        self._topics = (results, dead_letters)
        self._results = results
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "demo-subscriber",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([results, dead_letters])

    def read(self, timeout: float) -> list[Output]:
        """What arrived within `timeout` seconds; at once when something is waiting."""
        first = self._consumer.poll(timeout)
        if first is None:
            return []
        messages = [first, *self._consumer.consume(_BATCH, 0)]
        return [self._decoded(message) for message in messages if _is_record(message)]

    def at_end(self) -> bool:
        """Whether everything that is in the topics now has been read."""
        positions = {(p.topic, p.partition): p.offset for p in self._consumer.position(self._all())}
        return all(positions[tp] >= high or high == 0 for tp, (_, high) in self.watermarks().items())

    def watermarks(self) -> dict[tuple[str, int], tuple[int, int]]:
        """First and next offset of every partition, asked of the brokers."""
        found = {}
        for tp in self._all():
            answer = self._consumer.get_watermark_offsets(tp, timeout=_ANSWER)
            if answer is None:
                raise ConsumerError("the in-process cluster does not answer")
            found[tp.topic, tp.partition] = answer
        return found

    def close(self) -> None:
        self._consumer.close()

    def _all(self) -> list[TopicPartition]:
        topics = self._consumer.list_topics(timeout=_ANSWER).topics
        return [TopicPartition(name, p) for name in self._topics for p in topics[name].partitions]

    def _decoded(self, message: Message) -> Output:
        if message.topic() == self._results:
            return msgspec.json.decode(message.value() or b"", type=Result)
        headers = dict(message.headers() or ())
        identity, reason = headers["consumer.result.id"], headers["consumer.reason"]
        return DeadLetter(_text(identity), _text(reason), message.value() or b"")


def _text(header: object) -> str:
    return header.decode() if isinstance(header, bytes) else str(header)


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and not error.retriable():
        raise ConsumerError(f"the subscriber cannot read: {error}")
    return error is None


def drain(subscriber: Subscriber, seconds: float) -> list[Output]:
    """Everything up to the present end of both topics. Raises ConsumerError after `seconds`."""
    deadline = time.monotonic() + seconds
    found = subscriber.read(0.2)
    while not subscriber.at_end():
        if time.monotonic() > deadline:
            raise ConsumerError("the subscriber did not reach the end of the results in time")
        found += subscriber.read(0.2)
    return found


def committed_to_end(bootstrap: str, group: str, topic: str) -> bool:
    """Whether the group's committed offsets have reached the end of every partition of `topic`. Asks
    the brokers, as anybody can who watches a group; joins nothing."""
    asking = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        partitions = asking.list_topics(topic, timeout=_ANSWER).topics[topic].partitions
        committed = asking.committed([TopicPartition(topic, p) for p in partitions], timeout=_ANSWER)
        ends = [asking.get_watermark_offsets(tp, timeout=_ANSWER) for tp in committed]
        return all(end is not None and tp.offset >= end[1] for tp, end in zip(committed, ends, strict=True))
    finally:
        asking.close()

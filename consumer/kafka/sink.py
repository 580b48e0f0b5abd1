"""Results and dead letters onto their topics: at least once, acknowledged by all in-sync replicas."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Message

from consumer.errors import Infrastructure
from consumer.kafka.config import producer_config
from consumer.kafka.messages import Outgoing, Outgoings
from consumer.kafka.outlet import Outlet
from consumer.kafka.oversize import DEAD_LETTER_TOO_LARGE, TOO_LARGE
from consumer.ports import Observer
from consumer.records import Output, Rejection, TopicPartition
from consumer.settings import Settings

_NAP = 0.01
_Pair: TypeAlias = tuple[Output, Outgoing]


class KafkaSink:
    """The at-least-once Sink. Every method belongs to the loop's thread; only settle and close block."""

    def __init__(
        self, settings: Settings, outgoings: Outgoings, logger: Any = None, observer: Observer | None = None
    ) -> None:
        self._outlet = Outlet(producer_config(settings), settings, _broken, logger, observer)
        self._outgoings = outgoings
        self._open: deque[_Receipt] = deque()

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> _Receipt:
        self._outlet.require_alive()
        self._outlet.refresh(self._outgoings)
        messages = self._outgoings.of_all(outputs)
        receipt = _Receipt(self, list(zip(outputs, messages, strict=True)), dict(next_offsets))
        self._open.append(receipt)
        self._outlet.put(messages, receipt)
        return receipt

    def step(self, now: float) -> None:  # noqa: ARG002 - the Protocol's signature
        self._outlet.serve(0.0)
        while self._open and self._open[0].settled():
            self._open.popleft()

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        """What was sent stays sent: its next owner repeats it."""

    def settle(self, deadline: float) -> None:
        for receipt in tuple(self._open):
            if not receipt.wait(deadline):
                return

    def close(self, deadline: float) -> None:
        """Flush until `deadline`, then drop what is left and end within half a second more."""
        producer = self._outlet.producer
        try:
            left = producer.flush(max(0.0, deadline - time.monotonic()))
            if left:
                producer.purge()
                producer.flush(0.5)
        except (KafkaException, SystemError):
            return  # nothing of it was committed: the next owner repeats it

    # ---------------------------------------------------------------- used by receipts

    @property
    def outlet(self) -> Outlet:
        return self._outlet

    def redirected(self, output: Output) -> _Pair:
        """The dead letter that takes the place of a result which the broker refuses alone."""
        instead = Output(output.entry, TOO_LARGE)
        return instead, self._outgoings.of_all([instead])[0]


def _broken(why: str) -> str:
    return f"The Kafka producer is broken for good ({why}); nothing unacknowledged was committed."


class _Receipt:
    """The acknowledgements of one batch.

    When the broker finds a request too large it fails every message in it, so those are sent again one
    by one; the one that is refused alone becomes a dead letter in its place.
    """

    def __init__(
        self, sink: KafkaSink, pairs: Sequence[_Pair], offsets: Mapping[TopicPartition, int]
    ) -> None:
        self._sink = sink
        self._pairs = pairs
        self._offsets = offsets
        self._left = len(pairs)
        self._failures: Counter[str] = Counter()
        self._suspects: set[bytes | None] = set()
        self._alone: deque[_Pair] = deque()
        self._trying: _Pair | None = None

    # ---------------------------------------------------------------- Receipt

    def settled(self) -> bool:
        """Nothing is outstanding and nothing is left to try. Serves no callbacks."""
        while self._left == 0 and self._advance():
            pass  # what the client itself refused at once is dealt with at once, too
        return self._left == 0

    def done(self) -> bool:
        if not self.settled():
            self._sink.outlet.serve(0.0)
        return self.settled()

    def wait(self, deadline: float) -> bool:
        while not self.settled():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._sink.outlet.serve(min(left, _NAP))
        return True

    def failure(self) -> Infrastructure | None:
        if not self._failures:
            return None
        named = ", ".join(f"{count} x {name}" for name, count in self._failures.most_common())
        return Infrastructure(f"{sum(self._failures.values())} records were not acknowledged: {named}")

    def offsets(self) -> Mapping[TopicPartition, int]:
        return self._offsets

    def committed(self) -> bool:
        return False

    # ---------------------------------------------------------------- delivery reports

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """Called by the client inside poll, so it only takes notes."""
        self._left -= 1
        if error is not None:
            self._note(error, message.value())

    def refused(self, error: KafkaError, message: Outgoing) -> None:
        """The client would not even queue it."""
        self._left -= 1
        self._note(error, message.value)

    def _note(self, error: KafkaError, value: bytes | None) -> None:
        self._sink.outlet.note_failure(error)
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self._suspects.add(value)
        else:
            self._failures[error.name()] += 1

    # ---------------------------------------------------------------- one by one

    def _advance(self) -> bool:
        """Send the next suspect alone, unless the batch has failed anyway and will be repeated; returns
        whether one was sent."""
        if self._failures:
            return False
        if self._suspects:
            self._sort_out()
        self._trying = self._alone.popleft() if self._alone and not self._failures else None
        if self._trying is None:
            return False
        self._left = 1
        self._sink.outlet.put([self._trying[1]], self)
        return True

    def _sort_out(self) -> None:
        """Together with others: all suspects stand in line. Alone: it is the culprit."""
        suspects, self._suspects = self._suspects, set()
        if self._trying is None:
            self._alone.extend(pair for pair in self._pairs if pair[1].value in suspects)
        elif isinstance(self._trying[0].verdict, Rejection):
            self._failures[DEAD_LETTER_TOO_LARGE] += 1
        else:
            self._alone.appendleft(self._sink.redirected(self._trying[0]))

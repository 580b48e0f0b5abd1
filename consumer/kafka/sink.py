"""Results and dead letters onto their topics: at least once, acknowledged by all in-sync replicas."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from consumer.errors import Fatal, Infrastructure
from consumer.kafka.config import make_client, producer_config
from consumer.kafka.messages import Outgoing, Outgoings
from consumer.ports import Observer
from consumer.records import Output, Reason, Rejection, TopicPartition
from consumer.settings import Settings

_DEAD = frozenset((KafkaError._FATAL, KafkaError._FENCED))
_MISPLACED = frozenset(
    (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
)
_NAP = 0.01
_Pair: TypeAlias = tuple[Output, Outgoing]


class KafkaSink:
    """The at-least-once Sink. Every method belongs to the loop's thread; only settle and close block.

    Messages wait in an outbox until the client's bounded queue takes them, so that a full queue is
    back-pressure and never a lost or reordered message. A producer that reported a fatal error stays
    dead: the next call of any kind raises Fatal.
    """

    def __init__(
        self, settings: Settings, outgoings: Outgoings, logger: Any = None, observer: Observer | None = None
    ) -> None:
        options = {} if logger is None else {"logger": logger}
        config = producer_config(settings) | {"error_cb": self._on_error}
        self._observer = observer or Observer()
        self._producer: Producer = make_client(Producer, config, settings, **options)
        self._outgoings = outgoings
        self._outbox: deque[tuple[Outgoing, _Receipt]] = deque()
        self._open: deque[_Receipt] = deque()
        self._dead: str | None = None
        self._moved = False

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> _Receipt:
        self._require_alive()
        if self._moved:
            self._moved = not self._outgoings.learn_partitions(self._producer)
        messages = self._outgoings.of_all(outputs)
        receipt = _Receipt(self, list(zip(outputs, messages, strict=True)), dict(next_offsets))
        self._open.append(receipt)
        self.put(messages, receipt)
        return receipt

    def step(self, now: float) -> None:  # noqa: ARG002 - the Protocol's signature
        self.serve(0.0)
        while self._open and self._open[0].settled():
            self._open.popleft()

    def settle(self, deadline: float) -> None:
        for receipt in tuple(self._open):
            if not receipt.wait(deadline):
                return

    def close(self, deadline: float) -> None:
        """Flush until `deadline`, then drop what is left and end within half a second more."""
        try:
            left = self._producer.flush(max(0.0, deadline - time.monotonic()))
            if left:
                self._producer.purge()
                self._producer.flush(0.5)
        except (KafkaException, SystemError):
            return  # nothing of it was committed: the next owner repeats it

    # ---------------------------------------------------------------- used by receipts

    def put(self, messages: Sequence[Outgoing], receipt: _Receipt) -> None:
        """Queue behind everything that was put before."""
        self._outbox.extend(zip(messages, repeat(receipt)))
        self._pump()

    def redirected(self, output: Output) -> _Pair:
        """The dead letter that takes the place of a result which the broker refuses alone."""
        rejection = Rejection(Reason.UNPUBLISHABLE, "the broker refuses the result as too large")
        instead = Output(output.entry, rejection)
        return instead, self._outgoings.of_all([instead])[0]

    def serve(self, timeout: float) -> None:
        """Run delivery reports, waiting up to `timeout` seconds for the first, and refill the queue."""
        self._require_alive()
        try:
            self._producer.poll(timeout)
        except (KafkaException, SystemError) as error:
            self._die(str(error))
        self._pump()

    def note_failure(self, error: KafkaError) -> None:
        """Called inside delivery reports: only takes notes."""
        if error.code() in _DEAD or error.fatal():
            self._dead = self._dead or _broken(str(error))
        if error.code() in _MISPLACED:
            self._moved = True

    def _on_error(self, error: KafkaError) -> None:
        """Called by the client inside poll. While a full batch waits for acknowledgements the source is
        not polled, so an outage must be told from here; the source tells when it is over."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._observer.trouble("brokers", f"{error.name()}: {error.str()}")

    # ---------------------------------------------------------------- the client's queue

    def _pump(self) -> None:
        produce, outbox = self._producer.produce, self._outbox
        while outbox:
            message, receipt = outbox[0]
            try:
                produce(
                    message.topic,
                    message.value,
                    message.key,
                    message.partition,
                    on_delivery=receipt.delivered,
                    headers=message.headers,  # type: ignore[arg-type] # it is only read
                )
            except BufferError:
                return
            except KafkaException as error:
                receipt.refused(error.args[0], message)
            outbox.popleft()

    def _require_alive(self) -> None:
        if self._dead is not None:
            raise Fatal(self._dead)

    def _die(self, why: str) -> None:
        self._dead = _broken(why)
        raise Fatal(self._dead)


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
            self._sink.serve(0.0)
        return self.settled()

    def wait(self, deadline: float) -> bool:
        while not self.settled():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._sink.serve(min(left, _NAP))
        return True

    def failure(self) -> Infrastructure | None:
        if not self._failures:
            return None
        named = ", ".join(f"{count} x {name}" for name, count in self._failures.most_common())
        return Infrastructure(f"{sum(self._failures.values())} records were not acknowledged: {named}")

    def offsets(self) -> Mapping[TopicPartition, int]:
        return self._offsets

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
        self._sink.note_failure(error)
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
        self._sink.put([self._trying[1]], self)
        return True

    def _sort_out(self) -> None:
        """Together with others: all suspects stand in line. Alone: it is the culprit."""
        suspects, self._suspects = self._suspects, set()
        if self._trying is None:
            self._alone.extend(pair for pair in self._pairs if pair[1].value in suspects)
        elif isinstance(self._trying[0].verdict, Rejection):
            self._failures[
                "dead letter larger than the topic's max.message.bytes (lower output.max_bytes)"
            ] += 1
        else:
            self._alone.appendleft(self._sink.redirected(self._trying[0]))

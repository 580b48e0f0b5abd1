"""The producer, and what waits until its bounded queue takes it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, NoReturn, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from consumer.errors import Fatal
from consumer.kafka.config import make_client
from consumer.kafka.messages import Outgoing, Outgoings
from consumer.ports import Observer
from consumer.settings import Settings

_DEAD = frozenset((KafkaError._FATAL, KafkaError._FENCED))
_MISPLACED = frozenset(
    (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
)


class Addressee(Protocol):
    """Is told what became of a message. Called inside client calls: must only take notes."""

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """The delivery report."""
        ...

    def refused(self, error: KafkaError, message: Outgoing) -> None:
        """The client would not even queue it."""
        ...


class Outlet:
    """Messages wait in an outbox until the client's bounded queue takes them, so that a full queue is
    back-pressure and never a lost or reordered message.

    A producer that reported a fatal error stays dead: the next call of any kind raises Fatal, with the
    text that `broken` makes of the reason. Every method belongs to one thread; only serve and flush block.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        settings: Settings,
        broken: Callable[[str], str],
        logger: Any = None,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer or Observer()
        self._broken = broken
        self._outbox: deque[tuple[Outgoing, Addressee]] = deque()
        self._dead: str | None = None
        self._moved = False
        options = {} if logger is None else {"logger": logger}
        whole = {**config, "error_cb": self._on_error}
        self._make: Callable[[], Producer] = lambda: make_client(Producer, whole, settings, **options)
        self.producer = self._make()

    @property
    def holds_back(self) -> bool:
        """The client's queue is full and messages wait for it."""
        return bool(self._outbox)

    def renew(self) -> None:
        """A producer without a past in the place of this one, with which nothing is under way."""
        self.producer = self._make()

    def put(self, messages: Sequence[Outgoing], addressee: Addressee) -> None:
        """Queue behind everything that was put before."""
        self._outbox.extend(zip(messages, repeat(addressee)))
        self._pump()

    def discard(self) -> None:
        """Forget what the client has not got yet."""
        self._outbox.clear()

    def serve(self, timeout: float) -> None:
        """Run delivery reports, waiting up to `timeout` seconds for the first, and refill the queue."""
        self.require_alive()
        try:
            self.producer.poll(timeout)
        except (KafkaException, SystemError) as error:
            self.die(str(error))
        self._pump()

    def flush(self, timeout: float) -> None:
        """Serve until nothing is outstanding, for `timeout` seconds at most."""
        deadline = time.monotonic() + timeout
        while len(self.producer) and (left := deadline - time.monotonic()) > 0:
            self.serve(left)

    def note_failure(self, error: KafkaError) -> None:
        """Look at the error of a message for what it says about the producer and the topics."""
        if error.code() in _DEAD or error.fatal():
            self._dead = self._dead or self._broken(str(error))
        if error.code() in _MISPLACED:
            self._moved = True

    def refresh(self, outgoings: Outgoings) -> None:
        """After a message for a partition that is not there: ask how many there are now."""
        if self._moved:
            self._moved = not outgoings.learn_partitions(self.producer)

    def die(self, why: str) -> NoReturn:
        """The producer will never work again: raises Fatal, now and in every later call."""
        self._dead = self._broken(why)
        raise Fatal(self._dead)

    def require_alive(self) -> None:
        if self._dead is not None:
            raise Fatal(self._dead)

    def _pump(self) -> None:
        produce, outbox = self.producer.produce, self._outbox
        while outbox:
            message, addressee = outbox[0]
            try:
                produce(
                    message.topic,
                    message.value,
                    message.key,
                    message.partition,
                    on_delivery=addressee.delivered,
                    headers=message.headers,  # type: ignore[arg-type] # it is only read
                )
            except BufferError:
                return
            except KafkaException as error:
                addressee.refused(error.args[0], message)
            outbox.popleft()

    def _on_error(self, error: KafkaError) -> None:
        """Called by the client inside poll. While a full batch waits for acknowledgements the source is
        not polled, so an outage must be told from here; the source tells when it is over."""
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._observer.trouble("brokers", f"{error.name()}: {error.str()}")

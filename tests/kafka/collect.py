"""Gathers a history from real brokers while replicas run: feeds the input, subscribes to the output, samples
committed offsets. Each collector is a thread with a client of its own; stop() joins it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.kafka.history import Headers, Place, Sample, Sent, Written
from tests.kafka.waiting import eventually

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"

_DELIVERED_WITHIN = 180.0
_QUIET = {"log_level": 0, "allow.auto.create.topics": False}


class Item(NamedTuple):
    """A record to send, and what has to become of it."""

    key: bytes | None
    value: bytes | None
    expected: str
    headers: Headers = ()


class Feeder(threading.Thread):
    """Sends `items` at `rate` a second (None: at full speed), `burst` of them at a time; `sent` holds what
    the broker acknowledged."""

    def __init__(
        self, bootstrap: str, topic: str, items: Sequence[Item], rate: float | None = None, burst: int = 1
    ) -> None:
        super().__init__(name="feeder", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "topic.metadata.refresh.interval.ms": 2_000,
                "log_level": 0,
            }
        )
        self._topic, self._items, self._rate, self._burst = topic, items, rate, burst
        self.sent: list[Sent] = []
        self.failed: list[str] = []

    def run(self) -> None:
        begin = time.monotonic()
        for number, item in enumerate(self._items):
            due_at = begin + number / self._rate if self._rate and number % self._burst == 0 else begin
            while (left := due_at - time.monotonic()) > 0:
                self._producer.poll(min(left, 0.1))
            self._send(item)
        self._producer.flush(_DELIVERED_WITHIN)

    def finish(self, timeout: float = _DELIVERED_WITHIN) -> list[Sent]:
        """Wait until all are acknowledged; raises AssertionError when one is not."""
        self.join(timeout)
        assert not self.is_alive(), "the feeder is still sending"
        assert not self.failed, self.failed[:3]
        assert len(self.sent) == len(self._items)
        return self.sent

    def _send(self, item: Item) -> None:
        def delivered(error: object, message: Message) -> None:
            if error is not None:
                self.failed.append(str(error))
                return
            where = (message.partition(), message.offset())
            self.sent.append(Sent(*where, item.key, item.value, item.expected, item.headers))

        while True:
            try:
                self._producer.produce(
                    self._topic, item.value, item.key, headers=list(item.headers), on_delivery=delivered
                )
            except BufferError:
                self._producer.poll(0.1)
                continue
            self._producer.poll(0)
            return


class Reader(threading.Thread):
    """Subscribes to topics from their beginning, as a user would, and keeps what comes. UNCOMMITTED: also
    what transactions wrote that were aborted."""

    def __init__(self, bootstrap: str, topics: Mapping[str, int], isolation: str = COMMITTED) -> None:
        super().__init__(name="reader", daemon=True)
        self._brokers = bootstrap
        self._consumer = _lone_consumer(bootstrap, "reader", isolation)
        self._partitions = [
            TopicPartition(t, p, OFFSET_BEGINNING) for t, n in topics.items() for p in range(n)
        ]
        self._consumer.assign(self._partitions)
        self._stopping = threading.Event()
        self._seen_end: dict[Place, int] = {}
        self.messages: list[Message] = []

    def run(self) -> None:
        while not self._stopping.is_set():
            self._take(0.2)

    def finish(self, timeout: float = 150.0) -> list[Message]:
        """Read on to the ends as they are now; returns everything. A transaction that is still open holds a
        reader of committed records up until the brokers abort it."""
        self._stopping.set()
        self.join()
        ends = self._ends()
        eventually("reader at the end", lambda: self._take(0.2) or self._reached(ends), timeout, every=0)
        self._consumer.close()
        return self.messages

    def decided(self, timeout: float = 60.0) -> list[Message]:
        """Read on to where nothing more may be read; returns everything, and closes. What follows is in a
        transaction that is open."""
        self._stopping.set()
        self.join()
        eventually("an end", lambda: self._take(0.2) or len(self._seen_end) == len(self._partitions), timeout)
        self._consumer.close()
        return self.messages

    def _ends(self) -> dict[Place, int]:
        """Of the logs, whatever is decided of their transactions."""
        asker = _lone_consumer(self._brokers, "reader", UNCOMMITTED)
        places = [(tp.topic, tp.partition) for tp in self._partitions]
        ends = {p: asker.get_watermark_offsets(TopicPartition(*p), timeout=10)[1] for p in places}
        asker.close()
        return ends

    def _take(self, timeout: float) -> None:
        for message in self._consumer.consume(5_000, timeout):
            error = message.error()
            if error is None:
                self.messages.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                topic, partition, offset = _place(message)
                self._seen_end[topic, partition] = offset

    def _reached(self, ends: Mapping[Place, int]) -> bool:
        """The client tells an end behind the markers of transactions, where no record is."""
        return all(self._seen_end.get(place, -1) >= end for place, end in ends.items())


class Sampler(threading.Thread):
    """Every `interval` seconds: committed offsets of the group first, the ends of the output after."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        source: tuple[str, int],
        outputs: Mapping[str, int],
        interval: float = 0.1,
    ) -> None:
        super().__init__(name="sampler", daemon=True)
        self._consumer = _lone_consumer(bootstrap, group)
        self._servers = bootstrap
        self._admin = admin_client(bootstrap)
        self._source = [TopicPartition(source[0], p) for p in range(source[1])]
        self._outputs = [(t, p) for t, n in outputs.items() for p in range(n)]
        self._interval = interval
        self._stopping = threading.Event()
        self.samples: list[Sample] = []

    def run(self) -> None:
        while not self._stopping.wait(self._interval):
            self.sample()

    def sample(self) -> None:
        """Take one sample now; none when the brokers do not answer."""
        try:
            at, committed = time.monotonic(), self.committed()
            ends = log_ends(self._admin, self._outputs)
        except (KafkaException, TimeoutError):
            self._admin = admin_client(self._servers)  # one that knows who leads the partitions now
            return
        self.samples.append(Sample(at, committed, ends))

    def committed(self) -> dict[int, int]:
        """The group's next offsets now, where it has any. Raises KafkaException."""
        answer = self._consumer.committed(self._source, timeout=5)
        for tp in answer:
            if tp.error is not None:
                raise KafkaException(tp.error)
        return {tp.partition: tp.offset for tp in answer if tp.offset >= 0}

    def finish(self) -> list[Sample]:
        """Take a last sample; returns all."""
        self._stopping.set()
        self.join()
        taken = len(self.samples)
        eventually("a last sample", lambda: self.sample() or len(self.samples) > taken, 60)
        self._consumer.close()
        return self.samples


def admin_client(bootstrap: str) -> AdminClient:
    """One that is back soon after its brokers are."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500})


def log_ends(admin: AdminClient, places: Iterable[Place]) -> dict[Place, int]:
    """Now, whatever is decided of transactions. Raises KafkaException or TimeoutError when a leader does not
    tell; a client goes on asking former leaders then, so make a new one."""
    asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    answers = admin.list_offsets(asked, request_timeout=5)
    ends = {(tp.topic, tp.partition): answer.result(timeout=10).offset for tp, answer in answers.items()}
    if min(ends.values()) < 0:
        raise TimeoutError("the end of a log is not known")
    return ends


class _Model(msgspec.Struct):
    name: str
    version: str


class _Result(msgspec.Struct):
    """What a checker needs of a result."""

    schema_version: int
    id: str
    outcome: str
    model: _Model
    score: float | None = None


def read_outputs(messages: Iterable[Message], dead_topic: str) -> list[Written]:
    """The output log as values. Raises when a message is not what its topic promises."""
    return [_dead_letter(m) if m.topic() == dead_topic else _result(m) for m in messages]


def _result(message: Message) -> Written:
    result = msgspec.json.decode(message.value() or b"", type=_Result)
    _, partition, offset = result.id.rsplit("|", 2)
    source, model = (int(partition), int(offset)), result.model.version
    return Written(*_place(message), source, result.id, result.outcome, result.score, model=model)


def _dead_letter(message: Message) -> Written:
    headers = [(name, _bytes(value)) for name, value in message.headers() or []]
    context = {name: (value or b"").decode() for name, value in headers if _is_context(name)}
    source = (int(context["__connect.errors.partition"]), int(context["__connect.errors.offset"]))
    original = tuple((name, value) for name, value in headers if not _is_context(name))
    return Written(
        *_place(message),
        source,
        context["consumer.result.id"],
        context["consumer.reason"],
        None,
        message.key(),
        message.value(),
        original,
    )


def _is_context(name: str) -> bool:
    return name.startswith(("__connect.errors.", "consumer."))


def _place(message: Message) -> tuple[str, int, int]:
    return message.topic() or "", message.partition() or 0, message.offset() or 0


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _lone_consumer(bootstrap: str, group: str, isolation: str = UNCOMMITTED) -> Consumer:
    """A consumer that never joins its group."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 500,
            **_QUIET,
        }
    )

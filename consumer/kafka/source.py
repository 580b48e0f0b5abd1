"""The group consumer as a Source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.errors import Fatal
from consumer.headers import headers_of
from consumer.kafka.birth import Births
from consumer.kafka.broker_states import any_broker_up
from consumer.kafka.client_errors import broken_for_good
from consumer.kafka.config import consumer_config, make_client
from consumer.kafka.start import Misplaced, StartFinder
from consumer.ports import Listener, Observer, Polled
from consumer.records import Record, Start, TopicPartition
from consumer.settings import Settings

_STATISTICS_MS = 5_000  # how often the client tells which brokers it is connected to


class KafkaSource:
    """One member of the group. Every method belongs to the owner's thread.

    Callbacks run inside poll and close and never raise there (the client would lose the records it has
    already gathered, and on Python 3.11 the exception may be one that nothing can catch): the first
    exception is kept and raised when the client call has returned.
    """

    def __init__(self, settings: Settings, observer: Observer, logger: Any = None) -> None:
        self._topic = settings.input.topic
        self._eager = settings.kafka.assignor == "range"
        self._observer = observer
        self._owned: set[TopicPartition] = set()
        self._paused = self._closing = False
        self._topic_trouble = False
        self._first: list[Message] = []
        self._raised: BaseException | None = None
        self._listener: Listener
        config = consumer_config(settings) | {
            "on_commit": self._guarded(self._on_commit),
            "error_cb": self._guarded(self._on_error),
            "stats_cb": self._guarded(self._on_statistics),
            "statistics.interval.ms": _STATISTICS_MS,
        }
        options = {} if logger is None else {"logger": logger}
        self._consumer: Consumer = make_client(Consumer, config, settings, **options)
        self._births = Births()
        self._starts = StartFinder(self._consumer, settings, self._births)
        self._misplaced = Misplaced(self._starts)

    # ---------------------------------------------------------------- Source

    def subscribe(self, listener: Listener) -> None:
        self._listener = listener
        self._starts.look()
        self._consumer.subscribe(
            [self._topic],
            on_assign=self._guarded(self._on_assign),
            on_revoke=self._guarded(self._on_revoke),
            on_lost=self._guarded(self._on_lost),
        )

    def poll(self, timeout: float, limit: int) -> Polled:
        self._place_again()
        messages = self._take(timeout, limit)
        self._raise_kept()
        records: list[Record] = []
        ends: dict[TopicPartition, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                records.append(self._record(message))
            else:
                self._note_error(message, error, ends)
        if ends and records:
            _drop_stale_ends(ends, records)
        if self._topic_trouble and (records or ends):
            self._topic_is_well()
        return Polled(records, ends)

    def pause(self) -> None:
        self._paused = True
        self._consumer.pause(_kafka(self._owned))

    def resume(self) -> None:
        self._paused = False
        self._consumer.resume(_kafka(self._owned))

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            self._consumer.commit(offsets=self.positions(offsets), asynchronous=True)
        except KafkaException as error:
            self._listener.on_commit_refused(offsets.keys(), error.args[0].name())

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        try:
            answers = self._consumer.commit(offsets=self.positions(offsets), asynchronous=False)
        except KafkaException:
            return {}
        return {_ours(a): a.offset for a in answers or () if a.error is None}

    def group_metadata(self) -> object:
        """Who we are in the group now, for a transaction to name. Never asks the broker."""
        return self._consumer.consumer_group_metadata()

    def positions(self, offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
        """What is committed for these, by us or in a transaction."""
        return [self._births.position(partition, offset) for partition, offset in offsets.items()]

    def log_ends(self) -> Mapping[TopicPartition, int]:
        ends = {}
        for partition in self._owned:
            watermarks = self._consumer.get_watermark_offsets(KafkaPartition(*partition), cached=True)
            if watermarks is not None and watermarks[1] >= 0:
                ends[partition] = watermarks[1]
        return ends

    def close(self) -> None:
        self._closing = True
        self._consumer.close()
        self._raise_kept()

    # ---------------------------------------------------------------- polling

    def _take(self, timeout: float, limit: int) -> Sequence[Message]:
        """Wait for the first message, then take what is queued: `consume(n, t)` alone would wait for n
        messages or the whole t. A rebalance during the second call takes back what the first returned."""
        message = self._consumer.poll(timeout)
        if message is None:
            return ()
        self._first = [message]
        more = self._consumer.consume(limit - 1, 0) if limit > 1 else ()
        messages, self._first = [*self._first, *more], []
        return messages

    def _record(self, message: Message) -> Record:
        kind, timestamp = message.timestamp()
        return Record(
            self._topic,
            message.partition(),  # type: ignore[arg-type] # None is for messages that never came from a broker
            message.offset(),  # type: ignore[arg-type] # likewise
            message.value(),
            message.key(),
            None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
            headers_of(message),
            kind == TIMESTAMP_LOG_APPEND_TIME,
        )

    def _note_error(self, message: Message, error: KafkaError, ends: dict[TopicPartition, int]) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            ends[_source_of(message)] = _offset_of(message)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self._misplaced.note(_source_of(message), _offset_of(message))
        elif code == KafkaError._MAX_POLL_EXCEEDED:
            self._observer.trouble("membership", "kafka.max_poll_interval passed without a poll")
        else:
            self._on_error(error)

    # ---------------------------------------------------------------- positions that do not exist any more

    def _place_again(self) -> None:
        """Put partitions whose position is out of range at the earliest offset, and tell the gap."""
        for partition, position, earliest in self._misplaced.placed():
            if earliest is None:
                self._note_topic_trouble(f"no log bounds for {partition}")
            else:
                self._move(partition, position, earliest)

    def _move(self, partition: TopicPartition, position: int, earliest: int) -> None:
        self._observer.skipped(partition, max(0, earliest - position))
        if earliest < position:
            # The log was truncated or begun anew: what is under way belongs to a log that is gone.
            self._listener.on_lost([partition])
            self._listener.on_assigned({partition: Start(earliest, committed=False)})
        self._reassign(partition, earliest)

    def _reassign(self, partition: TopicPartition, offset: int) -> None:
        """The client refuses to seek a partition whose fetching has stopped; assigning it anew works."""
        target = KafkaPartition(*partition, offset)
        if self._eager:
            others = self._consumer.position(_kafka(self._owned - {partition}))
            known = [p if p.offset >= 0 else self._starts.stored(p) for p in others]
            self._consumer.assign([*known, target])
            self._starts.note([*known, target])
        else:
            self._consumer.incremental_unassign([target])
            self._consumer.incremental_assign([target])
        (self._consumer.pause if self._paused else self._consumer.resume)(_kafka(self._owned))

    # ---------------------------------------------------------------- callbacks

    def _guarded(self, callback: Callable[..., None]) -> Callable[..., None]:
        def guarded(*args: Any) -> None:
            try:
                callback(*args)
            except BaseException as error:  # kept, and raised by the owner's call
                self._raised = self._raised or error

        return guarded

    def _raise_kept(self) -> None:
        if self._raised is not None:
            raise self._raised

    def _on_assign(self, consumer: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        if self._closing:
            return  # a rebalance met us at the door: nothing of it is read, and nobody has to be asked where
        starts = self._starts.find(partitions)
        placed = _with_offsets({tp: start.offset for tp, start in starts.items()})
        (consumer.assign if self._eager else consumer.incremental_assign)(placed)
        if placed:
            # A pause outlives a rebalance in the client: say what holds now.
            (consumer.pause if self._paused else consumer.resume)(placed)
        self._owned.update(starts)
        self._observer.trouble("membership", None)
        if starts and self._topic_trouble:
            self._topic_is_well()
        self._listener.on_assigned(starts)

    def _on_revoke(self, _: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._listener.on_revoked(self._release(partitions))

    def _on_lost(self, _: Consumer, partitions: Sequence[KafkaPartition]) -> None:
        self._listener.on_lost(self._release(partitions))

    def _release(self, partitions: Sequence[KafkaPartition]) -> Collection[TopicPartition]:
        gone = {_ours(p) for p in partitions}
        self._owned -= gone
        self._first = [m for m in self._first if _source_of(m) not in gone]
        self._misplaced.forget(gone)
        return gone

    def _on_commit(self, error: KafkaError | None, partitions: Sequence[KafkaPartition]) -> None:
        if error is not None and error.code() == KafkaError._NO_OFFSET:
            return
        reasons = {_ours(p): why for p in partitions if (why := p.error or error) is not None}
        done = {_ours(p): p.offset for p in partitions if _ours(p) not in reasons}
        if done:
            self._listener.on_committed(done)
        if reasons:
            self._listener.on_commit_refused(reasons.keys(), next(iter(reasons.values())).name())

    def _on_error(self, error: KafkaError) -> None:
        """Most errors are news about a service: the client retries by itself. Only fatal ones end us."""
        text = f"{error.name()}: {error.str()}"
        if why := broken_for_good(error, text):
            raise Fatal(why)
        if error.code() in _BROKER_TROUBLE:
            self._observer.trouble("brokers", text)
        else:
            self._note_topic_trouble(text)

    def _note_topic_trouble(self, why: str) -> None:
        """Lasts until the topic delivers something, or partitions of it are assigned anew."""
        self._topic_trouble = True
        self._observer.trouble("input topic", why)

    def _topic_is_well(self) -> None:
        self._topic_trouble = False
        self._observer.trouble("input topic", None)

    def _on_statistics(self, statistics: str) -> None:
        if any_broker_up(statistics):
            self._observer.trouble("brokers", None)


_BROKER_TROUBLE = frozenset(
    (
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._TIMED_OUT,
    )
)


def _drop_stale_ends(ends: dict[TopicPartition, int], records: Sequence[Record]) -> None:
    """An end that the same poll read beyond is not the end any more."""
    for record in records:
        end = ends.get(record.source)
        if end is not None and record.offset >= end:
            del ends[record.source]


def _source_of(message: Message) -> TopicPartition:
    return TopicPartition(message.topic() or "", message.partition() or 0)


def _offset_of(message: Message) -> int:
    """The position that an error message is about."""
    return message.offset() or 0


def _ours(partition: KafkaPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


def _kafka(partitions: Collection[TopicPartition]) -> list[KafkaPartition]:
    return [KafkaPartition(*p) for p in partitions]


def _with_offsets(offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
    return [KafkaPartition(*p, offset) for p, offset in offsets.items()]

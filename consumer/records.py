"""The values that flow down the line. All frozen; nothing here knows Kafka, torch or a clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

HEADER_OBJECTS = 200
"""Bytes that Python takes for a header beside its name and its value."""


class TopicPartition(NamedTuple):
    """One partition of one topic; hashable, so it is the key of every per-partition table."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"


class Start(NamedTuple):
    """Where an assigned partition begins. `committed` False: the group has no offset for it yet."""

    offset: int
    committed: bool


class Position(NamedTuple):
    """Where we stand on an owned partition: everything below `finished` is durable."""

    finished: int
    log_end: int | None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record as Kafka delivered it.

    `timestamp` is milliseconds since the epoch, or None when the broker has none; `log_append_time`:
    the broker set it, not the producer. `headers` is None when the client could not decode their
    names; the codec then rejects the record.
    """

    topic: str
    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    timestamp: int | None = None
    headers: Headers | None = ()
    log_append_time: bool = False

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Bytes of value, key and headers, with HEADER_OBJECTS for each header."""
        size = len(self.value or b"") + len(self.key or b"")
        for name, value in self.headers or ():
            size += HEADER_OBJECTS + len(name) + len(value or b"")
        return size


def runs(records: Sequence[Record]) -> Iterator[tuple[TopicPartition, int, int]]:
    """Neighbours that share a partition: (partition, first index, index after the last), in order.

    Records arrive in such runs, so what is counted per partition costs little per record.
    """
    topic, partition, first = "", -1, 0
    for index, record in enumerate(records):
        if record.partition != partition or record.topic != topic:
            if index:
                yield TopicPartition(topic, partition), first, index
            topic, partition, first = record.topic, record.partition, index
    if records:
        yield TopicPartition(topic, partition), first, len(records)


class Event(msgspec.Struct, frozen=True, gc=False):
    """A decoded record, ready to be scored. `message` is never empty and within the text limit.

    `replaced`: bytes that are not UTF-8 were replaced. `truncated`: the head and the tail of a longer
    text, and `cut` says which characters [start, end) of that text are missing. `timestamp` is the
    event's own, verbatim. `document` is the whole event as JSON bytes, kept only when the output
    includes it.
    """

    message: str
    level: str | None = None
    id: str | None = None
    timestamp: str | int | float | None = None
    source: str | None = None
    replaced: bool = False
    truncated: bool = False
    document: bytes | None = None
    cut: tuple[int, int] | None = None


class Empty(msgspec.Struct, frozen=True):
    """A tombstone or an empty value: nothing to score, still one output record."""


class Duplicate(msgspec.Struct, frozen=True):
    """A repeat of an event whose result is acknowledged already: not scored, still one output record.

    `event_id` is what both have in common; `partition` and `offset` are those of the first record, in the
    same topic.
    """

    event_id: str
    partition: int
    offset: int


class Reason(StrEnum):
    """Why a record became a dead letter. The values are public: header, metric label, log field."""

    UNDECODABLE = "undecodable"  # not JSON, not UTF-8 where JSON is asked, not an object
    INVALID = "invalid"  # JSON that breaks schemas/event.schema.json
    OVERSIZE = "oversize"  # value or text above its limit
    TOO_COMPLEX = "too_complex"  # nesting or number of fields above its limit
    BAD_HEADERS = "bad_headers"  # header names that the client cannot decode
    POISON = "poison"  # the scorer fails on this record alone while the reference text still works
    UNPUBLISHABLE = "unpublishable"  # the broker refuses the result alone as too large


class Rejection(msgspec.Struct, frozen=True):
    """A bad record as a value: it rides in its batch, so it keeps its place and its offset.

    `detail` names the field or the limit in one line and never holds payload.
    """

    reason: Reason
    detail: str


class Token(msgspec.Struct, frozen=True):
    """A surprising piece of a text: characters [start, end) of `Event.message`, surprisal in nats."""

    text: str
    start: int
    end: int
    surprisal: float


class Score(msgspec.Struct, frozen=True):
    """A verdict. `score` = -log10 of the calibrated p-value of the record: 3 is one in a thousand.

    `score` and `threshold` are finite and in the same unit. `parts` maps each part's name to its own
    -log10 p, or to None for a text that was seen in fitting (there the rarity of the text is all).
    `extrapolated`: p lies below what the calibration sample can prove. `tokens` is filled from
    `output.explain_from` up.
    """

    score: float
    is_anomaly: bool
    threshold: float
    parts: dict[str, float | None] = {}
    extrapolated: bool = False
    truncated: bool = False
    tokens: tuple[Token, ...] = ()


Decoded: TypeAlias = Event | Empty | Rejection
Verdict: TypeAlias = Score | Empty | Rejection | Duplicate


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record and what the codec made of it, or that its event came before."""

    record: Record
    decoded: Decoded | Duplicate


class ClosedBy(StrEnum):
    """What closed a micro-batch."""

    COUNT = "count"
    BYTES = "byte_size"
    AGE = "max_wait"
    IDLE = "idle_wait"


class MicroBatch(msgspec.Struct, frozen=True):
    """The unit of publishing and committing: entries in arrival order.

    `asked_at`: when the poll that returned the oldest entry was asked (monotonic seconds). `size`: bytes of
    its records. `topic_id`: the brokers' id of the input topic, once its events were compared with earlier
    ones.
    """

    entries: tuple[Entry, ...]
    closed_by: ClosedBy
    asked_at: float
    size: int = 0
    topic_id: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """What the scorer gets to see, in arrival order."""
        return tuple(e.decoded for e in self.entries if isinstance(e.decoded, Event))


class Output(msgspec.Struct, frozen=True, gc=False):
    """One record with its verdict: exactly one of these is published for every input record."""

    entry: Entry
    verdict: Verdict

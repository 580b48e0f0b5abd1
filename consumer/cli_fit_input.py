"""What `consumer fit` learns from: records of files or of a topic, decoded, masked and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from consumer.codec import EventCodec
from consumer.errors import Misconfigured
from consumer.lines import check_files, read_lines
from consumer.normalize import Normalizer
from consumer.records import Empty, Record, Rejection
from consumer.scoring.known import Tally
from consumer.settings import Settings

MAX_ITEMS = 500_000  # distinct texts that are counted; the tally holds them in memory
_NAMED = 5  # rejected records that are told one by one
_TOLD_EVERY = 5_000

Told = Callable[[int, int], None]


class Origin(NamedTuple):
    """Where a record came from, in words, and the record."""

    name: str
    record: Record


class Collected(NamedTuple):
    """`records` were learnt from; `rejected` counts by reason what was not, `named` says where the first
    of them are; `empty` lines are no records. `full`: reading ended because there was no more room."""

    tally: Tally
    read: int
    empty: int
    rejected: Counter[str]
    named: list[str]
    full: bool

    @property
    def records(self) -> int:
        return self.tally.records


def from_files(names: Sequence[str], max_bytes: int) -> Iterator[Origin]:
    """Raises Misconfigured, naming every file that cannot be read, before the first line."""
    if problems := check_files(names):
        raise Misconfigured(problems)
    return (Origin(f"{line.file} line {line.number}", line.record) for line in read_lines(names, max_bytes))


def from_topic(records: Iterable[Record]) -> Iterator[Origin]:
    """In order of time: partitions arrive interleaved by chance, and order of first sight must not be."""
    held = sorted(records, key=lambda r: (r.timestamp or 0, r.partition, r.offset))
    return (Origin(f"{record.source} offset {record.offset}", record) for record in held)


def collect(origins: Iterable[Origin], settings: Settings, normalizer: Normalizer, told: Told) -> Collected:
    """Count distinct model inputs under the limits that hold at run time. `told(records, items)` is
    called now and then. Raises Misconfigured when every record was rejected."""
    codec = EventCodec(settings.input)
    found = _Found()
    for origin in origins:
        decoded = codec.decode(origin.record)
        found.read += 1
        if isinstance(decoded, Rejection):
            found.reject(origin.name, decoded)
        elif isinstance(decoded, Empty):
            found.empty += 1
        elif not found.tally.add(normalizer.model_input(decoded.level, decoded.message)):
            found.full = True
            break
        if found.read % _TOLD_EVERY == 0:
            told(found.read, len(found.tally))
    told(found.read, len(found.tally))
    return found.result()


class _Found:
    """What has been collected so far."""

    def __init__(self) -> None:
        self.tally = Tally(MAX_ITEMS)
        self.read = 0
        self.empty = 0
        self.rejected: Counter[str] = Counter()
        self.named: list[str] = []
        self.full = False

    def reject(self, name: str, rejection: Rejection) -> None:
        self.rejected[rejection.reason] += 1
        if len(self.named) < _NAMED:
            self.named.append(f"{name}: {rejection.reason}: {rejection.detail}")

    def result(self) -> Collected:
        if self.rejected and not self.tally.records:
            raise Misconfigured(
                [f"all {self.rejected.total()} records were rejected; the first:", *self.named]
            )
        return Collected(self.tally, self.read, self.empty, self.rejected, self.named, self.full)

"""The brokers' own truth: input logs, group offsets, what was written and what was acknowledged."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from consumer.records import Duplicate, Empty, Output, Record, Rejection, Start, TopicPartition

from .device import outcome_of
from .journal import Journal, Violation


class Log:
    """One input partition. Offsets without a record are transaction markers or compacted away."""

    def __init__(self) -> None:
        self.start = self.end = 0
        self.records: dict[int, Record] = {}
        self.offsets: list[int] = []

    def readable(self, start: int, end: int) -> list[int]:
        return self.offsets[bisect_left(self.offsets, start) : bisect_left(self.offsets, end)]

    def next_from(self, position: int) -> int | None:
        """The first offset at or after `position` that holds a record."""
        index = bisect_left(self.offsets, position)
        return self.offsets[index] if index < len(self.offsets) else None


class Written(NamedTuple):
    """One record of an output log. `late`: its sender no longer owned the input partition by then."""

    queue: str
    source: TopicPartition
    offset: int
    late: bool


def queue_of(record: Record) -> str:
    """The output partition: by key, else by the input partition; dead letters have their own topic."""
    if outcome_of(record.value) not in ("scored", "empty"):
        return "dead"
    return f"out{(record.partition if record.key is None else crc32(record.key)) % 3}"


class Broker:
    """Input logs and output logs, one group's offsets, and who may commit (`generation`).

    `epochs` counts the assignments of a partition, to us or to another member, so that what belongs to
    a former one can be told apart.
    """

    def __init__(self, journal: Journal, policy: str = "earliest") -> None:
        self.journal = journal
        self.policy = policy
        self.logs: dict[TopicPartition, Log] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.generation = 0
        self.epochs: dict[TopicPartition, int] = defaultdict(int)
        self.written: list[Written] = []
        self.acknowledged: dict[TopicPartition, set[int]] = defaultdict(set)
        self.first_committed: dict[TopicPartition, int] = {}
        self.scored: set[tuple[TopicPartition, int]] = set()  # sent, perhaps in vain
        self.repeats = 0
        self.pending: set[TopicPartition] = set()  # a transaction that is being committed holds offsets

    # ---------------------------------------------------------------- input

    def produce(self, partition: TopicPartition, value: bytes | None, key: bytes | None = None) -> int:
        log = self.logs.setdefault(partition, Log())
        offset = log.end
        log.records[offset] = Record(partition.topic, partition.partition, offset, value, key)
        log.offsets.append(offset)
        log.end += 1
        return offset

    def gap(self, partition: TopicPartition, offsets: int = 1) -> None:
        """Offsets that nobody will ever read."""
        self.logs.setdefault(partition, Log()).end += offsets

    def start_of(self, partition: TopicPartition) -> Start:
        """Where a member that gets this partition begins."""
        if partition in self.committed:
            return Start(self.committed[partition], True)
        log = self.logs[partition]
        return Start(log.start if self.policy == "earliest" else log.end, False)

    # ---------------------------------------------------------------- the group's offsets

    def check_commit(
        self, offsets: Mapping[TopicPartition, int], starts: Mapping[TopicPartition, int]
    ) -> None:
        """I2, asked when the commit is asked for: everything readable below is acknowledged. A group
        without an offset begins where its member began."""
        if not offsets:
            raise Violation("an empty commit was asked for")
        for partition, offset in offsets.items():
            begin = self.committed.get(partition, starts[partition])
            missing = set(self.logs[partition].readable(begin, offset)) - self.acknowledged[partition]
            if missing:
                raise Violation(f"I2: commit of {partition} at {offset} passes unwritten {sorted(missing)}")

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in offsets.items():
            if offset < self.committed.get(partition, 0):
                raise Violation(f"I3: {partition} back from {self.committed[partition]} to {offset}")
            if self.policy == "earliest" and partition not in self.committed:
                self._check_first(partition, offset)
            self.first_committed.setdefault(partition, offset)
            self.committed[partition] = offset
        self.journal.note("committed", dict(offsets), self.generation)

    def _check_first(self, partition: TopicPartition, offset: int) -> None:
        passed = self.logs[partition].readable(self.logs[partition].start, offset)
        if set(passed) - self.acknowledged[partition]:
            raise Violation(f"I1: the first commit of {partition} at {offset} passes unwritten {passed}")

    # ---------------------------------------------------------------- output

    def check_output(self, output: Output) -> None:
        """I7, I12, I13, I19: what goes out is the record that was read, under its one classification."""
        record = output.entry.record
        truth = self.logs[record.source].records.get(record.offset)
        if truth is None or (truth.value, truth.key) != (record.value, record.key):
            raise Violation(f"I7: no such input record: {record.source} at {record.offset}")
        verdict = output.verdict
        if isinstance(verdict, Duplicate):
            return self._check_repeat(truth, verdict)
        if isinstance(verdict, Rejection):
            outcome = str(verdict.reason)
        else:
            outcome = "empty" if isinstance(verdict, Empty) else "scored"
        if outcome != outcome_of(truth.value):
            raise Violation(f"I12: {truth.value!r} became {outcome}")
        if outcome == "scored":
            self.scored.add((record.source, record.offset))
        return None

    def _check_repeat(self, record: Record, verdict: Duplicate) -> None:
        """I19: another record with the same value was scored, and its result is acknowledged."""
        source = TopicPartition(record.topic, verdict.partition)
        first = self.logs[source].records.get(verdict.offset)
        if first is None or first == record or first.value != record.value:
            raise Violation(f"I19: {record} is no repeat of {verdict}")
        written = verdict.offset in self.acknowledged[source]
        if not written or (source, verdict.offset) not in self.scored:
            raise Violation(f"I19: {record} is suppressed by {verdict}, which has no result")
        self.repeats += 1

    def append(self, record: Record, epoch: int | None) -> None:
        late = self.epochs[record.source] != epoch
        self.written.append(Written(queue_of(record), record.source, record.offset, late))

    def acknowledge(self, partition: TopicPartition, offset: int) -> None:
        self.acknowledged[partition].add(offset)

    # ---------------------------------------------------------------- what is left at the end

    def lag(self) -> int:
        return sum(log.end - self.committed.get(tp, -1) for tp, log in self.logs.items())

    def required(self, partition: TopicPartition) -> list[int]:
        """The offsets that I1 asks an output for: readable, from where the group began."""
        log = self.logs[partition]
        return log.readable(self.first_committed.get(partition, log.start), log.end)

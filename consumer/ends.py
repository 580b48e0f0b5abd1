"""Where the logs ended when a poll got there.

Offsets before an end may hold no readable record (transaction markers, compaction). Once everything
that was read of a partition is durable, its finished offset may step to the end, so that no lag stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from consumer.offsets import Ledger
from consumer.records import Record, TopicPartition, runs


class Ends:
    """The ends of the owned partitions, and up to where each was read."""

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, int] = {}
        self._ahead: dict[TopicPartition, int] = {}  # ends that the finished offset has still to reach
        self._read: dict[TopicPartition, int] = {}  # offset after the last record that was polled

    def note(self, records: Sequence[Record], ends: Mapping[TopicPartition, int]) -> None:
        """One poll: its records, and the ends that it reached."""
        for partition, _, end in runs(records):
            self._read[partition] = records[end - 1].offset + 1
        self._ends.update(ends)
        self._ahead.update(ends)

    def step_over(self, ledger: Ledger) -> None:
        """Where nothing that was read is unfinished, what lies before the end holds no readable record."""
        for partition in [tp for tp in self._ahead if self._all_finished(tp, ledger)]:
            ledger.step_to(partition, self._ahead.pop(partition))

    def reached(self, ledger: Ledger) -> bool:
        """Every owned partition is finished up to its end."""
        return all(
            self._ends.get(tp) == ledger.finished(tp) and self._all_finished(tp, ledger)
            for tp in ledger.partitions
        )

    def _all_finished(self, partition: TopicPartition, ledger: Ledger) -> bool:
        return ledger.finished(partition) >= self._read.get(partition, 0)

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            for table in (self._ends, self._ahead, self._read):
                table.pop(partition, None)

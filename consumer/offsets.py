"""What is finished and what is committed, per owned partition.

Receipts are retired first in, first out, so the finished offset is the next offset of the last
retired batch: no gaps to track, no acknowledgement per record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from consumer.records import Start, TopicPartition


class _Partition:
    """`finished`: everything readable below it is durable. `committed`: the broker said so (None: the
    group has no offset yet). `written`: (next offset, records) that are durable but not committed."""

    __slots__ = ("committed", "finished", "written")

    def __init__(self, start: Start) -> None:
        self.finished = start.offset
        self.committed = start.offset if start.committed else None
        self.written: deque[tuple[int, int]] = deque()

    @property
    def owes_commit(self) -> bool:
        return self.committed is None or self.finished > self.committed

    def forget_committed(self) -> int:
        """Drop what the committed offset covers; returns its records."""
        records = 0
        while self.written and self.committed is not None and self.written[0][0] <= self.committed:
            records += self.written.popleft()[1]
        return records


class Ledger:
    """The offsets of the owned partitions. A partition that is not owned is silently none of its
    business: answers to commits may arrive after the partition left."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._unstarted: set[TopicPartition] = set()
        self._uncommitted = 0

    @property
    def partitions(self) -> Collection[TopicPartition]:
        return self._partitions.keys()

    @property
    def uncommitted(self) -> int:
        """Records that are durable but not acknowledged as committed."""
        return self._uncommitted

    @property
    def unstarted(self) -> bool:
        """An owned partition has no committed offset yet: a crash now would forget where it began."""
        return bool(self._unstarted)

    def finished(self, partition: TopicPartition) -> int:
        return self._partitions[partition].finished

    def assign(self, starts: Mapping[TopicPartition, Start]) -> None:
        """Begin these partitions anew; nothing of a former assignment survives."""
        self.drop(starts.keys())
        for partition, start in starts.items():
            self._partitions[partition] = _Partition(start)
            if not start.committed:
                self._unstarted.add(partition)

    def drop(self, partitions: Collection[TopicPartition]) -> int:
        """Forget these partitions; returns the durable records that stay uncommitted."""
        records = 0
        self._unstarted.difference_update(partitions)
        for partition in partitions:
            state = self._partitions.pop(partition, None)
            records += sum(n for _, n in state.written) if state else 0
        self._uncommitted -= records
        return records

    def write(self, offsets: Mapping[TopicPartition, int], records: Mapping[TopicPartition, int]) -> None:
        """A batch is durable: these are its next offsets and how many records stand behind each.

        Raises ValueError for an offset that goes back: that would be a fault of the caller.
        """
        for partition, offset in offsets.items():
            state = self._partitions.get(partition)
            if state is None:
                continue
            if offset < state.finished:
                raise ValueError(f"{partition} would go back from offset {state.finished} to {offset}")
            state.finished = offset
            state.written.append((offset, records[partition]))
            self._uncommitted += records[partition]
            self._uncommitted -= state.forget_committed()

    def step_to(self, partition: TopicPartition, position: int) -> None:
        """Step over offsets that hold no readable record (transaction markers, compaction). The caller
        makes sure that nothing of the partition is under way. Never steps back."""
        state = self._partitions.get(partition)
        if state is not None and position > state.finished:
            state.finished = position

    def to_commit(self, partitions: Collection[TopicPartition] | None = None) -> dict[TopicPartition, int]:
        """The offsets worth committing: never one that the group is known to have passed."""
        wanted = self._partitions.keys() if partitions is None else self._partitions.keys() & set(partitions)
        return {tp: self._partitions[tp].finished for tp in wanted if self._partitions[tp].owes_commit}

    def acknowledge(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The broker has committed these. An answer beyond what is finished belongs to a log that was
        replaced meanwhile; taken for ours, nothing would be committed until we got that far again."""
        for partition, offset in offsets.items():
            state = self._partitions.get(partition)
            if state is None or offset > state.finished:
                continue
            state.committed = max(offset, state.committed or 0)
            self._unstarted.discard(partition)
            self._uncommitted -= state.forget_committed()

"""When a micro-batch closes. Pure: time is an argument, nothing waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from itertools import repeat

from consumer.records import ClosedBy, Entry, MicroBatch, TopicPartition
from consumer.settings import Batch


def _size(entry: Entry) -> int:
    return entry.record.size


class Batcher:
    """Holds polled entries in order and says when the oldest of them make a micro-batch.

    A batch closes on `count`, on `byte_size`, or on the age of its oldest entry: `max_wait`, or the
    much shorter `idle_wait` while the device has nothing to do. Age counts from the moment the poll
    that returned the entry was asked, so the wait inside that poll is part of it.
    """

    def __init__(self, policy: Batch) -> None:
        self._policy = policy
        self._entries: deque[Entry] = deque()
        self._asked: deque[float] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def room(self) -> int:
        """How many more entries are wanted: 0 once a full batch is waiting."""
        if self._bytes >= self._policy.byte_size:
            return 0
        return max(0, self._policy.count - len(self._entries))

    @property
    def overfull(self) -> bool:
        """A second batch is waiting behind a full one: time to pause the source."""
        return len(self._entries) >= 2 * self._policy.count or self._bytes >= 2 * self._policy.byte_size

    def holds(self, partition: TopicPartition) -> bool:
        return any(e.record.source == partition for e in self._entries)

    def add(self, entries: Sequence[Entry], asked_at: float) -> None:
        """Append what one poll returned; never refuses (a keep-alive poll may exceed the room)."""
        self._entries.extend(entries)
        self._asked.extend(repeat(asked_at, len(entries)))
        self._bytes += sum(map(_size, entries))

    def due(self, *, idle: bool) -> float | None:
        """The moment at which the oldest entry closes its batch by age; None when empty."""
        if not self._entries:
            return None
        return self._asked[0] + (self._policy.idle_wait if idle else self._policy.max_wait)

    def can_take(self, now: float, *, idle: bool) -> ClosedBy | None:
        """Why a batch may be taken now, or None."""
        if not self._entries:
            return None
        if len(self._entries) >= self._policy.count:
            return ClosedBy.COUNT
        if self._bytes >= self._policy.byte_size:
            return ClosedBy.BYTES
        asked_at = self._asked[0]
        if now >= asked_at + self._policy.max_wait:
            return ClosedBy.AGE
        if idle and now >= asked_at + self._policy.idle_wait:
            return ClosedBy.IDLE
        return None

    def take(self, closed_by: ClosedBy) -> MicroBatch:
        """Remove and return the oldest entries: at most `count`, at most `byte_size` but for one entry.

        Raises IndexError when empty.
        """
        asked_at = self._asked[0]
        if len(self._entries) <= self._policy.count and self._bytes <= self._policy.byte_size:
            whole, size = tuple(self._entries), self._bytes
            self.clear()
            return MicroBatch(whole, closed_by, asked_at, size)
        taken: list[Entry] = []
        size = 0
        while self._entries and len(taken) < self._policy.count:
            more = _size(self._entries[0])
            if taken and size + more > self._policy.byte_size:
                break
            taken.append(self._entries.popleft())
            self._asked.popleft()
            size += more
        self._bytes -= size
        return MicroBatch(tuple(taken), closed_by, asked_at, size)

    def drop(self, partitions: Collection[TopicPartition]) -> int:
        """Forget the entries of these partitions and only those; returns how many."""
        kept = [
            (e, a)
            for e, a in zip(self._entries, self._asked, strict=True)
            if e.record.source not in partitions
        ]
        dropped = len(self._entries) - len(kept)
        self._entries = deque(e for e, _ in kept)
        self._asked = deque(a for _, a in kept)
        self._bytes = sum(map(_size, self._entries))
        return dropped

    def clear(self) -> int:
        """Forget everything; returns how many entries that were."""
        dropped = len(self._entries)
        self._entries.clear()
        self._asked.clear()
        self._bytes = 0
        return dropped

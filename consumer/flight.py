"""Micro-batches between taken and durable: one, and the line of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from consumer.errors import Infrastructure
from consumer.ports import Pending, Receipt
from consumer.records import Entry, Event, MicroBatch, Output, Rejection, Score, TopicPartition, runs
from consumer.settings import Settings


class Settled:
    """A Pending and a Receipt that never had anything to wait for. `verdicts`: what the Pending answers."""

    def __init__(self, verdicts: Sequence[Score | Rejection] = ()) -> None:
        self._verdicts = verdicts

    def done(self) -> bool:
        return True

    def wait(self, deadline: float) -> bool:  # noqa: ARG002 - the Protocol's signature
        return True

    def result(self) -> Sequence[Score | Rejection]:
        return self._verdicts

    def failure(self) -> None:
        return None

    def offsets(self) -> Mapping[TopicPartition, int]:
        return {}

    def committed(self) -> bool:
        return False


class Flight:
    """What the loop knows about a batch under way: `outputs` once scored, `receipt` once sent.

    A struck partition disappears from `next_offsets`, `records` and `outputs`: it is neither published
    from here on nor written to the ledger, whatever becomes of that partition later.
    """

    __slots__ = (
        "batch",
        "launched_at",
        "next_offsets",
        "outputs",
        "pending",
        "receipt",
        "records",
        "sent_at",
        "size",
    )

    def __init__(self, batch: MicroBatch, pending: Pending, launched_at: float) -> None:
        self.batch = batch
        self.pending = pending
        self.launched_at = launched_at
        self.outputs: Sequence[Output] | None = None
        self.receipt: Receipt | None = None
        self.sent_at = 0.0
        self.next_offsets, self.records = _tally(batch.entries)
        self.size = batch.size  # bytes, which strikes do not free

    def __len__(self) -> int:
        """Records that still count."""
        return sum(self.records.values())

    def strike(self, partitions: Collection[TopicPartition]) -> int:
        """Forget these partitions; returns how many records that were."""
        struck = 0
        for partition in partitions:
            self.next_offsets.pop(partition, None)
            struck += self.records.pop(partition, 0)
        if struck and self.outputs is not None:
            self.outputs = self._surviving(self.outputs)
        return struck

    def judge(self) -> Sequence[Output]:
        """Join the verdicts with what needed none, in arrival order. Raises what the scorer raised."""
        verdicts = iter(self.pending.result())
        outputs = [
            Output(entry, next(verdicts) if isinstance(entry.decoded, Event) else entry.decoded)
            for entry in self.batch.entries
        ]
        self.outputs = self._surviving(outputs) if len(self) < len(outputs) else outputs
        return self.outputs

    def _surviving(self, outputs: Sequence[Output]) -> Sequence[Output]:
        return [o for o in outputs if o.entry.record.source in self.next_offsets]

    @property
    def waits_for(self) -> Pending | Receipt | None:
        """What has to be done before this batch can get on; None when only the loop itself has to act."""
        if self.outputs is None:
            return self.pending
        return None if self.receipt is None or self.receipt.done() else self.receipt

    def durable_offsets(self) -> dict[TopicPartition, int]:
        """What the receipt allows to commit, of the partitions that still count."""
        assert self.receipt is not None
        return {tp: offset for tp, offset in self.receipt.offsets().items() if tp in self.next_offsets}


class Flights:
    """The batches under way, oldest first: launched, sent and retired in this order."""

    def __init__(self) -> None:
        self._line: deque[Flight] = deque()

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[Flight]:
        return iter(self._line)

    def launch(self, flight: Flight) -> None:
        self._line.append(flight)

    def retire(self) -> None:
        """The oldest batch is durable."""
        self._line.popleft()

    @property
    def records(self) -> int:
        """Records that still count. Any thread may ask."""
        return sum(len(f) for f in tuple(self._line))

    @property
    def sent(self) -> list[Flight]:
        return [f for f in self._line if f.receipt is not None]

    @property
    def unsent(self) -> int:
        """Batches that the sink does not have."""
        return sum(f.receipt is None for f in self._line)

    @property
    def idle(self) -> bool:
        """The device has nothing to do."""
        return all(f.outputs is not None for f in self._line)

    def holds(self, partitions: Collection[TopicPartition]) -> bool:
        return any(tp in f.next_offsets for f in self._line for tp in partitions)

    def strike(self, partitions: Collection[TopicPartition]) -> int:
        """Forget these partitions; returns how many records that were."""
        return sum(f.strike(partitions) for f in self._line)

    def failure(self) -> Infrastructure | None:
        """Why the oldest batch could not be published; it and all behind it have to be sent again."""
        receipt = self._line[0].receipt if self._line else None
        return receipt.failure() if receipt is not None and receipt.done() else None

    def wait(self, deadline: float) -> bool:
        """Block until something that is under way gets on, at the latest until `deadline`: the device
        first, because what it finishes can be sent while older batches await their acknowledgements.
        False, at once, when nothing waits for anything but the loop itself."""
        # Asked once each: asking serves delivery reports, so the answer may be another one the next time.
        awaited = [waits_for for f in self._line if (waits_for := f.waits_for) is not None]
        unscored = [f.pending for f in self._line if f.outputs is None]
        for first in (*unscored, *awaited)[:1]:
            first.wait(deadline)
        return bool(awaited)


class Room:
    """How much may be under way: `pipeline.depth` batches from taken to durable. With transactions only
    from taken to sent, because many batches share one; and what is sent is bounded by
    `transaction.max_records` and `transaction.max_bytes`."""

    def __init__(self, settings: Settings) -> None:
        self._depth = settings.pipeline.depth
        self._exactly_once = settings.exactly_once
        self._most_sent = settings.transaction.max_records
        self._most_bytes = settings.transaction.max_bytes

    def left(self, flights: Flights) -> bool:
        """Whether one more batch may be launched."""
        if not self._exactly_once:
            return len(flights) < self._depth
        if sum(flight.size for flight in flights.sent) >= self._most_bytes:
            return False
        return flights.unsent < self._depth and sum(map(len, flights.sent)) < self._most_sent


def _tally(entries: Sequence[Entry]) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Next offset and number of records per partition. Offsets rise within a partition, with gaps."""
    next_offsets: dict[TopicPartition, int] = {}
    counts: dict[TopicPartition, int] = {}
    records = [entry.record for entry in entries]
    for partition, first, end in runs(records):
        next_offsets[partition] = records[end - 1].offset + 1
        counts[partition] = counts.get(partition, 0) + end - first
    return next_offsets, counts

"""One micro-batch between taken and durable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from consumer.ports import Pending, Receipt
from consumer.records import Entry, Event, MicroBatch, Output, Rejection, Score, TopicPartition


class Settled:
    """A Pending and a Receipt that never had anything to wait for."""

    def done(self) -> bool:
        return True

    def wait(self, deadline: float) -> bool:  # noqa: ARG002 - the Protocol's signature
        return True

    def result(self) -> Sequence[Score | Rejection]:
        return ()

    def failure(self) -> None:
        return None

    def offsets(self) -> Mapping[TopicPartition, int]:
        return {}


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
    )

    def __init__(self, batch: MicroBatch, pending: Pending, launched_at: float) -> None:
        self.batch = batch
        self.pending = pending
        self.launched_at = launched_at
        self.outputs: Sequence[Output] | None = None
        self.receipt: Receipt | None = None
        self.sent_at = 0.0
        self.next_offsets, self.records = _tally(batch.entries)

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

    def durable_offsets(self) -> dict[TopicPartition, int]:
        """What the receipt allows to commit, of the partitions that still count."""
        assert self.receipt is not None
        return {tp: offset for tp, offset in self.receipt.offsets().items() if tp in self.next_offsets}


def _tally(entries: Sequence[Entry]) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Next offset and number of records per partition. Offsets rise within a partition, with gaps."""
    next_offsets: dict[TopicPartition, int] = {}
    records: dict[TopicPartition, int] = {}
    for entry in entries:
        partition = entry.record.source
        next_offsets[partition] = entry.record.offset + 1
        records[partition] = records.get(partition, 0) + 1
    return next_offsets, records

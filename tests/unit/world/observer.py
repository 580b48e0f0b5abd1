"""What the loop says about itself, written to the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from consumer.ports import Observer
from consumer.records import MicroBatch, Output, Position, TopicPartition

from .journal import Journal


class FakeObserver(Observer):
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.last_positions: Mapping[TopicPartition, Position] = {}
        self.troubles: dict[str, str] = {}

    def stepped(self, now: float) -> None:
        self.steps += 1

    def launched(self, batch: MicroBatch, now: float) -> None:
        self._journal.note("launched", len(batch.entries), batch.closed_by)

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        self.counts["published"] += len(outputs)
        self._journal.note("published", len(outputs))

    def send_failed(self, records: int, why: str) -> None:
        self._tell("send_failed", records, why)

    def rebalanced(self, kind: str, partitions: Collection[TopicPartition]) -> None:
        self._tell("rebalanced", kind, *partitions)

    def given_up(self, partitions: Collection[TopicPartition], records: int) -> None:
        self._tell("given_up", records)

    def commit_refused(self, partitions: int, why: str) -> None:
        self._tell("commit_refused", partitions, why)

    def positions(self, positions: Mapping[TopicPartition, Position], now: float) -> None:
        self.last_positions = positions

    def trouble(self, what: str, why: str | None) -> None:
        if why is None:
            self.troubles.pop(what, None)
        else:
            self.troubles[what] = why

    def _tell(self, what: str, *detail: object) -> None:
        self.counts[what] += 1
        self._journal.note(what, *detail)

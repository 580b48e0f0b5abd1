"""How what is finished becomes what is committed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from consumer.flight import Flights
from consumer.offsets import Ledger
from consumer.pacing import CommitPace
from consumer.ports import Clock, Observer, Source
from consumer.records import TopicPartition
from consumer.settings import Settings

_LAST_COMMIT, _RETRY_COMMIT = 5.0, 0.1


class Commits:
    """Commits what the ledger calls finished and tells it what the broker acknowledged, nothing else."""

    def __init__(
        self, settings: Settings, ledger: Ledger, flights: Flights, source: Source, observer: Observer
    ) -> None:
        self._ledger, self._flights, self._source, self._observer = ledger, flights, source, observer
        self._most = settings.commit.max_uncommitted
        self._exactly_once = settings.exactly_once
        self._pace = CommitPace(settings.commit)

    @property
    def behind(self) -> bool:
        """Commits must be acknowledged before more is launched: the first one of a partition, so that a
        crash cannot forget where it began, and those that bound the number of duplicates. With
        transactions each one: it must not reach the broker after theirs and set the group back."""
        if self._exactly_once and self._pace.outstanding:
            return True
        return self._ledger.unstarted or self._ledger.uncommitted > self._most

    def start(self, now: float) -> None:
        """Start an asynchronous commit when one is due; one is outstanding at most."""
        if self._pace.unanswered(now):
            self.refused((), "no answer")
        if not self._pace.due(now, self._ledger.uncommitted):
            return
        if offsets := self._owed():
            self._pace.asked(now)
            self._source.commit(offsets)

    def _owed(self, partitions: Collection[TopicPartition] | None = None) -> dict[TopicPartition, int]:
        """What the ledger would commit. With transactions not of a partition that has records under way:
        the transaction that ends them commits beyond that."""
        offsets = self._ledger.to_commit(partitions)
        if not self._exactly_once:
            return offsets
        return {tp: offset for tp, offset in offsets.items() if not self._flights.holds((tp,))}

    def finish(self, partitions: Collection[TopicPartition], clock: Clock) -> bool:
        """Commit what is finished of these and wait for the broker, without a limit in time; returns
        whether it accepted all."""
        offsets = self._owed(partitions)
        if not offsets:
            return True
        self._observer.entered_call("commit", clock.now())
        accepted = self._source.commit_now(offsets)
        self._observer.left_call(clock.now())
        self._ledger.acknowledge(accepted)
        if accepted:
            self._observer.committed(len(accepted))
        if len(accepted) < len(offsets):
            self._observer.commit_refused(len(offsets) - len(accepted), "the group moved on")
        return len(accepted) == len(offsets)

    def finish_all(self, clock: Clock, deadline: float) -> None:
        """Commit everything that is finished before leaving. Replicas that stop together start rebalances
        for one another, and a commit that crosses one is refused although the partitions are still ours:
        try again for a few seconds, until `deadline` at the latest."""
        deadline = min(deadline, clock.now() + _LAST_COMMIT)
        while not self.finish(self._ledger.partitions, clock) and clock.now() < deadline:
            clock.sleep(_RETRY_COMMIT)

    def accepted(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The outstanding commit was acknowledged."""
        self._pace.answered(accepted=True)
        self._ledger.acknowledge(offsets)
        self._observer.committed(len(offsets))

    def refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        """The outstanding commit was refused: the offsets stay, the next commit has them again."""
        self._pace.answered(accepted=False)
        self._observer.commit_refused(len(partitions), why)

    def hurry(self) -> None:
        """Something was assigned: its first offset may have to be told."""
        self._pace.hurry()

"""One member of the group, as the loop sees it. Callbacks run inside poll, as in the real client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from consumer.ports import Listener, Polled
from consumer.records import Record, TopicPartition

from .broker import Broker
from .clock import FakeClock
from .device import NEVER
from .journal import Journal, Violation

Rebalance = tuple[str, Collection[TopicPartition]]  # assigned | revoked | lost | elsewhere


class CommitFate(NamedTuple):
    """What becomes of a commit: when the broker gets it, whether it takes it, when the answer is there.
    One that arrives NEVER was refused by the client itself, at once, unless the answer comes NEVER."""

    arrives: float = 0.01
    accepted: bool = True
    answered: float = 0.01


class FakeSource:
    """A Source over the brokers' truth.

    `rebalances`: groups of callbacks; one group runs inside each poll. `chunk(n)`: how many of at most
    n records a poll returns. `leak()`: whether a record comes out although everything is paused.
    `commit_fate()` and `commit_now_fate()` say what becomes of commits.
    """

    def __init__(self, clock: FakeClock, journal: Journal, broker: Broker) -> None:
        self.clock, self.journal, self.broker = clock, journal, broker
        self.rebalances: deque[Sequence[Rebalance]] = deque()
        self.positions: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, int] = {}
        self.epochs: dict[TopicPartition, int] = {}
        self.paused = False
        self.max_poll_interval = NEVER
        self.chunk: Callable[[int], int] = lambda limit: limit
        self.leak: Callable[[], bool] = lambda: False
        self.end_is_told: Callable[[], bool] = lambda: True
        self.commit_fate: Callable[[], CommitFate] = CommitFate
        self.commit_now_fate: Callable[[], CommitFate] = CommitFate
        self.elsewhere: Callable[[Collection[TopicPartition]], None] = lambda partitions: None
        self.on_call: Callable[[str], None] = lambda name: None
        self.alive = True
        self.refusals = 0  # commits that were waited for and not accepted
        self._losing = False
        self._generation = -1
        self._told_ends: dict[TopicPartition, int] = {}
        self._answers: deque[tuple[float, bool, dict[TopicPartition, int]]] = deque()
        self._outstanding = False
        self._listener: Listener | None = None
        self._polled_at = clock.now()

    # ---------------------------------------------------------------- the Source

    def subscribe(self, listener: Listener) -> None:
        self._listener = listener

    def poll(self, timeout: float, limit: int) -> Polled:
        self.on_call("poll")
        if limit < 1 or timeout < 0:
            raise Violation(f"poll({timeout}, {limit})")
        if self.clock.now() - self._polled_at > self.max_poll_interval:
            raise Violation(f"I15: not polled for {self.clock.now() - self._polled_at:.1f} s")
        moved = self._callbacks()
        records = self._fetch(limit)
        if not records and not moved and timeout > 0:
            self.clock.advance(timeout)
            self._callbacks()
            records = self._fetch(limit)
        self._polled_at = self.clock.now()
        ends = {} if self.paused else self._ends()
        self.journal.idle_polls += not records
        self.journal.note("polled", len(records), timeout, limit, "paused" if self.paused else "")
        return Polled(records, ends)

    def pause(self) -> None:
        self.journal.note("pause")
        self.paused = True

    def resume(self) -> None:
        self.journal.note("resume")
        self.paused = False

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.on_call("commit")
        self._check_commit(offsets)
        if self._outstanding:
            raise Violation("a second commit while one is outstanding")
        fate = self.commit_fate()
        self._outstanding = NEVER not in (fate.arrives, fate.answered)
        self.journal.note("commit", dict(offsets), fate)
        self._schedule(dict(offsets), fate)
        if fate.arrives == NEVER != fate.answered:
            assert self._listener is not None
            self._listener.on_commit_refused(tuple(offsets), "_STATE")

    def _schedule(self, offsets: dict[TopicPartition, int], fate: CommitFate) -> None:
        asked_in = self._generation

        def arrive() -> None:
            accepted = fate.accepted and asked_in == self.broker.generation
            if accepted:
                self.broker.commit(offsets)
            if fate.answered != NEVER and self.alive:
                self._answers.append((self.clock.now() + fate.answered, accepted, offsets))

        if fate.arrives != NEVER:
            self.clock.at(self.clock.now() + fate.arrives, arrive)

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.on_call("commit_now")
        self._check_commit(offsets)
        fate = self.commit_now_fate()
        self.journal.note("commit_now", dict(offsets), fate)
        self.clock.advance(fate.arrives)
        if not fate.accepted or self._generation != self.broker.generation:
            self.refusals += 1
            return {}
        self.broker.commit(offsets)
        self.on_call("committed")
        self.clock.advance(fate.answered)
        return dict(offsets)

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return {tp: self.broker.logs[tp].end for tp in self.positions}

    def close(self) -> None:
        self.on_call("close")
        self.journal.note("close")
        if self._listener is not None:
            self._listener.on_revoked(tuple(self.positions))
        self._leave(tuple(self.positions))
        self.broker.generation += 1

    # ---------------------------------------------------------------- inside poll

    def _check_commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self._losing:
            raise Violation("I11: a commit of what was lost")
        foreign = offsets.keys() - self.positions.keys()
        if foreign:
            raise Violation(f"commit of partitions that are not ours: {foreign}")
        self.broker.check_commit(offsets, self.starts)

    def _callbacks(self) -> bool:
        answered = self._tell_answers()
        if not self.rebalances:
            return answered
        for kind, partitions in self.rebalances.popleft():
            getattr(self, f"_{kind}")(partitions)
        self._generation = self.broker.generation
        return True

    def _tell_answers(self) -> bool:
        assert self._listener is not None
        told = False
        while self._answers and self._answers[0][0] <= self.clock.now():
            _, accepted, offsets = self._answers.popleft()
            self._outstanding = False
            told = True
            if accepted:
                self.journal.note("on_committed")
                self._listener.on_committed(offsets)
            else:
                self.journal.note("on_refused")
                self._listener.on_commit_refused(tuple(offsets), "ILLEGAL_GENERATION")
        return told

    @property
    def is_current(self) -> bool:
        """The group has not moved on without us."""
        return self._generation == self.broker.generation

    def _assigned(self, partitions: Collection[TopicPartition]) -> None:
        # The coordinator does not tell offsets while a transaction that holds some is undecided.
        self.clock.wait(lambda: self.broker.pending.isdisjoint(partitions), NEVER)
        starts = {tp: self.broker.start_of(tp) for tp in partitions}
        for tp, start in starts.items():
            self.broker.epochs[tp] += 1
            self.epochs[tp] = self.broker.epochs[tp]
            self.positions[tp] = self.starts[tp] = start.offset
        self.journal.note("assigned", starts)
        assert self._listener is not None
        self._listener.on_assigned(starts)

    def _revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.journal.note("revoking", *partitions)
        assert self._listener is not None
        self._listener.on_revoked(partitions)
        self._leave(partitions)
        self.broker.generation += 1

    def _lost(self, partitions: Collection[TopicPartition]) -> None:
        self.journal.note("lost", *partitions)
        assert self._listener is not None
        self._losing = True
        self._listener.on_lost(partitions)
        self._losing = False
        self._leave(partitions)

    def _elsewhere(self, partitions: Collection[TopicPartition]) -> None:
        self.elsewhere(partitions)

    def _leave(self, partitions: Collection[TopicPartition]) -> None:
        for tp in partitions:
            del self.positions[tp], self.epochs[tp]
            self._told_ends.pop(tp, None)

    # ---------------------------------------------------------------- records

    def _fetch(self, limit: int) -> list[Record]:
        if self.paused:
            limit = 1 if self.leak() else 0
        records: list[Record] = []
        for tp in list(self.positions):
            wanted = self.chunk(limit - len(records)) if limit > len(records) else 0
            log, epoch = self.broker.logs[tp], self.epochs[tp]
            while wanted > 0 and (offset := log.next_from(self.positions[tp])) is not None:
                truth = log.records[offset]
                records.append(Record(*tp, offset, truth.value, truth.key, timestamp=epoch))
                self.positions[tp] = offset + 1
                wanted -= 1
        return records

    def _ends(self) -> dict[TopicPartition, int]:
        """Each end is told once, with the position there, which steps over trailing markers."""
        ends = {}
        for tp, position in self.positions.items():
            log = self.broker.logs[tp]
            if self._told_ends.get(tp) == log.end or log.next_from(position) is not None:
                continue
            if self.end_is_told():
                self.positions[tp] = self._told_ends[tp] = ends[tp] = log.end
        return ends

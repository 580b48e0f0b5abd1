"""A transactional producer, as the loop sees it: results and offsets become visible together or never."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from consumer.errors import Infrastructure
from consumer.records import Output, TopicPartition
from consumer.settings import Transaction

from .broker import Broker
from .clock import FakeClock
from .journal import Journal, Violation
from .source import FakeSource

_NAP = 0.01


class CommitCallFate(NamedTuple):
    """What becomes of a call that ends a transaction: how long it blocks, whether the coordinator aborts
    instead, and for how long after it nobody knows that the transaction was committed."""

    seconds: float = 0.01
    aborted: bool = False
    unknown: float = 0.0


class _Batch:
    def __init__(
        self, sink: FakeTransactions, outputs: Sequence[Output], offsets: Mapping[TopicPartition, int]
    ):
        self.outputs = outputs
        self.next_offsets = dict(offsets)
        self.ended = False
        self.why: Infrastructure | None = None
        self._sink = sink

    def done(self) -> bool:
        return self.ended

    def wait(self, deadline: float) -> bool:
        clock = self._sink.clock
        while not self.ended and clock.now() < deadline:
            self._sink.step(clock.now())
            if not self.ended:
                clock.advance(min(_NAP, max(0.0, deadline - clock.now())))
        return self.ended

    def failure(self) -> Infrastructure | None:
        return self.why

    def offsets(self) -> Mapping[TopicPartition, int]:
        if self.why is not None:
            raise Violation("offsets of an aborted transaction were asked for")
        return self.next_offsets

    def committed(self) -> bool:
        return True

    def end(self, why: str | None) -> None:
        self.ended, self.why = True, None if why is None else Infrastructure(why)


class FakeTransactions:
    """A Sink that commits what it was sent by itself. `fate()` is asked for each commit; `sending` is told
    of every output the moment it is sent."""

    def __init__(
        self, source: FakeSource, clock: FakeClock, journal: Journal, broker: Broker, policy: Transaction
    ) -> None:
        self.clock, self.journal, self.broker, self.source = clock, journal, broker, source
        self.fate: Callable[[], CommitCallFate] = CommitCallFate
        self.rng = random.Random(0)
        self.sending: Callable[[Output], None] = lambda output: None
        self.on_call: Callable[[str], None] = lambda name: None
        self.alive = True
        self._policy = policy
        self._inside: list[_Batch] = []
        self._waiting: list[_Batch] = []
        self._began_at: float | None = None
        self._outdated = False  # what waits has to fail, once the open one has ended
        self._known_at: float | None = None  # when it will be known that the open one was committed

    # ---------------------------------------------------------------- the Sink

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> _Batch:
        self.on_call("send")
        for output in outputs:
            record = output.entry.record
            if self.source.epochs.get(record.source) != record.timestamp:
                raise Violation(f"sent although struck: {record.source} at {record.offset}")
            self.broker.check_output(output)
            self.sending(output)
        batch = _Batch(self, outputs, next_offsets)
        self._waiting.append(batch)
        self.journal.note("sent", *[(o.entry.record.partition, o.entry.record.offset) for o in outputs])
        self._fill()
        self.on_call("sent")
        return batch

    def step(self, now: float) -> None:
        if self._inside and self._is_due(now):
            self._commit()
        self._fill()

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        if self._known_at is None and _any_holds(self._inside, partitions):
            self._abort("struck")
        elif _any_holds(self._waiting, partitions):
            self._outdated = True

    def settle(self, deadline: float) -> None:
        while (self._inside or self._waiting) and self.clock.now() < deadline:
            self._began_at = float("-inf")
            self.step(self.clock.now())
            if self._known_at is not None:
                self.clock.advance(_NAP)

    def close(self, deadline: float) -> None:
        if self._inside and self._known_at is None:
            self._abort("closed")

    def die(self) -> None:
        """The process is gone: the brokers abort what nobody had asked them to commit."""
        self.alive = False
        if self._inside and self._known_at is None and self.rng.random() < 0.3 and self.source.is_current:
            self._publish(self._inside, _last(self._inside), self.source.starts)

    # ---------------------------------------------------------------- the open transaction

    def _is_due(self, now: float) -> bool:
        full = sum(len(batch.outputs) for batch in self._inside) >= self._policy.max_records
        large = sum(o.entry.record.size for b in self._inside for o in b.outputs) >= self._policy.max_bytes
        return full or large or (self._began_at is not None and now - self._began_at >= self._policy.max_time)

    def _fill(self) -> None:
        if self._known_at is None and self._waiting:
            self._began_at = self.clock.now() if self._began_at is None else self._began_at
            self._inside += self._waiting
            self._waiting = []

    def _commit(self) -> None:
        if self._known_at is not None:
            if self.clock.now() >= self._known_at:
                self._ended()
            return
        self.on_call("end")
        fate = self.fate()
        self.journal.note("ending", fate)
        self.clock.advance(fate.seconds)
        if fate.aborted or not self.source.is_current:
            self._abort("by the coordinator")
            return
        offsets = _last(self._inside)
        self._known_at = self.clock.now() + fate.unknown
        self.broker.pending.update(offsets)
        batches, starts = list(self._inside), dict(self.source.starts)
        moment = self.clock.now() + fate.unknown / 2
        self.clock.at(moment, lambda: self._publish(batches, offsets, starts))
        self.clock.advance(0.0)
        if not fate.unknown:
            self.on_call("ended")
            self._ended()

    def _publish(
        self,
        batches: Sequence[_Batch],
        offsets: Mapping[TopicPartition, int],
        starts: Mapping[TopicPartition, int],
    ) -> None:
        """All at once."""
        for record in (output.entry.record for batch in batches for output in batch.outputs):
            self.broker.append(record, record.timestamp)
            self.broker.acknowledge(record.source, record.offset)
        self.broker.check_commit(offsets, starts)
        self.broker.commit(offsets)
        self.broker.pending.difference_update(offsets)

    def _abort(self, why: str) -> None:
        self.journal.note("aborted", why)
        self._fail(self._inside, why)
        self._fail(self._waiting, why)
        self._began_at, self._outdated = None, False

    def _fail(self, batches: list[_Batch], why: str) -> None:
        for batch in batches:
            batch.end(why)
        batches.clear()

    def _ended(self) -> None:
        for batch in self._inside:
            batch.end(None)
        if self._outdated:
            self._fail(self._waiting, "struck")
        self._inside, self._outdated = [], False
        self._began_at = self._known_at = None


def _any_holds(batches: Iterable[_Batch], partitions: Collection[TopicPartition]) -> bool:
    return any(tp in batch.next_offsets for batch in batches for tp in partitions)


def _last(batches: Iterable[_Batch]) -> dict[TopicPartition, int]:
    return {tp: offset for batch in batches for tp, offset in batch.next_offsets.items()}

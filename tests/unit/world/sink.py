"""An idempotent producer with acks=all, as the loop sees it."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from consumer.errors import Infrastructure
from consumer.records import Output, TopicPartition

from .broker import Broker, queue_of
from .clock import FakeClock
from .journal import Journal, Violation
from .source import FakeSource


class SendFate(NamedTuple):
    """What becomes of a sent batch: when the broker appends it, when the answer comes, what fails.

    `unwritten` and `unanswered`: the share of its records that are not appended, and that are appended
    while the producer is told otherwise; any of both makes the batch fail.
    """

    appends: float = 0.002
    answers: float = 0.002
    unwritten: float = 0.0
    unanswered: float = 0.0


class _Batch:
    def __init__(self, sink: FakeSink, outputs: Sequence[Output], offsets: Mapping[TopicPartition, int]):
        self.sink = sink
        self.outputs = outputs
        self.next_offsets = dict(offsets)
        self.waiting = True  # not appended yet
        self.answered = False
        self.failed = False
        self.acknowledged: list[Output] = []

    def done(self) -> bool:
        return self.answered

    def wait(self, deadline: float) -> bool:
        return self.sink.clock.wait(self.done, deadline)

    def failure(self) -> Infrastructure | None:
        return Infrastructure("_MSG_TIMED_OUT") if self.failed else None

    def offsets(self) -> Mapping[TopicPartition, int]:
        if self.failed:
            raise Violation("offsets of a batch that failed were asked for")
        return self.next_offsets

    def committed(self) -> bool:
        return False


class FakeSink:
    """A Sink that appends to the brokers' output logs, in order per queue, and answers later.

    `fate()` is asked for each batch. `sending` is told of every output the moment it is sent.
    """

    def __init__(self, clock: FakeClock, journal: Journal, broker: Broker, source: FakeSource) -> None:
        self.clock, self.journal, self.broker, self.source = clock, journal, broker, source
        self.fate: Callable[[], SendFate] = SendFate
        self.rng = random.Random(0)
        self.sending: Callable[[Output], None] = lambda output: None
        self.on_call: Callable[[str], None] = lambda name: None
        self.alive = True
        self._outstanding: list[_Batch] = []
        self._appends_at = 0.0

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> _Batch:
        self.on_call("send")
        if not outputs:
            raise Violation("nothing was sent")
        for output in outputs:
            self._check(output)
            self.sending(output)
        fate = self.fate()
        batch = _Batch(self, outputs, next_offsets)
        self._outstanding.append(batch)
        self._appends_at = max(self._appends_at, self.clock.now() + fate.appends)
        self.clock.at(self._appends_at, lambda: self._append(batch, fate))
        self.clock.at(self._appends_at + fate.answers, lambda: self._answer(batch))
        self.journal.note("sent", *[(o.entry.record.partition, o.entry.record.offset) for o in outputs])
        self.on_call("sent")
        return batch

    def step(self, now: float) -> None:
        return

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        return

    def settle(self, deadline: float) -> None:
        self.clock.wait(lambda: not self._outstanding, deadline)

    def close(self, deadline: float) -> None:
        self.settle(deadline)

    def die(self) -> None:
        """The process is gone: of what was not appended yet, each queue keeps what left the socket."""
        self.alive = False
        for queue in {queue_of(o.entry.record) for b in self._outstanding for o in b.outputs}:
            waiting = [
                o
                for b in self._outstanding
                if b.waiting
                for o in b.outputs
                if queue_of(o.entry.record) == queue
            ]
            for output in waiting[: self.rng.randint(0, len(waiting))]:
                self._write(output)

    def _check(self, output: Output) -> None:
        record = output.entry.record
        if self.source.epochs.get(record.source) != record.timestamp:
            raise Violation(f"sent although struck: {record.source} at {record.offset}")
        self.broker.check_output(output)

    def _append(self, batch: _Batch, fate: SendFate) -> None:
        if not self.alive:
            return
        batch.waiting = False
        for output in batch.outputs:
            luck = self.rng.random() if fate.unwritten or fate.unanswered else 1.0
            if luck >= fate.unwritten:
                self._write(output)
            if luck >= fate.unwritten + fate.unanswered:
                batch.acknowledged.append(output)
        batch.failed = len(batch.acknowledged) < len(batch.outputs)

    def _write(self, output: Output) -> None:
        self.broker.append(output.entry.record, output.entry.record.timestamp)

    def _answer(self, batch: _Batch) -> None:
        if not self.alive:
            return
        for output in batch.acknowledged:
            self.broker.acknowledge(output.entry.record.source, output.entry.record.offset)
        batch.answered = True
        self._outstanding.remove(batch)
        self.journal.note("failed" if batch.failed else "acknowledged", len(batch.outputs))

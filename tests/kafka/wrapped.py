"""The pipeline's ports, wrapped: they tell the event log what passes, and the failpoint where they are.

What is wrapped is the real thing; nothing of its behaviour changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from consumer.errors import Infrastructure
from consumer.ports import (
    Listener,
    ModelInfo,
    Observer,
    Pending,
    Polled,
    Receipt,
    Scorer,
    ScorerStats,
    Sink,
    Source,
)
from consumer.records import Event, MicroBatch, Output, Record, Rejection, Score, Start, TopicPartition
from tests.kafka.eventlog import EventLog, by_partition
from tests.kafka.failpoint import ON_ITS_WAY, Boundary, Failpoint
from tests.kafka.history import Action


class LoggedSource(Source):
    """A source that tells what it was given and asked."""

    def __init__(self, inner: Source, log: EventLog, failpoint: Failpoint) -> None:
        self._inner, self._log, self._failpoint = inner, log, failpoint
        self.refused = 0  # partitions, by the last commit that was waited for

    def subscribe(self, listener: Listener) -> None:
        self._inner.subscribe(_LoggedListener(listener, self, self._log))

    def poll(self, timeout: float, limit: int) -> Polled:
        polled = self._inner.poll(timeout, limit)
        if polled.records:
            self._log.write(Action.POLLED, *_ranges(polled.records))
            self._failpoint.passed(Boundary.AFTER_POLL)
        return polled

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._failpoint.passed(Boundary.BEFORE_COMMIT)
        self._log.write(Action.ASKED, by_partition(offsets))
        self._inner.commit(offsets)

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self._failpoint.passed(Boundary.BEFORE_COMMIT)
        self._log.write(Action.ASKED, by_partition(offsets))
        accepted = self._inner.commit_now(offsets)
        self.refused = len(offsets) - len(accepted)
        self._log.write(Action.COMMITTED, by_partition(accepted))
        return accepted

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return self._inner.log_ends()

    def close(self) -> None:
        self._inner.close()


class _LoggedListener(Listener):
    """Writes down when ownership begins before the pipeline hears of it, and when it ends after."""

    def __init__(self, inner: Listener, source: LoggedSource, log: EventLog) -> None:
        self._inner, self._source, self._log = inner, source, log

    def on_assigned(self, starts: Mapping[TopicPartition, Start]) -> None:
        self._log.write(Action.ASSIGNED, {tp.partition: s.offset for tp, s in starts.items()})
        self._inner.on_assigned(starts)

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self._source.refused = 0
        self._inner.on_revoked(partitions)
        if self._source.refused:  # the next owner repeats what was finished
            self._log.write(Action.GIVEN_UP, {tp.partition: 0 for tp in partitions})
        self._log.write(Action.REVOKED, {tp.partition: 0 for tp in partitions})

    def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        self._inner.on_lost(partitions)
        self._log.write(Action.LOST, {tp.partition: 0 for tp in partitions})

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._log.write(Action.COMMITTED, by_partition(offsets))
        self._inner.on_committed(offsets)

    def on_commit_refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        self._log.write(Action.REFUSED, {tp.partition: 0 for tp in partitions})
        self._inner.on_commit_refused(partitions, why)


class LoggedObserver(Observer):
    """What only the pipeline knows: batches under way, and two events that cause duplicates."""

    def __init__(self, log: EventLog, failpoint: Failpoint) -> None:
        self._log, self._failpoint = log, failpoint

    def launched(self, batch: MicroBatch, now: float) -> None:
        self._failpoint.in_flight += 1

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        self._failpoint.in_flight -= 1

    def send_failed(self, records: int, why: str) -> None:
        self._log.write(Action.SEND_FAILED, counts={0: records})

    def given_up(self, partitions: Collection[TopicPartition], records: int) -> None:
        self._log.write(Action.GIVEN_UP, {tp.partition: 0 for tp in partitions}, counts={0: records})


class WatchedScorer(Scorer):
    """Passes the boundary once a batch is scored."""

    def __init__(self, inner: Scorer, failpoint: Failpoint) -> None:
        self._inner, self._failpoint = inner, failpoint

    @property
    def model(self) -> ModelInfo:
        return self._inner.model

    def submit(self, events: Sequence[Event]) -> Pending:
        return _WatchedPending(self._inner.submit(events), self._failpoint)

    def stats(self) -> ScorerStats:
        return self._inner.stats()

    def self_test(self) -> bool:
        return self._inner.self_test()

    def close(self) -> None:
        self._inner.close()


class _WatchedPending(Pending):
    def __init__(self, inner: Pending, failpoint: Failpoint) -> None:
        self._inner, self._failpoint = inner, failpoint

    def done(self) -> bool:
        return self._inner.done()

    def wait(self, deadline: float) -> bool:
        return self._inner.wait(deadline)

    def result(self) -> Sequence[Score | Rejection]:
        result = self._inner.result()
        self._failpoint.passed(Boundary.AFTER_SCORE)
        return result


class WatchedSink(Sink):
    """Passes one boundary when a batch was handed to the producer, one when it is acknowledged."""

    def __init__(self, inner: Sink, failpoint: Failpoint) -> None:
        self._inner, self._failpoint = inner, failpoint

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> Receipt:
        receipt = self._inner.send(outputs, next_offsets)
        self._failpoint.passed(Boundary.AFTER_PRODUCE, delay=ON_ITS_WAY)
        return _WatchedReceipt(receipt, self._failpoint)

    def step(self, now: float) -> None:
        self._inner.step(now)

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        self._inner.strike(partitions)

    def settle(self, deadline: float) -> None:
        self._inner.settle(deadline)

    def close(self, deadline: float) -> None:
        self._inner.close(deadline)


class _WatchedReceipt(Receipt):
    """offsets() is asked once, of what is durable, right before it is written to the ledger."""

    def __init__(self, inner: Receipt, failpoint: Failpoint) -> None:
        self._inner, self._failpoint = inner, failpoint

    def done(self) -> bool:
        return self._inner.done()

    def wait(self, deadline: float) -> bool:
        return self._inner.wait(deadline)

    def failure(self) -> Infrastructure | None:
        return self._inner.failure()

    def offsets(self) -> Mapping[TopicPartition, int]:
        self._failpoint.passed(Boundary.AFTER_ACKS)
        return self._inner.offsets()

    def committed(self) -> bool:
        return self._inner.committed()


def _ranges(records: Sequence[Record]) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """First and last offset of each partition in a poll, and how many records it brought."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for record in records:
        first.setdefault(record.partition, record.offset)
        last[record.partition] = record.offset
    return first, last, dict(Counter(record.partition for record in records))

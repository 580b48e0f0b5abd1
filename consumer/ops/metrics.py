"""The Observer that counts. What each metric means stands in consumer/ops/catalogue.py."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import consumer
from consumer.ops import catalogue as c
from consumer.ops.catalogue import Definition
from consumer.ops.collectors import (
    Bounded,
    BulkHistogram,
    MarksCollector,
    ScorerCollector,
    counter,
    gauge,
)
from consumer.ops.partitions import PartitionCollector
from consumer.ports import Observer, Scorer
from consumer.records import Duplicate, Empty, MicroBatch, Output, Position, Rejection, Score, TopicPartition
from consumer.sharing import Marks

_OUTCOMES: dict[type, str] = {
    Score: "scored",
    Empty: "empty",
    Duplicate: "duplicate",
    Rejection: "dead_letter",
}


class Process(NamedTuple):
    """What metrics ask of the rest of the process. `wall_clock`: seconds since the epoch."""

    wall_clock: Callable[[], float] = time.time
    ready: Callable[[], bool] = lambda: False
    logs_dropped: Callable[[], int] = lambda: 0


def new_registry() -> CollectorRegistry:
    """A registry of its own, with memory, CPU and file descriptors of the process.

    Switches off, for the whole process, the `_created` series that would double their number.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


class Metrics(Observer):
    """Counts what the loop tells, once per batch or step; never blocks.

    Registers with `registry`; two on the same one raise ValueError. The model's numbers appear after
    `model_loaded`, partition series with the first `positions`, and go when the partition goes.
    """

    def __init__(self, registry: CollectorRegistry, process: Process) -> None:
        self._registry = registry
        self._process = process
        self._partitions = PartitionCollector()
        self._latency = BulkHistogram(c.LATENCY)
        self._call: tuple[str, float] | None = None
        self._why_refused, self._why_failed = Bounded(), Bounded()
        for collector in (self._partitions, self._latency, _ProcessCollector(process)):
            registry.register(collector)
        self._count_events(registry)
        self._count_batches(registry)

    def _count_events(self, registry: CollectorRegistry) -> None:
        self._skipped = _counter(registry, c.SKIPPED)
        self._rebalances = _counter(registry, c.REBALANCES)
        self._given_up = _counter(registry, c.GIVEN_UP)
        self._commits = _counter(registry, c.COMMITS)
        self._commits_refused = _counter(registry, c.COMMITS_REFUSED)
        self._send_failures = _counter(registry, c.SEND_FAILURES)
        self._send_repeated = _counter(registry, c.SEND_REPEATED)
        self._blocked = _counter(registry, c.BLOCKED)
        self._dependency_up = Gauge(
            c.DEPENDENCY_UP.name, c.DEPENDENCY_UP.help, c.DEPENDENCY_UP.labels, registry=registry
        )

    def _count_batches(self, registry: CollectorRegistry) -> None:
        self._polled = _counter(registry, c.POLLED)
        self._records = _counter(registry, c.RECORDS)
        self._anomalies = _counter(registry, c.ANOMALIES)
        self._dead_letters = _counter(registry, c.DEAD_LETTERS)
        self._batches = _counter(registry, c.BATCHES)
        self._batch_records = _histogram(registry, c.BATCH_RECORDS)
        self._batch_bytes = _histogram(registry, c.BATCH_BYTES)
        self._stage = _histogram(registry, c.STAGE)

    def model_loaded(self, scorer: Scorer) -> None:
        """The scorer that is asked for its numbers from now on. Once per registry."""
        self._registry.register(ScorerCollector(scorer.model, scorer.stats))
        build = Gauge(c.BUILD.name, c.BUILD.help, c.BUILD.labels, registry=self._registry)
        build.labels(consumer.__version__, scorer.model.name).set(1)

    def marks_opened(self, marks: Marks) -> None:
        """What is asked for the numbers of repeats from now on. Once per registry."""
        self._registry.register(MarksCollector(marks.stats))

    # The way of a batch

    def polled(self, records: int, seconds: float, now: float) -> None:  # noqa: ARG002 - the signature
        self._polled.inc(records)
        self._stage.labels("poll").observe(seconds)

    def launched(self, batch: MicroBatch, now: float) -> None:
        self._batches.labels(batch.closed_by.value).inc()
        self._batch_records.observe(len(batch.entries))
        self._batch_bytes.observe(batch.size)
        self._stage.labels("queue").observe(max(0.0, now - batch.asked_at))

    def scored(self, batch: MicroBatch, seconds: float) -> None:  # noqa: ARG002 - the signature
        self._stage.labels("device").observe(seconds)

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        self._stage.labels("publish").observe(seconds)
        self._latency.observe(_ages(outputs, self._process.wall_clock()))
        verdicts = [output.verdict for output in outputs]
        kinds = Tally(map(type, verdicts))
        for kind, count in kinds.items():
            self._records.labels(_OUTCOMES[kind]).inc(count)
        if Score in kinds:
            self._anomalies.inc(sum(v.is_anomaly for v in verdicts if type(v) is Score))
        if Rejection in kinds:
            for reason, count in Tally(v.reason for v in verdicts if type(v) is Rejection).items():
                self._dead_letters.labels(reason.value).inc(count)

    def send_failed(self, records: int, why: str) -> None:
        self._send_failures.labels(self._why_failed.label(why)).inc()
        self._send_repeated.inc(records)

    # The group

    def rebalanced(self, kind: str, partitions: Collection[TopicPartition]) -> None:
        self._rebalances.labels(kind).inc()
        if kind != "assigned":
            self._partitions.drop(partitions)

    def positions(self, positions: Mapping[TopicPartition, Position], now: float) -> None:
        self._partitions.update(positions, now)

    def given_up(self, partitions: Collection[TopicPartition], records: int) -> None:  # noqa: ARG002 - the signature
        self._given_up.inc(records)

    def skipped(self, partition: TopicPartition, records: int) -> None:  # noqa: ARG002 - the signature
        self._skipped.inc(records)

    def committed(self, partitions: int) -> None:
        self._commits.inc(partitions)

    def commit_refused(self, partitions: int, why: str) -> None:
        self._commits_refused.labels(self._why_refused.label(why)).inc(partitions)

    # The rest

    def trouble(self, what: str, why: str | None) -> None:
        self._dependency_up.labels(what).set(why is None)

    def entered_call(self, name: str, now: float) -> None:
        self._call = (name, now)

    def left_call(self, now: float) -> None:
        if self._call is not None:
            name, since = self._call
            self._blocked.labels(name).inc(max(0.0, now - since))
        self._call = None


class _ProcessCollector(Collector):
    """Readiness and dropped log lines, asked for at scrape time."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def describe(self) -> Iterable[Metric]:
        return [gauge(c.READY, ()), counter(c.LOGS_DROPPED, 0)]

    def collect(self) -> Iterable[Metric]:
        yield gauge(c.READY, [((), float(self._process.ready()))])
        yield counter(c.LOGS_DROPPED, self._process.logs_dropped())


def _counter(registry: CollectorRegistry, definition: Definition) -> Counter:
    made = Counter(definition.name, definition.help, definition.labels, registry=registry)
    for value in definition.values:
        made.labels(value)
    return made


def _histogram(registry: CollectorRegistry, d: Definition) -> Histogram:
    made = Histogram(d.name, d.help, d.labels, buckets=d.buckets, registry=registry)
    for value in d.values:
        made.labels(value)
    return made


def _ages(outputs: Sequence[Output], wall_now: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds since each record's timestamp, never below 0; records without one are left out."""
    stamps = [s for o in outputs if (s := o.entry.record.timestamp) is not None]
    return np.maximum(0.0, wall_now - np.asarray(stamps, np.float64) / 1_000.0)

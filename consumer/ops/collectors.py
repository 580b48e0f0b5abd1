"""Metrics that are read at scrape time from a snapshot, and the pieces that keep them bounded."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from consumer.ops import catalogue as c
from consumer.ops.catalogue import Definition
from consumer.ports import ModelInfo, ScorerStats
from consumer.sharing import MarkStats, SharedStats, StoreStats

_CODE = re.compile(r"(?<![A-Za-z0-9_])_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![A-Za-z0-9_])")
_WORDS = re.compile(r"[A-Za-z]+")
_LOOKED_AT = 500  # characters of a text in which its code is looked for


class Bounded:
    """Turns free text into one of at most `limit` label values, and `other` beyond them.

    A client's error code (`REQUEST_TIMED_OUT`) where the text holds one, else its first words.
    """

    def __init__(self, limit: int = 32) -> None:
        self._limit = limit
        self._seen: set[str] = set()

    def label(self, text: str) -> str:
        found = _CODE.search(text[:_LOOKED_AT])
        label = found.group() if found else "_".join(_WORDS.findall(text[:_LOOKED_AT])[:4]).lower()
        label = label[:64] or "other"
        if label not in self._seen and len(self._seen) >= self._limit:
            return "other"
        self._seen.add(label)
        return label


def gauge(definition: Definition, samples: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = GaugeMetricFamily(definition.name, definition.help, labels=definition.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def counter(definition: Definition, value: float) -> Metric:
    family = CounterMetricFamily(definition.name, definition.help)
    family.add_metric((), value)
    return family


class BulkHistogram(Collector):
    """A histogram that takes a whole batch of observations at once: the library's takes them one by one,
    which costs more than all else that we do per record."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._bounds = np.asarray(definition.buckets)
        self._counts: NDArray[np.int64] = np.zeros(len(definition.buckets) + 1, np.int64)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, values: NDArray[np.float64]) -> None:
        """A value on a bound belongs to the bucket of that bound, as Prometheus wants it."""
        buckets = np.searchsorted(self._bounds, values, side="left")
        counts = np.bincount(buckets, minlength=len(self._counts))
        with self._lock:
            self._counts += counts
            self._sum += float(values.sum())

    def describe(self) -> Iterable[Metric]:
        return [HistogramMetricFamily(self._definition.name, self._definition.help)]

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            totals, total = np.cumsum(self._counts).tolist(), self._sum
        names = [*map(str, self._definition.buckets), "+Inf"]
        buckets = list(zip(names, map(float, totals), strict=True))
        yield HistogramMetricFamily(
            self._definition.name, self._definition.help, buckets=buckets, sum_value=total
        )


class ScorerCollector(Collector):
    """The scorer's own numbers, asked for once per scrape so that they belong together."""

    def __init__(self, model: ModelInfo, stats: Callable[[], ScorerStats]) -> None:
        self._model = model
        self._stats = stats

    def describe(self) -> Iterable[Metric]:
        return self._families(ScorerStats())

    def collect(self) -> Iterable[Metric]:
        return self._families(self._stats())

    def _families(self, s: ScorerStats) -> list[Metric]:
        lookups = s.cache_hits + s.shared.hits + s.cache_misses
        return [
            counter(c.KNOWN_TEXTS_HIT, s.known),
            counter(c.REPEATED_TEXTS, s.repeats),
            counter(c.CACHE_LOOKUPS, lookups),
            counter(c.CACHE_HITS, s.cache_hits),
            *_shared(s.shared),
            counter(c.TOKENS_COVERED, s.tokens_covered),
            counter(c.TOKENS_COMPUTED, s.tokens_computed),
            counter(c.TOKENS_PADDED, s.tokens_padded),
            counter(c.DEVICE_BATCHES, s.device_batches),
            counter(c.OUT_OF_MEMORY, s.halvings),
            gauge(c.TOKEN_BUDGET, [((), s.budget_tokens)]),
            gauge(c.CACHE_ENTRIES, [((), s.cache_entries)]),
            gauge(c.KNOWN_TEXTS, [((), s.known_texts)]),
            gauge(c.MODEL, [((self._model.version, s.device), 1.0)]),
        ]


class MarksCollector(Collector):
    """What is known of events that came before, asked for once per scrape."""

    def __init__(self, stats: Callable[[], MarkStats]) -> None:
        self._stats = stats

    def describe(self) -> Iterable[Metric]:
        return self._families(MarkStats())

    def collect(self) -> Iterable[Metric]:
        return self._families(self._stats())

    def _families(self, s: MarkStats) -> list[Metric]:
        return [
            counter(c.DEDUPE_EVENTS, s.asked),
            counter(c.DEDUPE_REUSED, s.reused),
            counter(c.DEDUPE_REFUSED, s.refused),
            counter(c.DEDUPE_WRITTEN, s.store.written),
            counter(c.DEDUPE_LOOKUPS, s.store.lookups),
            counter(c.DEDUPE_WAIT, s.store.wait_seconds),
            counter(c.DEDUPE_READ_ERRORS, s.store.read_errors),
            counter(c.DEDUPE_WRITE_ERRORS, s.store.write_errors),
            gauge(c.DEDUPE_BYPASSED, _bypassed(s.store)),
        ]


def _bypassed(s: StoreStats) -> tuple[tuple[tuple[str], float], ...]:
    return (("read",), float(s.reads_bypassed)), (("write",), float(s.writes_bypassed))


def _shared(s: SharedStats) -> list[Metric]:
    return [
        counter(c.SHARED_HITS, s.hits),
        counter(c.SHARED_MISSES, s.misses),
        counter(c.SHARED_REFUSED, s.refused),
        counter(c.SHARED_WRITTEN, s.store.written),
        counter(c.SHARED_LOOKUPS, s.store.lookups),
        counter(c.SHARED_WAIT, s.store.wait_seconds),
        counter(c.SHARED_READ_ERRORS, s.store.read_errors),
        counter(c.SHARED_WRITE_ERRORS, s.store.write_errors),
        gauge(c.SHARED_BYPASSED, _bypassed(s.store)),
    ]

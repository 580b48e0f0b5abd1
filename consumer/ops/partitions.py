"""Lag and time to drain per owned partition, from our own finished offsets.

The client's own lag counts from the committed offset, is unknown until the first commit, and keeps stale
entries for partitions that went to another replica.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from consumer.ops import catalogue as c
from consumer.ops.collectors import gauge
from consumer.records import Position, TopicPartition

_WINDOW = 60.0  # seconds over which the speed of draining is taken
_SAMPLES = 12  # at most, so that memory and time per partition are bounded
_SPACING = _WINDOW / _SAMPLES


def lag(position: Position) -> int | None:
    """Offsets not finished yet; None while the log end is unknown. The end may be older than `finished`,
    so it is never below 0."""
    return None if position.log_end is None else max(0, position.log_end - position.finished)


class Sample(NamedTuple):
    at: float
    lag: int


def seconds_to_drain(history: tuple[Sample, ...]) -> float | None:
    """Seconds until the lag is 0 at the net speed of the history: 0 without lag, infinity while it does
    not shrink, None when one sample is all there is."""
    if not history:
        return None
    first, last = history[0], history[-1]
    if last.lag == 0:
        return 0.0
    if last.at <= first.at:
        return None
    shrunk = first.lag - last.lag
    return last.lag * (last.at - first.at) / shrunk if shrunk > 0 else math.inf


class Owned(NamedTuple):
    """What is known of one owned partition."""

    position: Position
    history: tuple[Sample, ...] = ()


def extended(history: tuple[Sample, ...], sample: Sample) -> tuple[Sample, ...]:
    """The history with one more sample: old ones leave, and the newest is replaced while it stands too
    close to the one before it."""
    kept = tuple(s for s in history if sample.at - s.at <= _WINDOW)
    if len(kept) > 1 and kept[-1].at - kept[-2].at < _SPACING:
        kept = kept[:-1]
    return (*kept, sample)


class PartitionCollector(Collector):
    """Written by the loop's thread, read by scrapers: the table is replaced as a whole, so one scrape
    sees one moment, and a partition that is not ours has no series."""

    def __init__(self) -> None:
        self._owned: Mapping[TopicPartition, Owned] = {}

    def update(self, positions: Mapping[TopicPartition, Position], now: float) -> None:
        self._owned = dict(self._updated(positions, now))

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        gone = frozenset(partitions)
        self._owned = {p: owned for p, owned in self._owned.items() if p not in gone}

    def _updated(
        self, positions: Mapping[TopicPartition, Position], now: float
    ) -> Iterator[tuple[TopicPartition, Owned]]:
        for partition, position in positions.items():
            known = self._owned.get(partition)
            history = known.history if known else ()
            behind = lag(position)
            if behind is not None:
                history = extended(history, Sample(now, behind))
            yield partition, Owned(position, history)

    def describe(self) -> Iterable[Metric]:
        return [gauge(d, ()) for d in (c.PARTITIONS, c.FINISHED, c.LOG_END, c.LAG, c.DRAIN)]

    def collect(self) -> Iterable[Metric]:
        owned = [((p.topic, str(p.partition)), o) for p, o in self._owned.items()]
        ends = [(labels, o.position.log_end) for labels, o in owned]
        lags = [(labels, lag(o.position)) for labels, o in owned]
        drains = [(labels, seconds_to_drain(o.history)) for labels, o in owned]
        yield gauge(c.PARTITIONS, [((), len(owned))])
        yield gauge(c.FINISHED, [(labels, o.position.finished) for labels, o in owned])
        yield gauge(c.LOG_END, _known(ends))
        yield gauge(c.LAG, _known(lags))
        yield gauge(c.DRAIN, _known(drains))


def _known(
    samples: Iterable[tuple[tuple[str, str], float | None]],
) -> Iterator[tuple[tuple[str, str], float]]:
    return ((labels, value) for labels, value in samples if value is not None)

"""What the demonstration reads off its replicas' metrics: the product's own pages, added up, per second."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import generate_latest

from consumer import settings
from consumer.demo.figures import (
    CACHE,
    DEVICE,
    KNOWN,
    REPEATS,
    Figures,
    Reading,
    Readings,
    figures_of,
    together,
)
from consumer.demo.scrape import Scraper, asked
from consumer.ops.health import Health
from consumer.ops.http import Pages, Server
from consumer.ops.metrics import Metrics, Process, new_registry
from consumer.ports import ModelInfo, ScorerStats, SharedStats
from consumer.records import (
    ClosedBy,
    Entry,
    Event,
    MicroBatch,
    Output,
    Position,
    Record,
    Score,
    TopicPartition,
)

SIZE = 30  # records in a batch; a third of them are odd


class Counting:
    """The metrics of a replica, without the replica."""

    def __init__(self, stats: ScorerStats | None = None) -> None:
        self.model = ModelInfo("demo", "abc123")
        self._stats = stats or ScorerStats()
        self.registry = new_registry()
        self.metrics = Metrics(self.registry, Process())
        if stats is not None:
            self.metrics.model_loaded(self)

    def stats(self) -> ScorerStats:
        return self._stats

    def batch(self, closed_by: ClosedBy) -> Counting:
        """One batch launched and published."""
        entries = tuple(Entry(Record("events", 0, n, b"value"), Event("value")) for n in range(SIZE))
        self.metrics.launched(MicroBatch(entries, closed_by, 0.0), 0.0)
        scores = (Score(float(n % 3 == 0), n % 3 == 0, 1.0) for n in range(SIZE))
        self.metrics.published([Output(e, s) for e, s in zip(entries, scores, strict=True)], 0.1)
        return self

    def lags(self, *lags: int) -> Counting:
        """The lag of each of its partitions."""
        ends = {TopicPartition("events", p): Position(5, 5 + lag) for p, lag in enumerate(lags)}
        self.metrics.positions(ends, 0.0)
        return self

    def page(self) -> str:
        return generate_latest(self.registry).decode()


@pytest.fixture
def replica() -> Iterator[tuple[Counting, int]]:
    """The metrics, and the port where the product's own endpoint serves them."""
    counting = Counting(ScorerStats(known=4))
    server = Server("127.0.0.1", 0, Pages(counting.registry, Health(settings.Health()), lambda: 0.0))
    server.start()
    yield counting, server.port
    server.stop()


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def gone() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def some(records: int) -> Figures:
    return Figures(records=records)


def test_every_figure_of_the_products_own_page_is_found() -> None:
    shared = SharedStats(hits=5)
    replica = Counting(ScorerStats(known=10, repeats=20, cache_hits=3, cache_misses=7, shared=shared))
    replica.batch(ClosedBy.COUNT).batch(ClosedBy.IDLE).batch(ClosedBy.IDLE).lags(7, 0, 4)
    assert figures_of(replica.page()) == Figures(
        records=3 * SIZE,
        anomalies=SIZE,
        lag=11,
        batched=3 * SIZE,
        closed_by={"count": 1, "byte_size": 0, "max_wait": 0, "idle_wait": 2},
        answered_by={KNOWN: 10, REPEATS: 20, CACHE: 8, DEVICE: 7},
    )


def test_before_the_model_is_loaded_every_figure_is_0() -> None:
    assert figures_of(Counting().page()) == Figures()


def test_two_replicas_are_added_up() -> None:
    one = Counting(ScorerStats(known=1, cache_misses=2)).batch(ClosedBy.COUNT).lags(3)
    two = Counting(ScorerStats(known=4, repeats=5)).batch(ClosedBy.COUNT).batch(ClosedBy.AGE).lags(1, 1)
    total = together(figures_of(each.page()) for each in (one, two))
    assert (total.records, total.anomalies, total.lag) == (3 * SIZE, SIZE, 5)
    assert total.closed_by == {"count": 2, "byte_size": 0, "max_wait": 1, "idle_wait": 0}
    assert total.answered_by == {KNOWN: 5, REPEATS: 5, CACHE: 0, DEVICE: 2}
    assert (total.batches, total.mean_size) == (3, SIZE)


def test_without_a_batch_the_mean_size_is_0() -> None:
    assert Figures().mean_size == 0


def test_what_is_no_page_of_metrics_is_refused() -> None:
    with pytest.raises(ValueError, match="html"):
        figures_of("<html> nothing </html>")


def test_what_a_missing_replica_told_last_stands_in_for_it() -> None:
    readings = Readings(2)
    readings.add(0.0, [some(10), some(20)])
    reading = readings.add(1.0, [some(15), None])
    assert (reading.figures.records, reading.answered, reading.asked) == (35, 1, 2)


def test_a_replica_that_never_answered_counts_as_nothing() -> None:
    assert Readings(2).add(0.0, [None, some(3)]).figures.records == 3


def test_speed_is_what_was_added_per_second() -> None:
    readings = Readings(1)
    assert readings.add(10.0, [some(100)]).speed == 0
    assert readings.add(12.0, [some(500)]).speed == 200


def test_speed_forgets_what_is_longer_ago_than_its_window() -> None:
    readings = Readings(1)
    for second in range(20):
        reading = readings.add(float(second), [some(min(1_000, 100 * second))])
    assert reading.speed == 0


def test_after_a_long_silence_speed_is_measured_over_the_silence() -> None:
    readings = Readings(1)
    readings.add(0.0, [some(0)])
    assert readings.add(60.0, [some(600)]).speed == 10


# Asking


def test_the_endpoint_of_the_product_is_understood(replica: tuple[Counting, int]) -> None:
    counting, port = replica
    counting.batch(ClosedBy.COUNT)
    found = asked(port, 30.0)
    assert found is not None
    assert (found.records, found.answered_by[KNOWN]) == (SIZE, 4)


def test_a_replica_that_is_gone_and_one_that_is_silent_are_left_out(
    replica: tuple[Counting, int], silent: int
) -> None:
    counting, port = replica
    counting.batch(ClosedBy.COUNT)
    scraper = Scraper([gone(), port, silent], patience=0.2)
    scraper.look()
    assert (scraper.latest.answered, scraper.latest.asked) == (1, 3)
    assert scraper.latest.figures.records == SIZE


def test_the_end_waits_for_the_lag_to_go_but_not_for_ever(replica: tuple[Counting, int]) -> None:
    counting, port = replica
    counting.lags(3)
    scraper = Scraper([port], patience=30.0)
    scraper.settle(0.0)
    assert scraper.latest.figures.lag == 3
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(scraper.settle, 60.0)
        counting.lags(0)
        waiting.result()
    assert scraper.latest.figures.lag == 0


def test_what_is_not_settled_is_told_from_what_is() -> None:
    assert Reading(answered=2, asked=2).settled
    assert not Reading(answered=1, asked=2).settled
    assert not Reading(figures=Figures(lag=1), answered=2, asked=2).settled


def test_polling_ends_with_its_block_and_what_was_read_stays(replica: tuple[Counting, int]) -> None:
    _, port = replica
    scraper = Scraper([port], patience=30.0)
    with scraper.polling():
        pass  # leaving waits for the round that has begun
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("scrape")]
    assert scraper.latest.figures.answered_by[KNOWN] == 4

"""Metrics: what the loop tells comes out of a scrape, truthfully and bounded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

import consumer
from consumer.dedupe import NoMarks
from consumer.ops import catalogue
from consumer.ops.collectors import Bounded
from consumer.ops.metrics import Metrics, Process
from consumer.ops.metrics_doc import markdown
from consumer.ops.partitions import Sample, extended, seconds_to_drain
from consumer.ports import ModelInfo, Observer, ScorerStats
from consumer.records import (
    ClosedBy,
    Duplicate,
    Empty,
    Entry,
    Event,
    MicroBatch,
    Output,
    Position,
    Reason,
    Record,
    Rejection,
    Score,
    TopicPartition,
    Verdict,
)

P0, P1 = TopicPartition("events", 0), TopicPartition("events", 1)
WALL = 1_700_000_000.0


class FakeScorer:
    """A scorer of which only the numbers are asked."""

    def __init__(self, stats: ScorerStats | None = None) -> None:
        self.model = ModelInfo("demo", "abc123")
        self.numbers = stats or ScorerStats()

    def stats(self) -> ScorerStats:
        return self.numbers


def made(ready: bool = True, dropped: int = 0) -> tuple[Metrics, CollectorRegistry]:
    registry = CollectorRegistry()
    process = Process(wall_clock=lambda: WALL, ready=lambda: ready, logs_dropped=lambda: dropped)
    return Metrics(registry, process), registry


def output(verdict: Verdict, timestamp: int | None = None) -> Output:
    record = Record("events", 0, 7, b"value", timestamp=timestamp)
    return Output(Entry(record, Event("value")), verdict)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def labels_of(registry: CollectorRegistry, name: str) -> list[dict[str, str]]:
    return [s.labels for family in registry.collect() for s in family.samples if s.name == name]


def test_registered_metrics_are_exactly_the_documented_ones_with_their_types_and_labels() -> None:
    metrics, registry = made()
    metrics.model_loaded(FakeScorer())
    metrics.marks_opened(NoMarks())
    exercise_everything(metrics)
    seen = {}
    for family in registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for s in family.samples for label in s.labels if label != "le"}
        seen[name] = (family.type, labels, family.documentation)
    documented = {d.name: (d.kind, set(d.labels), d.help) for d in catalogue.ALL}
    assert seen == documented


def exercise_everything(metrics: Metrics) -> None:
    metrics.entered_call("commit", 0.0)
    metrics.left_call(1.0)
    metrics.trouble("brokers", None)
    metrics.send_failed(1, "REQUEST_TIMED_OUT")
    metrics.commit_refused(1, "ILLEGAL_GENERATION")
    metrics.positions({P0: Position(1, 2)}, 0.0)
    metrics.positions({P0: Position(2, 2)}, 10.0)


def test_the_documented_table_is_the_generated_one() -> None:
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert page.read_text() == markdown(), "run: python -m consumer.ops.metrics_doc > docs/metrics.md"


def test_names_have_the_prefix_and_counters_end_in_total() -> None:
    names = [d.name for d in catalogue.ALL]
    assert len(set(names)) == len(names)
    for definition in catalogue.ALL:
        assert definition.name.startswith("consumer_")
        assert definition.name.endswith("_total") == (definition.kind == "counter")
        assert not definition.name.endswith(("_ms", "_millis", "_kb", "_percent"))


def test_every_event_of_the_observer_is_counted_or_deliberately_left_to_health() -> None:
    left_to_health = {"stepped"}
    events = {name for name in vars(Observer) if not name.startswith("_")}
    assert events - set(vars(Metrics)) == left_to_health


def test_outcomes_add_up_to_the_records_published() -> None:
    metrics, registry = made()
    verdicts: list[Verdict] = [
        Score(3.5, True, 2.0),
        Score(0.5, False, 2.0),
        Empty(),
        Duplicate("e-1", 0, 3),
        Rejection(Reason.BAD_HEADERS, "header names"),
        Rejection(Reason.POISON, "the scorer fails"),
        Rejection(Reason.POISON, "the scorer fails"),
    ]
    metrics.published([output(v) for v in verdicts], 0.02)
    told = ("scored", "empty", "duplicate", "dead_letter")
    outcomes = {o: value(registry, "consumer_records_total", outcome=o) for o in told}
    assert outcomes == {"scored": 2, "empty": 1, "duplicate": 1, "dead_letter": 3}
    assert value(registry, "consumer_anomalies_total") == 1
    assert value(registry, "consumer_dead_letters_total", reason="bad_headers") == 1
    assert value(registry, "consumer_dead_letters_total", reason="poison") == 2


def test_series_of_small_fixed_sets_exist_before_anything_happened() -> None:
    _, registry = made()
    for reason in Reason:
        assert value(registry, "consumer_dead_letters_total", reason=reason.value) == 0
    for closed_by in ClosedBy:
        assert value(registry, "consumer_batches_total", closed_by=closed_by.value) == 0
    for stage in ("poll", "queue", "device", "publish"):
        assert value(registry, "consumer_stage_seconds_count", stage=stage) == 0


def test_a_batch_is_counted_by_what_closed_it_with_its_size_and_its_time_in_the_queue() -> None:
    metrics, registry = made()
    entries = tuple(Entry(Record("events", 0, i, v), Empty()) for i, v in enumerate([b"12345", None, b"1"]))
    metrics.launched(MicroBatch(entries, ClosedBy.IDLE, 10.0, size=6), now=10.5)
    assert value(registry, "consumer_batches_total", closed_by="idle_wait") == 1
    assert value(registry, "consumer_batch_records_sum") == 3
    assert value(registry, "consumer_batch_bytes_sum") == 6
    assert value(registry, "consumer_stage_seconds_sum", stage="queue") == pytest.approx(0.5)


def test_each_stage_has_its_own_time() -> None:
    metrics, registry = made()
    batch = MicroBatch((), ClosedBy.COUNT, 0.0)
    metrics.polled(4, 0.1, 1.0)
    metrics.scored(batch, 0.2)
    metrics.published([], 0.4)
    sums = {s: value(registry, "consumer_stage_seconds_sum", stage=s) for s in ("poll", "device", "publish")}
    assert sums == pytest.approx({"poll": 0.1, "device": 0.2, "publish": 0.4})
    assert value(registry, "consumer_records_polled_total") == 4


def test_latency_runs_from_the_records_timestamp_and_is_never_negative() -> None:
    metrics, registry = made()
    now_ms = int(WALL * 1000)
    future, old, none = output(Empty(), now_ms + 60_000), output(Empty(), now_ms - 2_500), output(Empty())
    metrics.published([future, old, none], 0.0)
    assert value(registry, "consumer_latency_seconds_count") == 2
    assert value(registry, "consumer_latency_seconds_sum") == pytest.approx(2.5)


def test_a_latency_on_a_bound_falls_into_the_bucket_of_that_bound() -> None:
    metrics, registry = made()
    metrics.published([output(Empty(), int((WALL - 1.0) * 1000))], 0.0)
    assert value(registry, "consumer_latency_seconds_bucket", le="0.5") == 0
    assert value(registry, "consumer_latency_seconds_bucket", le="1.0") == 1
    assert value(registry, "consumer_latency_seconds_bucket", le="+Inf") == 1


def test_timestamps_of_1970_and_2100_do_not_break_the_histogram() -> None:
    metrics, registry = made()
    metrics.published([output(Empty(), 0), output(Empty(), 4_102_444_800_000), output(Empty(), -1)], 0.0)
    assert value(registry, "consumer_latency_seconds_count") == 3
    assert math.isfinite(value(registry, "consumer_latency_seconds_sum") or math.nan)


def test_lag_is_log_end_minus_finished_within_one_scrape() -> None:
    metrics, registry = made()
    metrics.positions({P0: Position(70, 100), P1: Position(5, 5)}, 0.0)
    for partition in ("0", "1"):
        at = {"topic": "events", "partition": partition}
        end = value(registry, "consumer_log_end_offset", **at)
        finished = value(registry, "consumer_finished_offset", **at)
        assert end is not None
        assert finished is not None
        assert value(registry, "consumer_lag_records", **at) == end - finished
    assert value(registry, "consumer_assigned_partitions") == 2


def test_an_unknown_log_end_gives_no_lag_and_an_outdated_one_no_negative_lag() -> None:
    metrics, registry = made()
    metrics.positions({P0: Position(70, None), P1: Position(9, 5)}, 0.0)
    assert labels_of(registry, "consumer_lag_records") == [{"topic": "events", "partition": "1"}]
    assert value(registry, "consumer_lag_records", topic="events", partition="1") == 0
    assert value(registry, "consumer_finished_offset", topic="events", partition="0") == 70


@pytest.mark.parametrize("kind", ["revoked", "lost"])
def test_a_partition_that_went_away_has_no_series_left_at_once(kind: str) -> None:
    metrics, registry = made()
    metrics.positions({P0: Position(1, 9), P1: Position(2, 9)}, 0.0)
    metrics.positions({P0: Position(1, 9), P1: Position(2, 9)}, 10.0)
    metrics.rebalanced(kind, [P0])
    for d in catalogue.ALL:
        if "partition" in d.labels:
            assert labels_of(registry, d.name) == [{"topic": "events", "partition": "1"}]
    assert value(registry, "consumer_rebalances_total", kind=kind) == 1


def test_a_partition_missing_from_the_positions_has_no_series_left() -> None:
    metrics, registry = made()
    metrics.positions({P0: Position(1, 9), P1: Position(2, 9)}, 0.0)
    metrics.positions({P1: Position(2, 9)}, 1.0)
    assert labels_of(registry, "consumer_lag_records") == [{"topic": "events", "partition": "1"}]


def test_a_partition_that_comes_back_starts_a_new_history() -> None:
    metrics, registry = made()
    metrics.positions({P0: Position(0, 100)}, 0.0)
    metrics.positions({P0: Position(50, 100)}, 10.0)
    metrics.rebalanced("revoked", [P0])
    metrics.positions({P0: Position(90, 100)}, 20.0)
    assert labels_of(registry, "consumer_time_to_drain_seconds") == []


def test_time_to_drain_is_the_lag_over_its_net_speed() -> None:
    assert seconds_to_drain((Sample(0.0, 1_000), Sample(10.0, 500))) == pytest.approx(10.0)
    assert seconds_to_drain((Sample(0.0, 1_000), Sample(10.0, 1_000))) == math.inf
    assert seconds_to_drain((Sample(0.0, 10), Sample(10.0, 1_000))) == math.inf
    assert seconds_to_drain((Sample(0.0, 1_000), Sample(10.0, 0))) == 0.0
    assert seconds_to_drain((Sample(0.0, 1_000),)) is None
    assert seconds_to_drain(()) is None


def test_the_history_is_bounded_and_forgets_what_is_older_than_its_window() -> None:
    history: tuple[Sample, ...] = ()
    for second in range(1_000):
        history = extended(history, Sample(float(second), 1_000 - second))
        assert len(history) <= 14
    assert history[-1] == Sample(999.0, 1)
    assert 50.0 <= history[-1].at - history[0].at <= 60.0
    assert seconds_to_drain(history) == pytest.approx(1.0)


def test_frequent_samples_keep_their_oldest_and_their_newest() -> None:
    history: tuple[Sample, ...] = ()
    for tenth in range(600):
        history = extended(history, Sample(tenth / 10, 6_000 - tenth))
    assert history[0].at < 5.0
    assert history[-1].at == pytest.approx(59.9)
    assert len(history) <= 14


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("ILLEGAL_GENERATION: Broker: specified group generation id", "ILLEGAL_GENERATION"),
        ("12 records were not acknowledged: _MSG_TIMED_OUT (12)", "_MSG_TIMED_OUT"),
        ("the group moved on", "the_group_moved_on"),
        ("10.0.0.7:9092 went away after 31 ms", "went_away_after_ms"),
        ("", "other"),
        ("\x1b[2J", "j"),
    ],
)
def test_a_reason_is_cut_down_to_its_code_or_its_first_words(text: str, label: str) -> None:
    assert Bounded().label(text) == label


def test_the_number_of_reasons_is_bounded() -> None:
    bounded = Bounded(limit=2)
    labels = [bounded.label(f"CODE_{i} happened") for i in range(1_000)]
    assert set(labels) == {"CODE_0", "CODE_1", "other"}
    assert bounded.label("CODE_0 again") == "CODE_0"


def test_a_thousand_different_failures_make_a_bounded_number_of_series() -> None:
    metrics, registry = made()
    for i in range(1_000):
        metrics.send_failed(2, f"WHY_{i} it failed")
        metrics.commit_refused(1, f"WHY_{i} it was refused")
    for name in ("consumer_send_failures_total", "consumer_partition_commits_refused_total"):
        assert len(labels_of(registry, name)) <= 33
    assert value(registry, "consumer_records_sent_again_total") == 2_000


def test_commits_skips_given_up_records_and_blocking_calls_are_counted() -> None:
    metrics, registry = made()
    metrics.committed(3)
    metrics.skipped(P0, 40)
    metrics.given_up([P0], 12)
    metrics.entered_call("commit", 5.0)
    metrics.left_call(7.5)
    metrics.left_call(9.0)  # without a call: nothing
    assert value(registry, "consumer_partition_commits_total") == 3
    assert value(registry, "consumer_offsets_skipped_total") == 40
    assert value(registry, "consumer_given_up_records_total") == 12
    assert value(registry, "consumer_blocking_call_seconds_total", call="commit") == pytest.approx(2.5)


def test_a_dependency_is_down_while_in_trouble_and_up_after() -> None:
    metrics, registry = made()
    metrics.trouble("brokers", "no broker answers")
    assert value(registry, "consumer_dependency_up", dependency="brokers") == 0
    metrics.trouble("brokers", None)
    assert value(registry, "consumer_dependency_up", dependency="brokers") == 1


def test_the_scorers_numbers_are_read_anew_at_each_scrape() -> None:
    metrics, registry = made()
    scorer = FakeScorer(ScorerStats(device="cpu", cache_hits=3, cache_misses=7, tokens_padded=100))
    metrics.model_loaded(scorer)
    assert value(registry, "consumer_score_cache_lookups_total") == 10
    assert value(registry, "consumer_score_cache_hits_total") == 3
    scorer.numbers = scorer.numbers._replace(cache_hits=5, known=2, halvings=1)
    assert value(registry, "consumer_score_cache_lookups_total") == 12
    assert value(registry, "consumer_known_text_hits_total") == 2
    assert value(registry, "consumer_out_of_memory_total") == 1
    assert value(registry, "consumer_model_info", model_version="abc123", device="cpu") == 1
    assert value(registry, "consumer_build_info", version=consumer.__version__, model="demo") == 1


def test_readiness_and_dropped_log_lines_are_asked_for_at_scrape_time() -> None:
    _, registry = made(ready=False, dropped=4)
    assert value(registry, "consumer_ready") == 0
    assert value(registry, "consumer_log_lines_dropped_total") == 4
    assert value(made(ready=True)[1], "consumer_ready") == 1


def test_two_sets_of_metrics_on_one_registry_are_refused() -> None:
    metrics, registry = made()
    with pytest.raises(ValueError, match="Duplicated"):
        Metrics(registry, Process())
    metrics.model_loaded(FakeScorer())
    with pytest.raises(ValueError, match="Duplicated"):
        metrics.model_loaded(FakeScorer())


def test_scraping_does_not_change_a_counter() -> None:
    metrics, registry = made()
    metrics.model_loaded(FakeScorer(ScorerStats(known=9)))
    exercise_everything(metrics)
    assert generate_latest(registry) == generate_latest(registry)

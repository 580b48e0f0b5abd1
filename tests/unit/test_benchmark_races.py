"""How the benchmarks take turns and compare."""

from __future__ import annotations

import pytest

from benchmarks.jobs import Measured
from benchmarks.races import by_cpu, by_rate, race
from benchmarks.report import markdown, share
from benchmarks.texts import all_distinct, distinct_ratio
from consumer.normalize import Normalizer

FACTS = {
    "known": 1,
    "repeats": 5,
    "cache_hits": 2,
    "cache_misses": 2,
    "tokens_padded": 100,
    "tokens_computed": 95,
}


def runs(*pairs: tuple[float, float]) -> list[Measured]:
    """(seconds, CPU seconds) of runs of 1,000 records each."""
    return [Measured(1_000, seconds, cpu, dict.fromkeys(FACTS, 0.0) | FACTS) for seconds, cpu in pairs]


def test_the_order_of_competitors_is_turned_round_every_round() -> None:
    order: list[tuple[str, int]] = []

    def competitor(name: str):
        return lambda turn: order.append((name, turn)) or Measured(1, 1.0, 1.0)

    found = race({"a": competitor("a"), "b": competitor("b")}, 3, lambda _: None)
    assert order == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert [len(each) for each in found.values()] == [3, 3]


def test_a_race_out_of_time_ends_after_a_whole_round() -> None:
    once = {name: lambda _: Measured(1, 1.0, 1.0) for name in "ab"}
    found = race(once, 5, lambda _: None, may_go_on=lambda: False)
    assert [len(each) for each in found.values()] == [1, 1]


def test_runs_of_one_round_are_compared_with_each_other() -> None:
    compared = by_rate("x", runs((1, 1), (2, 1), (4, 1)), runs((2, 1), (2, 1), (2, 1)), target=1.0)
    assert compared.ratios == (2.0, 1.0, 0.5)
    assert compared.ratio == 1.0
    assert compared.met is True


def test_less_cpu_time_is_better() -> None:
    compared = by_cpu("x", runs((1, 3), (1, 4), (1, 5)), runs((1, 1), (1, 1), (1, 1)), target=3.0)
    assert compared.ours == pytest.approx(4_000)
    assert compared.met is False


def test_a_share_counts_every_text_once() -> None:
    found = share("logs", 0.5, runs((1, 0.001), (1, 0.003), (1, 0.002)))
    assert found.answered_without_device == 0.8
    assert found.padding == pytest.approx(0.05)
    assert found.cpu_micros == pytest.approx(2.0)


def test_the_table_shows_ratio_least_most_and_target() -> None:
    compared = by_rate("x ÷ y", runs((1, 1), (2, 1)), runs((1, 1), (1, 1)), target=0.95)
    table = markdown({"Python": "3"}, [compared], [share("logs", 0.25, runs((1, 1)))])
    assert "| x ÷ y | records/s | 750 | 1,000 | 0.75 (0.50 to 1.00) | ≥ 0.95 | no |" in table
    assert "| logs | 1,000 | 25.00% | 80.00% | 5.0% | 1000.0 |" in table


def test_invented_texts_are_all_distinct_after_normalising() -> None:
    corpus = all_distinct(None, 300)
    normalizer = Normalizer()
    assert len({normalizer.normalize(text) for text in corpus.texts}) == len(corpus.texts) == 300
    assert distinct_ratio(corpus) == 1.0
    assert not corpus.real

"""Metrics against cases that were worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from consumer.evaluation import (
    count_false_alarms,
    first_part,
    length_alone,
    level_alone,
    random_part,
    ranking,
)


def labels(text: str) -> np.ndarray:
    return np.array([each == "a" for each in text])


def falling(count: int) -> np.ndarray:
    return np.arange(count, 0, -1, dtype=np.float64)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("aann", 1.0),
        ("anan", (1 / 1 + 2 / 3) / 2),
        ("nana", (1 / 2 + 2 / 4) / 2),
        ("nnaa", (1 / 3 + 2 / 4) / 2),
        ("naann", (1 / 2 + 2 / 3) / 2),
        ("annna", (1 / 1 + 2 / 5) / 2),
    ],
)
def test_average_precision_is_the_mean_precision_at_the_anomalies(order: str, expected: float) -> None:
    assert ranking(labels(order), falling(len(order))).average_precision == pytest.approx(expected)


def test_equal_scores_count_as_one_step_whatever_their_order() -> None:
    scores = np.array([3.0, 2.0, 2.0, 1.0])
    for order in ("aann", "anan"):
        # one anomaly alone at the top, then two records of which one is an anomaly
        assert ranking(labels(order), scores).average_precision == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_scores_that_are_all_equal_are_worth_the_share_of_anomalies() -> None:
    found = ranking(labels("annn"), np.zeros(4))
    assert found.average_precision == 0.25
    assert found.auroc == 0.5
    assert found.recall_at == (0.0, 0.0)


@pytest.mark.parametrize(
    ("order", "expected"), [("aann", 1.0), ("anan", 3 / 4), ("nana", 1 / 4), ("nnaa", 0.0), ("annna", 3 / 6)]
)
def test_auroc_is_the_share_of_pairs_in_the_right_order(order: str, expected: float) -> None:
    assert ranking(labels(order), falling(len(order))).auroc == pytest.approx(expected)


def test_recall_at_a_rate_allows_that_share_of_the_normal_records_and_no_more() -> None:
    # 1,000 normal records: one false alarm is allowed at 0.1 %, ten at 1 %.
    order = "a" * 5 + "n" + "a" * 2 + "n" * 9 + "a" + "n" + "aa" + "n" * 989
    assert ranking(labels(order), falling(len(order))).recall_at == (7 / 10, 8 / 10)


def test_below_a_thousand_normal_records_no_false_alarm_is_allowed_at_one_in_a_thousand() -> None:
    order = "aa" + "n" + "a" + "n" * 899
    assert ranking(labels(order), falling(len(order))).recall_at == (2 / 3, 1.0)


@pytest.mark.parametrize("order", ["aaa", "nnn"])
def test_one_kind_alone_cannot_be_ranked(order: str) -> None:
    with pytest.raises(ValueError, match="anomalies and normal"):
        ranking(labels(order), falling(3))


def test_repeats_of_a_false_alarm_are_counted_and_counted_once() -> None:
    found = count_false_alarms([("x", True), ("x", True), ("y", True), ("z", False), ("z", False)])
    assert (found.normal, found.texts, found.raw) == (5, 2, 3)
    assert (found.rate, found.raw_rate) == (0.4, 0.6)
    assert count_false_alarms([]).rate == 0.0


def test_a_level_is_as_odd_as_it_is_rare() -> None:
    measure = level_alone(["info"] * 3 + ["error"])
    assert measure("info") == pytest.approx(-math.log(3 / 4))
    assert measure("error") == pytest.approx(-math.log(1 / 4))
    assert measure("fatal") == pytest.approx(-math.log(1 / 8))


def test_a_length_is_as_odd_as_it_is_far_from_the_usual_one() -> None:
    measure = length_alone([10, 10, 40])
    assert measure(10) == 0.0
    assert measure(20) == pytest.approx(measure(5)) == pytest.approx(math.log(2))
    assert measure(0) == pytest.approx(math.log(10))


def test_the_first_part_is_what_came_first() -> None:
    assert first_part(5, 0.4).tolist() == [True, True, False, False, False]


def test_a_random_part_holds_every_record_of_a_text_or_none() -> None:
    text_of = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 4])
    parts = [random_part(text_of, 0.4, seed) for seed in range(20)]
    for part in parts:
        chosen = set(text_of[part].tolist())
        assert len(chosen) == 2
        assert not chosen & set(text_of[~part].tolist())
    assert len({part.tobytes() for part in parts}) > 3
    assert np.array_equal(parts[7], random_part(text_of, 0.4, 7))

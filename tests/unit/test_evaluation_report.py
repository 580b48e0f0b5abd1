"""Figures of a small case that was worked out by hand, and how they are shown."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

from consumer.cli_evaluate_input import Dataset
from consumer.cli_evaluate_report import (
    FittedOn,
    OfTexts,
    Report,
    baselines,
    describe,
    judged,
)
from consumer.cli_evaluate_table import alerts_grid, facts, order_grid, plain

# Text 0 three times normal, 1 twice an anomaly, 2 once normal, 3 once of each.
TEXT_OF = [0, 1, 0, 2, 3, 1, 0, 3]
ANOMALOUS = [False, True, False, False, False, True, False, True]


def data(**changes: object) -> Dataset:
    made = Dataset(
        items=["a", "b", "c", "d"],
        text_of=np.array(TEXT_OF),
        anomalous=np.array(ANOMALOUS),
        chars=np.array([10, 40, 10, 10, 20, 40, 10, 20]),
        levels=np.array([0, 1, 0, 0, 0, 1, 0, 0]),
        level_names=["info", "error"],
        read=10,
        empty=1,
        rejected=Counter({"invalid": 1}),
        leaks=0,
    )
    return made._replace(**changes)


SCORES = OfTexts(np.array([0.5, 3.0, 2.5, 1.0]), np.array([False, True, True, False]))


def report(**changes: object) -> Report:
    made = Report(
        model="web",
        version="0123",
        parts=("novelty", "severity"),
        calibration_items=99,
        smallest_rate=0.005,
        fitted_on=FittedOn("random", 0.5, 7, 100, 90, 80),
        data=describe(data(), np.array([True, False, False, False])),
        scored=judged(data(), SCORES, 0.1),
        baselines=baselines(data(), data()),
        without={"novelty": judged(data(), SCORES, 0.1)},
    )
    return msgspec.structs.replace(made, **changes)


def test_what_was_evaluated_is_counted_by_records_and_by_texts() -> None:
    found = report().data
    assert (found.records, found.anomalies, found.texts, found.anomalous_texts) == (8, 3, 4, 2)
    assert (found.texts_with_both_labels, found.known_records) == (1, 3 / 8)
    assert (found.read, found.empty, found.rejected) == (10, 1, {"invalid": 1})


def test_the_order_is_judged_by_records_and_by_texts() -> None:
    order = report().scored.order
    # By record: two anomalies, one normal, then a tie of one each, then three normal ones.
    assert order.records.average_precision == pytest.approx(2 / 3 + 1 / 3 * 3 / 5)
    # By text: b (anomaly), c, d (an anomaly, as it has one), a.
    assert order.texts.average_precision == pytest.approx((1 + 2 / 3) / 2)


def test_alerts_are_those_of_the_threshold_by_record_and_with_repeats_once() -> None:
    alerts = report().scored.alerts
    assert alerts.got == alerts.got_repeats_once == 1 / 5
    assert alerts.got_by_asked == pytest.approx(2.0)
    assert (alerts.recall, alerts.recall_texts, alerts.precision_texts) == (2 / 3, 1 / 2, 1 / 2)
    assert (alerts.per_10000, alerts.texts_per_10000) == (3 / 8 * 10_000, 2 / 8 * 10_000)


def test_repeats_of_a_false_alarm_count_in_one_rate_and_not_in_the_other() -> None:
    always = OfTexts(SCORES.scores, np.array([True] * 4))
    alerts = judged(data(), always, 0.01).alerts
    assert (alerts.got, alerts.got_repeats_once) == (1.0, 3 / 5)


def test_no_alerts_at_all_are_no_error() -> None:
    alerts = judged(data(), OfTexts(SCORES.scores, np.zeros(4, bool)), 0.01).alerts
    assert (alerts.got, alerts.recall, alerts.precision_texts, alerts.per_10000) == (0, 0, 1, 0)


def test_trivial_scorers_stand_beside_it_and_the_level_only_where_there_is_more_than_one() -> None:
    found = baselines(data(), data())
    assert list(found) == ["longer is odder", "unusual length", "rare level"]
    # by level: both errors first, then a tie of six with one anomaly
    assert found["rare level"].records.average_precision == pytest.approx(2 / 3 + 1 / 3 * 3 / 8)
    assert "rare level" not in baselines(data(levels=np.zeros(8, np.int64)), data())


def test_what_makes_figures_doubtful_is_told() -> None:
    assert report().warnings() == ["only 2 different anomalous texts: another sample may give other figures"]
    leaky = report(
        data=describe(data(leaks=5), np.zeros(4, bool)), smallest_rate=0.2, scored=judged(data(), SCORES, 0.1)
    )
    warnings = "\n".join(leaky.warnings())
    assert "model input of 5 records holds their label" in warnings
    assert "rate of 0.1 is less than 0.2" in warnings


def test_tables_have_a_row_for_the_model_and_for_each_part_left_out() -> None:
    for grid in (order_grid(report()), alerts_grid(report())):
        assert [row[0] for row in grid.rows[:2]] == ["this model", "without novelty"]
        assert {len(row) for row in grid.rows} == {len(grid.header)}
        lines = plain(grid)
        assert len({len(line) for line in lines[1:]}) == 1, "columns are aligned"
    assert "20.00%" in plain(alerts_grid(report()))[2]


def test_facts_name_model_split_and_seed() -> None:
    told = "\n".join(facts(report()))
    assert "web version 0123, parts novelty, severity" in told
    assert "90 normal of 100 records (80 different texts)" in told
    assert "drawn at random; seed 7" in told
    assert "8 records, 3 of them anomalies; 4 different texts, 2 of them anomalous, 1 texts with both" in told
    assert "rejected: 1 invalid" in told


def test_the_json_report_is_read_again_as_it_was() -> None:
    assert msgspec.json.decode(msgspec.json.encode(report()), type=Report) == report()

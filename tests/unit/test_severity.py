"""The word list and what it makes of a text."""

from __future__ import annotations

import pytest

from consumer.errors import Misconfigured
from consumer.scoring.parts import FitTask
from consumer.scoring.severity import Severity
from consumer.scoring.severity_words import WEIGHTS, WHOLE


def weight(item: str) -> float:
    return float(Severity().fit(FitTask([], [])).measure([item]).values[0, 0])


def test_the_list_has_forty_stems_in_lower_case() -> None:
    assert len(WEIGHTS) == 40
    assert all(stem.isalpha() and stem.islower() for stem in WEIGHTS)
    assert set(WEIGHTS) > WHOLE
    assert all(each > 0 for each in WEIGHTS.values())


@pytest.mark.parametrize(
    ("item", "stems"),
    [
        ("session opened for user root", []),
        ("mount FAILED", ["fail"]),
        ("java.lang.NullPointerException", ["exception"]),
        ("<fatal> kernel panic", ["fatal", "panic"]),
        ("failed, failure, fails", ["fail"]),
        ("crash after panic: fatal error, warning", ["crash", "panic", "fatal"]),
        ("bad block", ["bad"]),
        ("badge of honour, baden, hungary", []),
        ("the deadline of a dead node", ["dead"]),
        ("afraid to unfail", []),
    ],
)
def test_the_three_heaviest_different_stems_count(item: str, stems: list[str]) -> None:
    assert weight(item) == sum(WEIGHTS[stem] for stem in stems)


def test_no_items_give_no_rows() -> None:
    assert Severity().fit(FitTask([], [])).measure([]).values.shape == (0, 1)


def test_a_model_keeps_the_words_that_it_was_fitted_with() -> None:
    facts = {"weights": {"blue": 7.0, "red": 2.0}, "whole": ["red"]}
    part = Severity().load({}, facts)
    assert part.measure(["bluest", "reddest", "red", "panic"]).values[:, 0].tolist() == [7.0, 0.0, 2.0, 0.0]
    assert part.save() == ({}, facts)


def test_a_model_without_words_is_refused() -> None:
    with pytest.raises(Misconfigured, match="severity"):
        Severity().load({}, {})

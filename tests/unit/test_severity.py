"""The word list and what it makes of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumer.errors import Misconfigured
from consumer.scoring.parts import FitTask
from consumer.scoring.severity import Severity
from consumer.scoring.severity_words import Words, parse_words, read_words, shipped_words

WEIGHTS, WHOLE = shipped_words()


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


def test_a_list_of_the_users_own_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("# ours\n\nOutage* 2.5  # stem\nred\t1\n")
    words = read_words(tmp_path / "words")
    assert words == Words({"outage": 2.5, "red": 1.0}, frozenset({"red"}))
    part = Severity(words).fit(FitTask([], []))
    assert part.measure(["OUTAGES", "red", "reddish", "panic"]).values[:, 0].tolist() == [2.5, 1.0, 0.0, 0.0]


def test_every_wrong_line_of_a_word_list_is_named() -> None:
    text = "fail* 3\nfail 2\nbad\nkaputt -1\nzero 0\n\u00fcbel 2\nhung 1.2.3\n"
    with pytest.raises(Misconfigured) as caught:
        parse_words(text, "w")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        f"w line {number}" for number in (2, 3, 4, 5, 6, 7)
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"\xff", "UTF-8"), (b"# none\n", "no word"), (b"fail 1\n" * 200_000, "longer"), (None, "No such file")],
)
def test_what_is_no_word_list_is_refused(tmp_path: Path, data: bytes | None, why: str) -> None:
    if data is not None:
        (tmp_path / "words").write_bytes(data)
    with pytest.raises(Misconfigured, match=why):
        read_words(tmp_path / "words")


def test_a_model_without_words_is_refused() -> None:
    with pytest.raises(Misconfigured, match="severity"):
        Severity().load({}, {})

"""`consumer fit` on wrong input: exit code 2, a sentence for every problem, nothing written."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from consumer.cli import cli
from consumer.cli_fit import _since


def fit(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["fit", *map(str, arguments)], input=stdin)


def test_too_few_texts_are_refused_in_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    result = fit("-", "--out", tmp_path / "m", stdin=b"user 1 in\nuser 2 in\nuser out\n" * 50)
    assert result.exit_code == 2
    assert "only 2 different texts in 150 records: fitting needs at least 8" in result.stderr
    assert not (tmp_path / "m").exists()


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    result = fit(tmp_path / "a", tmp_path / "b", "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert [line.rpartition(": ")[0] for line in result.stderr.splitlines()] == [
        f"{tmp_path / name}: cannot be read" for name in "ab"
    ]


def test_files_or_a_topic_are_needed_and_not_both(tmp_path: Path) -> None:
    for arguments in ([], ["x.log", "--topic", "events"]):
        result = fit(*arguments, "--out", tmp_path / "m")
        assert result.exit_code == 2
        assert "and not both" in result.stderr


def test_problems_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    result = fit("--from", "2026-01-31", "--out", tmp_path)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 3
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_mask_that_cannot_work_is_refused_by_name(tmp_path: Path) -> None:
    result = fit("-", "--mask", "order=[", "--out", tmp_path / "m", stdin=b"")
    assert result.exit_code == 2
    assert "mask 'order'" in result.stderr
    assert "not a regular expression" in result.stderr


def test_wrong_settings_are_refused_like_in_every_command(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    result = fit(tmp_path / "a.log", "--set", "input.max_bytes=-4", "--out", tmp_path / "m")
    assert result.exit_code == 2
    assert "input.max_bytes" in result.stderr


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1700000000123", 1700000000123),
        ("2023-11-14T22:13:20Z", 1700000000000),
        ("2023-11-14T23:13:20+01:00", 1700000000000),
        ("2023-11-14 22:13:20", 1700000000000),
        (None, None),
    ],
)
def test_times_are_read_as_utc_unless_they_say_otherwise(text: str | None, milliseconds: int | None) -> None:
    command = click.Command("x")
    assert _since(click.Context(command), click.Option(["--from"]), text) == milliseconds


def test_a_time_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(click.BadParameter, match="2026-01-31T12:00:00Z"):
        _since(click.Context(click.Command("x")), click.Option(["--from"]), "yesterday")

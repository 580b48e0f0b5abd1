"""Progress of a fit, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from consumer import cli_fit_progress
from consumer.cli_fit_progress import Bars, Lines, reporter


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cli_fit_progress, "time", made)
    return made


def test_a_stage_is_told_when_it_begins_and_every_ten_seconds_with_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines()
    for done in range(61):
        lines.stage("model 1/9", done, 100)
        clock.now += 0.5
    lines.stage("model 2/9", 0, 80)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "model 1/9: 0 of 100",
        "model 1/9: 20 of 100, 40 s left",
        "model 1/9: 40 of 100, 30 s left",
        "model 1/9: 60 of 100, 20 s left",
        "model 2/9: 0 of 80",
    ]


def test_reading_is_told_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for records in (5_000, 10_000, 15_000):
        lines.reading(records, records // 100)
        clock.now += 6
    assert capsys.readouterr().err.splitlines() == [
        "read 5000 records, 50 different texts",
        "read 15000 records, 150 different texts",
    ]


def test_on_a_terminal_only_the_bar_of_what_is_going_on_is_shown() -> None:
    with Progress(console=Console(file=io.StringIO(), force_terminal=True)) as progress:
        bars = Bars(progress)
        bars.reading(5_000, 12)
        bars.reading(9_000, 13)
        assert [(task.description, task.completed) for task in progress.tasks] == [
            ("read (13 different texts)", 9_000)
        ]
        for done in (1, 2):
            bars.stage("model 1/9", done, 40)
        bars.stage("model 2/9", 7, 40)
        assert [(task.description, task.completed, task.total) for task in progress.tasks] == [
            ("model 2/9", 7, 40)
        ]


def test_without_a_terminal_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with reporter() as shown:
        shown.stage("calibrate", 0, 1)
    assert capsys.readouterr().err == "calibrate: 0 of 1\n"

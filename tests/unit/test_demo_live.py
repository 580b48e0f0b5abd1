"""The passage while it lasts: a table where it can be drawn in place, lines elsewhere, then a summary."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from consumer.demo.figures import CACHE, DEVICE, KNOWN, REPEATS, Figures, Reading
from consumer.demo.live import frame, passage, summary
from consumer.demo.outputs import Result, Token
from consumer.demo.screen import Screen
from consumer.records import ClosedBy
from tests.unit.test_demo_figures import SIZE, Counting, replica

__all__ = ["replica"]

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
READING = Reading(
    at=7.0,
    figures=Figures(
        records=9_000,
        anomalies=123,
        lag=4_567,
        batched=9_010,
        closed_by={"count": 10, "byte_size": 0, "max_wait": 3, "idle_wait": 1},
        answered_by={KNOWN: 1_001, REPEATS: 2_002, CACHE: 303, DEVICE: 404},
    ),
    speed=1_234.4,
    answered=1,
    asked=2,
)


class Terminal(io.StringIO):
    """A file that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _able_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def screen_of(file: io.StringIO, width: int = 100, height: int = 40) -> Screen:
    return Screen(Console(file=file, width=width, height=height, legacy_windows=False))


def odd(identity: str, message: str, score: float, level: str = "ERROR") -> Result:
    return Result(
        identity, "scored", score, True, 2.0, message=message, level=level, tokens=(Token(0, 4, 9.0),)
    )


def drawn(*recent: Result, width: int = 100) -> list[str]:
    sink = io.StringIO()
    console = Console(file=sink, width=width)
    console.print(frame(Screen(console), "progress", READING, recent))
    return sink.getvalue().splitlines()


def under(lines: list[str], heading: str) -> str:
    """What stands two lines below a heading, where the heading ends."""
    (row,) = (number for number, line in enumerate(lines) if heading in line)
    end = lines[row].index(heading) + len(heading)
    return lines[row + 2][:end].split("  ")[-1].strip()


@pytest.mark.parametrize("width", [76, 80, 200])
def test_every_figure_stands_under_its_heading(width: int) -> None:
    lines = drawn(width=width)
    expected = {
        "records/s, last 5 s": "1,234",
        " lag": "4,567",
        "flagged": "123",
        "replicas heard": "1 of 2",
        "batches": "14",
        "mean size": "643.6",
        "all texts": "3,710",
        "known texts": "1,001",
        "repeats": "2,002",
        "cache hits": "303",
        "device": "404",
    }
    assert {heading: under(lines, heading) for heading in expected} == expected
    assert [under(lines, f"by {each}") for each in ClosedBy] == ["10", "0", "3", "1"]
    assert all(len(line) <= width for line in lines)


def test_the_oddest_of_the_recent_outputs_come_first_and_each_text_once() -> None:
    lines = drawn(odd("a", "disk 1 lost", 3.0), odd("b", "disk 2 lost", 3.0), odd("c", "fire", 4.0))
    assert [line.split()[0] for line in lines[-2:]] == ["4.00", "3.00"]
    assert any("last 3 outputs (2 different texts)" in line for line in lines)


def test_an_anomaly_takes_one_safe_line_however_long_wide_or_hostile_it_is() -> None:
    hostile = odd("a", "[red]\x1b[2J\u202e\r\n" + "漢" * 500, 3.0, level="漢" * 50 + "\x1b")
    lines = drawn(hostile, width=80)
    assert lines[-1].startswith("   3.00  漢漢")
    assert not set("".join(lines)) & set("\x1b\u202e\r")
    assert len(lines) == len(drawn(odd("a", "short", 3.0), width=80))


def test_the_summary_names_what_happened_in_one_line() -> None:
    assert summary(READING) == (
        "batches: 14, of 643.6 records on average, closed by count 10, max_wait 3, idle_wait 1;"
        " texts: 3,710, answered by known texts 1,001, repeats 2,002, cache hits 303, device 404"
        " (1 of 2 replicas answered)"
    )


def test_the_summary_says_when_nobody_answered_and_when_nothing_happened() -> None:
    assert summary(Reading(asked=2)) == "no replica told its metrics"
    assert "closed by nothing; texts: 0, answered by nothing" in summary(Reading(answered=1, asked=1))


# The passage


def passed(screen: Screen, port: int) -> None:
    with passage(screen, [port], 2) as show:
        show([odd("a", "fire in the hall", 4.0)], 1)
        show([odd("b", "ice", 3.0)], 2)


def test_on_a_terminal_the_last_table_has_everything_and_the_cursor_is_back(
    replica: tuple[Counting, int],
) -> None:
    counting, port = replica
    counting.batch(ClosedBy.AGE)
    sink = Terminal()
    passed(screen_of(sink), port)
    *_, last = sink.getvalue().split("2 of 2")
    assert " in the hall" in last
    assert f" {SIZE}.0" in last
    assert "1 of 1" in last
    assert sink.getvalue().rindex(SHOW) > sink.getvalue().rindex(HIDE)
    assert f"batches: 1, of {SIZE}.0 records on average, closed by max_wait 1;" in last


def test_ctrl_c_in_the_middle_brings_the_cursor_back_and_is_passed_on(replica: tuple[Counting, int]) -> None:
    def interrupted(screen: Screen) -> None:
        with passage(screen, [replica[1]], 2) as show:
            show([], 0)
            raise KeyboardInterrupt

    sink = Terminal()
    with pytest.raises(KeyboardInterrupt):
        interrupted(screen_of(sink))
    assert sink.getvalue().rindex(SHOW) > sink.getvalue().rindex(HIDE)
    assert "on average" not in sink.getvalue()


def test_without_a_terminal_lines_and_the_summary_are_all(replica: tuple[Counting, int]) -> None:
    counting, port = replica
    counting.batch(ClosedBy.AGE)
    sink = io.StringIO()
    passed(screen_of(sink), port)
    assert sink.getvalue().splitlines() == [
        "  scored and read by the subscriber: 1 of 2",
        "  scored and read by the subscriber: 2 of 2",
        f"batches: 1, of {SIZE}.0 records on average, closed by max_wait 1;"
        " texts: 4, answered by known texts 4",
    ]


def test_a_narrow_or_low_terminal_gets_a_bar_and_a_dumb_one_lines(
    replica: tuple[Counting, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width, height in ((60, 40), (100, 10)):
        sink = Terminal()
        passed(screen_of(sink, width, height), replica[1])
        assert "2/2" in sink.getvalue()
        assert "lag" not in sink.getvalue()
    monkeypatch.setenv("TERM", "dumb")
    sink = Terminal()
    passed(screen_of(sink), replica[1])
    assert "\x1b" not in sink.getvalue()
    assert "2 of 2\nbatches: 0, of" in sink.getvalue()


def test_colours_that_are_forced_on_a_file_do_not_make_it_a_terminal(
    replica: tuple[Counting, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    sink = io.StringIO()
    passed(screen_of(sink), replica[1])
    assert "\x1b[" not in sink.getvalue()


def test_without_colours_a_terminal_still_draws_and_the_words_are_set_off(
    replica: tuple[Counting, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    sink = Terminal()
    passed(screen_of(sink), replica[1])
    assert HIDE in sink.getvalue()
    assert "»fire«" in sink.getvalue()
    assert "\x1b[1;31m" not in sink.getvalue()

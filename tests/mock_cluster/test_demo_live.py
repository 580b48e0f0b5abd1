"""The whole demonstration, small, as somebody starts it: in a terminal, and with its output in a file."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from consumer.demo.figures import CACHE, DEVICE, KNOWN, REPEATS
from consumer.records import ClosedBy

pytestmark = [pytest.mark.mock_cluster, pytest.mark.torch]

RECORDS = 1_000
COMMAND = [sys.executable, "-m", "consumer", "demo", "--records", str(RECORDS)]
PATIENCE = 240.0
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
SUMMARY = re.compile(
    r"batches: (?P<batches>[\d,]+), of (?P<size>[\d,.]+) records on average, closed by (?P<closed>[^;]+);"
    r" texts: (?P<texts>[\d,]+), answered by (?P<answered>.+)"
)


class Ended(NamedTuple):
    """What was written, and the exit code."""

    text: str
    code: int


def environment() -> dict[str, str]:
    """An able terminal, whatever runs the tests."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")
    kept = {name: text for name, text in os.environ.items() if name not in unwanted}
    return {**kept, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}


@contextmanager
def terminal_of(columns: int, lines: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The demonstration at work in a terminal of its own, which is also where its Ctrl-C comes from."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _IN_FRONT, *COMMAND],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield ours, process
    finally:
        process.kill()
        process.wait()
        os.close(ours)


_IN_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def in_terminal(react: Callable[[str], bytes] = lambda _: b"", columns: int = 100, lines: int = 40) -> Ended:
    """Run it to its end; what `react` makes of all that was written so far is typed."""
    written = b""
    with terminal_of(columns, lines) as (ours, process):
        while chunk := _read(ours):
            written += chunk
            if keys := react(written.decode("utf-8", "replace")):
                os.write(ours, keys)
        return Ended(written.decode(), process.wait(PATIENCE))


def _read(terminal: int) -> bytes:
    """Nothing once the last program has left the terminal. Fails the test after PATIENCE of silence."""
    readable, _, _ = select.select([terminal], [], [], PATIENCE)
    assert readable, "the demonstration is silent"
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def number(text: str) -> float:
    return float(text.replace(",", ""))


def under(lines: Sequence[str], heading: str) -> list[float]:
    """What every table that was drawn shows under a heading."""
    found = []
    for row, line in enumerate(lines[:-2]):
        if heading in line and lines[row + 1].startswith("──"):
            end = line.index(heading) + len(heading)
            found.append(number(lines[row + 2][:end].split()[-1]))
    return found


def counts(text: str) -> dict[str, float]:
    """`a 1, b 2` as a table."""
    named = (part.rpartition(" ") for part in re.split(r", (?=[a-z])", text.strip()))
    return {name: number(count) for name, _, count in named}


@pytest.fixture(scope="module")
def shown() -> Ended:
    return in_terminal()


def test_on_a_terminal_the_live_table_shows_the_figures_of_real_replicas(shown: Ended) -> None:
    assert shown.code == 0, shown.text[-3_000:]
    lines = CONTROL.sub("", shown.text).splitlines()
    assert len(under(lines, "all texts")) > 2, "drawn once is not live"
    for heading in ("records/s, last 5 s", "flagged", "batches", "mean size", "all texts"):
        assert max(under(lines, heading)) > 0, heading
    closed = sum(under(lines, f"by {each}")[-1] for each in ClosedBy)
    assert closed == under(lines, "batches")[-1]
    texts = sum(under(lines, heading)[-1] for heading in (KNOWN, REPEATS, CACHE, DEVICE))
    assert 0.9 * RECORDS < texts <= RECORDS
    assert texts == under(lines, "all texts")[-1]
    assert under(lines, " lag")[-1] == 0


def test_the_top_anomalies_of_the_moment_stand_below_the_table(shown: Ended) -> None:
    *_, last = CONTROL.sub("", shown.text).split("top anomalies of the last ")
    heading, *lines = last.splitlines()
    assert heading.startswith(f"{RECORDS:,} outputs (")
    assert all(re.match(r" +\d\.\d\d  \S*", line) for line in lines[:5]), lines[:5]


def test_the_cursor_is_back_at_the_end(shown: Ended) -> None:
    assert shown.text.rindex(SHOW) > shown.text.rindex(HIDE)


def test_ctrl_c_in_the_middle_ends_it_cleanly_and_brings_the_cursor_back() -> None:
    typed = []

    def react(text: str) -> bytes:
        if typed or "records/s, last" not in text:
            return b""
        typed.append(b"\x03")
        return typed[0]

    ended = in_terminal(react)
    assert ended.code == 1
    assert ended.text.rstrip().endswith("Aborted!")
    assert "Traceback" not in ended.text
    assert ended.text.rindex(SHOW) > ended.text.rindex(HIDE)


def test_without_a_terminal_plain_lines_and_one_with_the_same_figures() -> None:
    forced = {**environment(), "FORCE_COLOR": "1"}
    done = subprocess.run(COMMAND, env=forced, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    assert HIDE not in done.stdout
    plain = CONTROL.sub("", done.stdout)
    assert f"  scored and read by the subscriber: {RECORDS:,} of {RECORDS:,}\n" in plain
    found = SUMMARY.search(plain)
    assert found is not None, plain
    closed, answered = counts(found["closed"]), counts(found["answered"])
    assert sum(closed.values()) == number(found["batches"]) > 0
    assert sum(answered.values()) == number(found["texts"]) > 0
    assert closed.keys() <= set(ClosedBy)
    assert number(found["batches"]) * number(found["size"]) == pytest.approx(RECORDS, rel=0.01)

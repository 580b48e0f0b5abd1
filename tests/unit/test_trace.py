"""The timeline of the work, as a viewer reads it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from consumer.errors import Misconfigured
from consumer.ops.trace import Timeline, timeline
from consumer.records import ClosedBy, Entry, Event, MicroBatch, Output, Record, Score


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


ENTRY = Entry(Record("events", 0, 0, b"x"), Event("x"))
BATCH = MicroBatch((ENTRY, ENTRY), ClosedBy.COUNT, 0.0)
OUTPUTS = [Output(ENTRY, Score(1.0, False, 2.0))] * 2


def told(text: str) -> list[dict[str, Any]]:
    """Everything but names."""
    return [event for event in json.loads(text) if event["ph"] != "M"]


def test_a_micro_batch_is_a_poll_a_span_of_the_device_and_a_publication() -> None:
    file, clock = io.StringIO(), Clock()
    timed = Timeline(file, clock)
    timed.polled(2, 0.25, 100.25)
    clock.at = 101.0
    timed.scored(BATCH, 0.5)
    clock.at = 102.0
    timed.published(OUTPUTS, 0.75)
    timed.close()
    poll, device, begin, end = told(file.getvalue())
    assert (poll["name"], poll["ts"], poll["dur"], poll["args"]) == ("poll", 0, 250_000, {"records": 2})
    assert (device["name"], device["ts"], device["dur"]) == ("device", 500_000, 500_000)
    assert (begin["ph"], begin["ts"], end["ph"], end["ts"]) == ("b", 1_250_000, "e", 2_000_000)
    assert begin["id"] == end["id"]
    assert poll["tid"] != device["tid"]


def test_publications_that_overlap_are_told_apart_and_empty_polls_are_left_out() -> None:
    file = io.StringIO()
    timed = Timeline(file, Clock())
    timed.polled(0, 0.1, 100.1)
    timed.published(OUTPUTS, 0.5)
    timed.published(OUTPUTS, 0.25)
    timed.close()
    assert len({event["id"] for event in told(file.getvalue())}) == 2


def test_a_full_file_is_whole_and_the_work_goes_on() -> None:
    file = io.StringIO()
    timed = Timeline(file, Clock(), most=3)
    for _ in range(10):
        timed.scored(BATCH, 0.5)
    timed.close()
    assert len(told(file.getvalue())) == 3


def test_a_disk_that_takes_no_more_is_told_once() -> None:
    class Full(io.StringIO):
        full = False

        def write(self, text: str) -> int:
            if self.full:
                raise OSError("No space left on device")
            return super().write(text)

    file = Full()
    timed = Timeline(file, Clock())
    file.full = True
    with pytest.raises(OSError, match="No space"):
        timed.scored(BATCH, 0.5)
    timed.scored(BATCH, 0.5)
    timed.close()


def _fail_at_work(timed: Timeline) -> None:
    timed.scored(BATCH, 0.5)
    raise OSError("one of the work, not of the file")


def test_a_file_is_whole_also_when_the_work_failed(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the work"), timeline(tmp_path / "t.json", Clock()) as timed:
        _fail_at_work(timed)
    assert len(told((tmp_path / "t.json").read_text())) == 1


def test_a_file_that_cannot_be_written_is_named_before_the_work_begins(tmp_path: Path) -> None:
    with (
        pytest.raises(Misconfigured, match=r"--trace .*/none/t\.json: No such file"),
        timeline(tmp_path / "none" / "t.json", Clock()),
    ):
        pass


def test_a_pipe_that_nobody_reads_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Misconfigured, match="not a regular file"), timeline(tmp_path / "pipe", Clock()):
        pass

"""The work as a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open: Chrome's trace event
format, as an array of JSON objects.

Polls and the device have a lane each, in which nothing overlaps. Micro-batches that wait for their
acknowledgements do overlap; each is a span of its own above them. So a glance shows whether records are
read and results are acknowledged while the device computes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from consumer.errors import Misconfigured
from consumer.ports import Observer
from consumer.records import MicroBatch, Output

MOST = 1_000_000
"""Spans that a file holds, about 120 bytes each; then it ends, and the work goes on without."""

_LANES = {"poll": 1, "device": 2}


class Timeline(Observer):
    """Writes each span as it ends. One thread calls; `now` is the clock of the loop, in seconds.

    A file that takes nothing any more raises OSError once, to whoever told the event, and is left alone.
    """

    def __init__(self, file: IO[str], now: Callable[[], float], most: int = MOST) -> None:
        self._file, self._now, self._most = file, now, most
        self._began = now()
        self._spans = 0
        self._device_free = 0.0
        self._ended = False
        file.write("[")
        names = [_named(lane, name) for name, lane in _LANES.items()]
        self._write([_named(None, "consumer"), *names], first=True)

    def polled(self, records: int, seconds: float, now: float) -> None:
        if records:
            self._span("poll", now - seconds, now, records)

    def scored(self, batch: MicroBatch, seconds: float) -> None:
        now = self._now()  # a moment later than the step that it belongs to
        self._span("device", max(now - seconds, self._device_free), now, len(batch.entries))
        self._device_free = now

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        """Spans of one kind that overlap are told apart by their number."""
        now, number = self._now(), self._spans
        span = {"cat": "publish", "name": "publish", "id": number, "pid": 1, "tid": 0}
        sent, acknowledged = self._micros(now - seconds), self._micros(now)
        args = {"records": len(outputs)}
        self._add({**span, "ph": "b", "ts": sent, "args": args}, {**span, "ph": "e", "ts": acknowledged})

    def close(self) -> None:
        """Make the file whole."""
        if not self._ended:
            self._ended = True
            self._file.write("\n]\n")

    def _span(self, lane: str, begin: float, end: float, records: int) -> None:
        what = {"name": lane, "ph": "X", "pid": 1, "tid": _LANES[lane], "args": {"records": records}}
        since = self._micros(begin)
        self._add({**what, "ts": since, "dur": max(0, self._micros(end) - since)})

    def _add(self, *events: dict[str, Any]) -> None:
        if self._ended:
            return
        self._spans += 1
        try:
            self._write(events)
            if self._spans == self._most:
                self.close()
        except OSError:
            self._ended = True
            raise

    def _write(self, events: Sequence[dict[str, Any]], *, first: bool = False) -> None:
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        self._file.write(("\n" if first else ",\n") + lines)

    def _micros(self, at: float) -> int:
        """Since the beginning."""
        return round((at - self._began) * 1e6)


def _named(lane: int | None, name: str) -> dict[str, Any]:
    what = {"ph": "M", "pid": 1, "args": {"name": name}}
    return {"name": "process_name", **what} if lane is None else {"name": "thread_name", "tid": lane, **what}


@contextlib.contextmanager
def timeline(path: Path, now: Callable[[], float]) -> Iterator[Timeline]:
    """A Timeline into a new file, which replaces one that is there. Raises Misconfigured when it cannot."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, here and while the work goes on
        raise Misconfigured([f"--trace {path}: is not a regular file"])
    try:
        file = path.open("w", encoding="ascii")
    except OSError as error:
        raise Misconfigured([f"--trace {path}: {error.strerror}"]) from error
    told = Timeline(file, now)
    try:
        yield told
    finally:
        for close in (told.close, file.close):
            with contextlib.suppress(OSError):  # what is buffered may not fit: the work is done all the same
                close()

"""Progress of `consumer fit`: bars with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_LINE_EVERY = 10.0  # seconds


class Reporter(Protocol):
    """Shows how far reading and fitting are. Writes to standard error only."""

    def reading(self, records: int, items: int) -> None: ...

    def stage(self, name: str, done: int, total: int) -> None: ...


@contextmanager
def reporter() -> Iterator[Reporter]:
    """Bars when standard error is a terminal, lines otherwise."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)


class Bars:
    """One bar: that of what is going on now."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._shown: tuple[str, TaskID] | None = None

    def reading(self, records: int, items: int) -> None:
        self._show("read", f"read ({items} different texts)", records, None)

    def stage(self, name: str, done: int, total: int) -> None:
        self._show(name, name, done, total)

    def _show(self, key: str, text: str, done: int, total: int | None) -> None:
        if self._shown is None or self._shown[0] != key:
            if self._shown is not None:
                self._progress.remove_task(self._shown[1])
            self._shown = key, self._progress.add_task(text, total=total)
        self._progress.update(self._shown[1], description=text, completed=done, total=total)


class Lines:
    """A line when a stage begins, and every ten seconds; with the time left once it can be told."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = self._told = 0.0

    def reading(self, records: int, items: int) -> None:
        if self._due("read"):
            _say(f"read {records} records, {items} different texts")

    def stage(self, name: str, done: int, total: int) -> None:
        if self._due(name):
            left = self._left(done, total)
            _say(f"{name}: {done} of {total}" + (f", {left:.0f} s left" if left is not None else ""))

    def _due(self, stage: str) -> bool:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._told = stage, now, now
            return True
        if now - self._told < _LINE_EVERY:
            return False
        self._told = now
        return True

    def _left(self, done: int, total: int) -> float | None:
        """Seconds, if the rest goes as the part that is done."""
        spent = time.monotonic() - self._began
        return spent * (total - done) / done if done and spent > 1.0 else None


def _say(line: str) -> None:
    click.echo(line, err=True)

"""Where the demonstration writes: colours, bars and tables in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

_LINE_EVERY: Final = 3.0  # seconds between two lines of progress where there is no terminal
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MARKED: Final = "bold red"

Update = Callable[[int], None]
Draw = Callable[[RenderableType], None]


class Screen:
    """Says lines and shows how far something is. What is logged is never read as markup."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def width(self) -> int:
        """Characters in a line, now."""
        return self._console.width

    def redraws(self, width: int = 1, height: int = 1) -> bool:
        """Whether something of that size can be shown and changed in place. A forced terminal
        (FORCE_COLOR) may have colours, but what was written to it stays."""
        console = self._console
        able = console.is_terminal and console.is_interactive and console.file.isatty()
        return able and console.width >= width and console.height >= height

    def say(self, line: str | Text = "", style: str = "") -> None:
        text = line if isinstance(line, Text) else Text(line, style)
        self._console.print(text, soft_wrap=True, highlight=False)

    def heading(self, line: str) -> None:
        self.say()
        self.say(line, "bold")

    def marked(self, message: str, spans: Sequence[tuple[int, int]], width: int) -> Text:
        """The message in one safe line of at most `width` characters, the spans (ascending) set off:
        in colour where there are colours, between » and « elsewhere. A long message begins near the first
        span."""
        end = max(0, spans[0][0] - width // 3) if spans and len(message) > width else 0
        text = Text("…" if end else "")
        for start, stop in spans:
            if start < end:
                continue
            text.append(printable(message[end:start]))
            word = printable(message[start:stop])
            text.append(word if self._coloured() else f"»{word}«", _MARKED)
            end = stop
        text.append(printable(message[end:]))
        text.truncate(width, overflow="ellipsis")
        return text

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Update]:
        """Shows `done` of `total` whenever the yielded function is called with it."""
        if not self.redraws():
            yield self._lines(what, total)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done: progress.update(task, completed=done)

    @contextmanager
    def live(self) -> Iterator[Draw]:
        """Shows in one place what the yielded function was called with last; it stays there afterwards.
        The cursor is hidden for as long as the block lasts, however it ends. Only where `redraws`."""
        with Live(console=self._console, auto_refresh=False) as live:
            yield lambda frame: live.update(frame, refresh=True)

    def _coloured(self) -> bool:
        return self._console.color_system is not None and not self._console.no_color

    def _lines(self, what: str, total: int) -> Update:
        told, at = -1, 0.0

        def update(done: int) -> None:
            nonlocal told, at
            now = time.monotonic()
            if done != told and (done == total or now - at >= _LINE_EVERY):
                told, at = done, now
                self.say(f"  {what}: {done:,} of {total:,}")

        return update


def printable(text: str) -> str:
    """Without control characters and those that change the direction or the width of a text; a line end
    becomes a sign of its own."""
    return _UNPRINTABLE.sub("", re.sub(r"\r?\n\s*", " ↵ ", text).replace("\t", " "))

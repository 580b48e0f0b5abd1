"""Where the demonstration writes: colours and bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

_LINE_EVERY: Final = 3.0  # seconds between two lines of progress where there is no terminal
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_MARKED: Final = "bold red"

Update = Callable[[int], None]


class Screen:
    """Says lines and shows how far something is. What is logged is never read as markup."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, line: str | Text = "", style: str = "") -> None:
        text = line if isinstance(line, Text) else Text(line, style)
        self._console.print(text, soft_wrap=True, highlight=False)

    def heading(self, line: str) -> None:
        self.say()
        self.say(line, "bold")

    def marked(self, message: str, spans: Sequence[tuple[int, int]], width: int) -> Text:
        """The message in one safe line of at most `width` characters, the spans (ascending) set off:
        in colour on a terminal, between » and « elsewhere. A long message begins near the first span."""
        end = max(0, spans[0][0] - width // 3) if spans and len(message) > width else 0
        text = Text("…" if end else "")
        for start, stop in spans:
            if start < end:
                continue
            text.append(printable(message[end:start]))
            word = printable(message[start:stop])
            text.append(word if self._console.is_terminal else f"»{word}«", _MARKED)
            end = stop
        text.append(printable(message[end:]))
        text.truncate(width, overflow="ellipsis")
        return text

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Update]:
        """Shows `done` of `total` whenever the yielded function is called with it."""
        if not self._console.is_terminal:
            yield self._lines(what, total)
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(what, total=total)
            yield lambda done: progress.update(task, completed=done)

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

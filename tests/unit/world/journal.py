"""What happened, in order, from every fake."""

from __future__ import annotations

from typing import Any, NamedTuple


class Violation(AssertionError):
    """The loop broke an invariant of the delivery contract."""


class Line(NamedTuple):
    time: float
    what: str
    detail: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.time:10.4f}  {self.what:14} " + " ".join(map(_shown, self.detail))


def _shown(detail: Any) -> str:
    if isinstance(detail, dict):
        return "{" + ", ".join(f"{key}: {_shown(value)}" for key, value in detail.items()) + "}"
    return str(detail)


class Journal:
    """Lines in the order in which they were written; the clock stamps them."""

    def __init__(self, now: Any) -> None:
        self._now = now
        self.lines: list[Line] = []
        self.idle_polls = 0  # polls that brought nothing: no sign of progress

    def __len__(self) -> int:
        return len(self.lines)

    def note(self, what: str, *detail: Any) -> None:
        self.lines.append(Line(self._now(), what, detail))

    def all(self, *kinds: str) -> list[Line]:
        return [line for line in self.lines if line.what in kinds]

    def kinds(self, *kinds: str) -> list[str]:
        """The kinds that were noted, in order, of those asked for."""
        return [line.what for line in self.lines if line.what in kinds]

    def count(self, what: str) -> int:
        return sum(line.what == what for line in self.lines)

    def tail(self, lines: int = 60) -> str:
        return "\n".join(map(str, self.lines[-lines:]))

"""The same complaint over and over, once in a while."""

from __future__ import annotations

_EVERY = 10.0  # seconds between two events of one kind


class Limiter:
    """Lets one event of a kind through every `seconds` and counts the ones in between."""

    def __init__(self, seconds: float = _EVERY) -> None:
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def passes(self, kind: str, now: float) -> int | None:
        """How many of the kind were held back since the last that passed; None when this one is too."""
        last = self._last.get(kind)
        if last is not None and now - last < self._seconds:
            self._held_back[kind] = self._held_back.get(kind, 0) + 1
            return None
        self._last[kind] = now
        return self._held_back.pop(kind, 0)

"""Time that moves only when somebody waits."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

_PATIENCE = 20_000


class FakeClock:
    """The loop's clock, with an agenda of what the world does at which moment."""

    def __init__(self) -> None:
        self._time = 1000.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._asked = 0  # how often the time was asked for since it moved

    def now(self) -> float:
        self._asked += 1
        if self._asked > _PATIENCE:
            raise AssertionError("busy loop: the time is asked for again and again, and nobody waits")
        return self._time

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def at(self, moment: float, action: Callable[[], None]) -> None:
        heappush(self._agenda, (moment, next(self._order), action))

    def advance(self, seconds: float) -> None:
        self.advance_to(self._time + seconds)

    def advance_to(self, moment: float) -> None:
        """Let time pass; what the agenda holds until then happens in its order."""
        while self._agenda and self._agenda[0][0] <= moment:
            at, _, action = heappop(self._agenda)
            self._time = max(self._time, at)
            action()
        if moment > self._time:
            self._time, self._asked = moment, 0

    def wait(self, done: Callable[[], bool], deadline: float) -> bool:
        """Let time pass until `done()` or `deadline`."""
        while not done() and self._time < deadline:
            following = self._agenda[0][0] if self._agenda else deadline
            self.advance_to(min(following, deadline))
        return done()

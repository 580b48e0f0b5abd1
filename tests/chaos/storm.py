"""Carries a schedule out: strikes are generators that yield how long they want to wait, so that one thread
runs all that overlap."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeAlias

from tests.chaos.faults import AT_ONCE, Lane
from tests.chaos.schedule import Step

Strike: TypeAlias = Generator[float, None, bool]
"""Yields seconds to wait; returns whether the fault really hit somebody."""


_TICK = 0.1


def until(happened: Callable[[], object], seconds: float) -> Strike:
    """A part of a strike: wait so many seconds for something; whether it happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        yield _TICK
    return True


class Struck(NamedTuple):
    """A step that is over; `began` and `ended` are seconds from the beginning of the storm."""

    step: Step
    began: float
    ended: float
    hit: bool


class _Underway:
    """A strike between two of its waits."""

    def __init__(self, step: Step, strike: Strike, now: float) -> None:
        self.step, self.strike = step, strike
        self.began = self.due = now


class Storm:
    """Steps start in the order of their times, each once its time has come and its lane has room."""

    def __init__(self, steps: Sequence[Step], begin: Callable[[Step], Strike]) -> None:
        self._begin = begin
        self._lanes = {lane: deque(s for s in steps if s.fault.lane is lane) for lane in Lane}
        self._underway: list[_Underway] = []
        self.struck: list[Struck] = []

    @property
    def over(self) -> bool:
        return not self._underway and not any(self._lanes.values())

    def advance(self, now: float) -> None:
        """Start what is due and go on with what has waited long enough. `now`: seconds from the start.
        Raises what a strike raises."""
        for step in self._ready(now):
            self._underway.append(_Underway(step, self._begin(step), now))
        for each in [u for u in self._underway if u.due <= now]:
            self._go_on(each, now)

    def close(self) -> None:
        """Give up what is under way; each strike may heal what it broke."""
        for each in self._underway:
            each.strike.close()

    def _ready(self, now: float) -> list[Step]:
        busy = Counter(u.step.fault.lane for u in self._underway)
        ready = []
        for lane, waiting in self._lanes.items():
            while waiting and waiting[0].at <= now and busy[lane] < AT_ONCE.get(lane, 1):
                busy[lane] += 1
                ready.append(waiting.popleft())
        return ready

    def _go_on(self, each: _Underway, now: float) -> None:
        try:
            each.due = now + next(each.strike)
        except StopIteration as end:
            self._underway.remove(each)
            self.struck.append(Struck(each.step, each.began, now, bool(end.value)))

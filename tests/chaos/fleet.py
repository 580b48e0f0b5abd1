"""Replicas under supervision: who ends is replaced, as an orchestrator would."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from tests.kafka.replicas import Replica

_PAUSE = 0.4  # seconds between two starts: processes that start share two cores with all others


class Exit(NamedTuple):
    """How a replica ended. `code` is negative for a signal; `why`: what it says itself, if anything;
    `worked`: it had records."""

    name: str
    code: int
    why: str = ""
    worked: bool = True


class _LogLine(msgspec.Struct):
    """What is read of a line of a replica's log."""

    action: str = ""
    message: str = ""
    why: str = ""


def last_words(log: str) -> str:
    """Why a process ended, by its own log: of its last line about something fatal, or its last line."""
    lines = [line for line in log.splitlines() if line.strip()]
    for line in reversed(lines):
        with suppress(msgspec.MsgspecError):
            said = msgspec.json.decode(line, type=_LogLine)
            if said.action == "fatal":
                return said.why or said.message
    return lines[-1] if lines else ""


class Fleet:
    """Keeps `wanted` replicas running from one tend() to the next. A strike claims its victim, so that no
    other takes it away. `start` is given a name and returns at once."""

    def __init__(
        self, prefix: str, wanted: int, start: Callable[[str], Replica], pause: float = _PAUSE
    ) -> None:
        self._prefix, self._start, self._pause = prefix, start, pause
        self._number = 0
        self._last_start = float("-inf")
        self._claimed: set[str] = set()
        self._leaving: set[str] = set()
        self._worked: set[str] = set()
        self.wanted = wanted
        self.running: list[Replica] = []
        self.exits: list[Exit] = []

    @property
    def staying(self) -> list[Replica]:
        """Those that nobody told to leave."""
        return [r for r in self.running if r.name not in self._leaving]

    def tend(self) -> None:
        """Take note of who ended, and start whoever is missing, one at a time."""
        for replica in [r for r in self.running if not r.running]:
            code = replica.wait(10)
            why = last_words(replica.log) if code > 0 else ""
            self.exits.append(Exit(replica.name, code, why, self._has_worked(replica)))
            self.running.remove(replica)
        now = time.monotonic()
        if len(self.staying) < self.wanted and now - self._last_start >= self._pause:
            self._last_start = now
            self._number += 1
            self.running.append(self._start(f"{self._prefix}-{self._number}"))

    def resize(self, wanted: int) -> None:
        """Tell those to leave that are too many, except who is claimed; missing ones come with tend()."""
        self.wanted = wanted
        free = [r for r in self.staying if r.name not in self._claimed]
        for replica in free[: max(0, len(self.staying) - wanted)]:
            self._leaving.add(replica.name)
            replica.signal(signal.SIGTERM)

    def claim(self, pick: int) -> Replica | None:
        """One that has had records and that nobody has claimed; None when there is none now."""
        free = [r for r in self.staying if r.name not in self._claimed and r.running and self._has_worked(r)]
        if not free:
            return None
        victim = free[pick % len(free)]
        self._claimed.add(victim.name)
        return victim

    def release(self, victim: Replica) -> None:
        self._claimed.discard(victim.name)

    def _has_worked(self, replica: Replica) -> bool:
        if replica.name not in self._worked and replica.polled():
            self._worked.add(replica.name)
        return replica.name in self._worked

"""A process that kills itself between two steps of the line, where the test wants it."""

from __future__ import annotations

import os
import signal
import time
from enum import StrEnum
from pathlib import Path

from tests.kafka.eventlog import EventLog
from tests.kafka.history import Action

# Long enough for the client to send what it was handed: written by the broker, unknown to us.
ON_ITS_WAY = 0.3


class Boundary(StrEnum):
    """Where a process may be told to die: each lies between two steps of the line."""

    AFTER_POLL = "after_poll"
    AFTER_SCORE = "after_score"
    AFTER_PRODUCE = "after_produce"
    AFTER_ACKS = "after_acks"
    IN_TRANSACTION = "in_transaction"  # results are produced, their offsets are not in it yet
    BEFORE_COMMIT = "before_commit"


class Failpoint:
    """SIGKILLs this process when it passes a boundary.

    `spec` reads `boundary:countdown:in_flight`: at the `countdown`-th passing, or at the first one after
    it with so many batches under way. "" never kills. With `armed_by` passings count only once that file
    exists.
    """

    def __init__(self, spec: str, armed_by: Path | None, log: EventLog) -> None:
        self._armed_by, self._log = armed_by, log
        self.in_flight = 0
        self.set(spec)

    def set(self, spec: str) -> None:
        """From now on this one."""
        boundary, _, numbers = spec.partition(":")
        countdown, _, least = numbers.partition(":")
        self._boundary = Boundary(boundary) if boundary else None
        self._countdown, self._least = int(countdown or 1), int(least or 0)

    def passed(self, boundary: Boundary, delay: float = 0.0) -> None:
        if boundary is not self._boundary or (self._armed_by and not self._armed_by.exists()):
            return
        self._countdown -= 1
        if self._countdown > 0 or self.in_flight < self._least:
            return
        self._log.write(Action.FAILPOINT, counts={0: self.in_flight})
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)

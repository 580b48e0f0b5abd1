"""Signals, the drain deadline, and the way out of a client call that never returns.

The main thread may sit inside C for seconds, so neither Python signal handlers nor the loop can be
trusted to act in time. Python's C-level handler writes each signal's number into a socket the moment it
arrives, in whichever thread the kernel chose; a small thread reads it. Blocking the signals and waiting
with `sigwait` would do the same only if no thread existed before: merely importing numpy starts one that
takes a SIGTERM with the default action, which ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple, TypeAlias

from consumer.ports import Observer

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TICK = 0.25  # seconds between two looks at the deadlines
_LAST_RESORT = 5.0  # seconds after the drain deadline until a process that holds Python's lock is ended
_STDERR = 2

_Handler: TypeAlias = Callable[[int, FrameType | None], object] | int


class Limits(NamedTuple):
    """Seconds: `shutdown.drain_timeout` and `kafka.max_poll_interval`."""

    drain_timeout: float
    max_poll_interval: float


class Watch(Observer):
    """When the process must stop, and when it must go at once: pure state, time is an argument.

    `uncommitted` tells how many records are finished or under way without a committed offset; it is
    called from the watching thread and must only read.
    """

    def __init__(self, limits: Limits, uncommitted: Callable[[], int]) -> None:
        self._limits = limits
        self._uncommitted = uncommitted
        self._asked_at: float | None = None
        self._again = False
        self._call: tuple[str, float] | None = None

    @property
    def requested(self) -> bool:
        """A signal asked us to finish what is under way and stop."""
        return self._asked_at is not None

    def signalled(self, now: float) -> None:
        self._again = self.requested
        if self._asked_at is None:
            self._asked_at = now

    def entered_call(self, name: str, now: float) -> None:
        self._call = (name, now)

    def left_call(self, now: float) -> None:  # noqa: ARG002 - the observer's signature
        self._call = None

    def must_go(self, now: float) -> str | None:
        """Why the process must end this moment, in one line; None while it need not."""
        if self._again:
            return f"second signal: exit without committing, {self._left()}"
        if self._asked_at is not None and now - self._asked_at >= self._limits.drain_timeout:
            return (
                f"not finished {now - self._asked_at:.0f} s after the first signal"
                f" (shutdown.drain_timeout): exit, {self._left()}"
            )
        return self._blocked(now)

    def _blocked(self, now: float) -> str | None:
        call = self._call
        if call is None or now - call[1] < self._limits.max_poll_interval:
            return None
        return (
            f"`{call[0]}` has not returned for {now - call[1]:.0f} s (kafka.max_poll_interval), so the group"
            f" gives our partitions to others: exit, {self._left()}"
        )

    def _left(self) -> str:
        try:
            count = str(self._uncommitted())
        except Exception:  # read while the loop changes it: the number is not worth the exit
            count = "an unknown number of"
        return f"{count} records uncommitted; they will be delivered again"


class System(NamedTuple):
    """What the watching thread does to the process; a test puts recorders here.

    `arm(seconds)` ends the process from C after that time even when no Python code can run any more.
    """

    now: Callable[[], float]
    exit: Callable[[str], None]
    arm: Callable[[float], None]


def _arm(seconds: float) -> None:
    faulthandler.dump_traceback_later(seconds, exit=True, file=_STDERR)


def say(line: str) -> None:
    """Write one line to standard error, or drop it if that would block or fail."""
    try:
        if select.select([], [_STDERR], [], 0)[1]:
            os.write(_STDERR, f"consumer: {line}\n".encode())
    except (OSError, ValueError):
        pass  # closed: there is nobody to tell


def _exit(line: str) -> None:
    say(line)
    os._exit(1)


SYSTEM = System(time.monotonic, _exit, _arm)


class StopSignals(Watch):
    """A Watch with the thread that feeds and obeys it.

    The first SIGTERM or SIGINT sets `requested` and starts the drain deadline; the second, the deadline,
    or a call that outlasts `kafka.max_poll_interval` ends the process with exit code 1 and one line on
    standard error, whatever the main thread is doing.
    """

    def __init__(self, limits: Limits, uncommitted: Callable[[], int], system: System = SYSTEM) -> None:
        super().__init__(limits, uncommitted)
        self._system = system
        self._reader, self.wakeup = socket.socketpair()
        self.wakeup.setblocking(False)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)
        self._before: dict[signal.Signals, _Handler] = {}

    def start(self) -> None:
        """Take over the signals. Main thread only; raises ValueError elsewhere."""
        signal.set_wakeup_fd(self.wakeup.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            self._before[number] = signal.signal(number, _noted) or signal.SIG_DFL
        self._thread.start()

    def close(self) -> None:
        """Give the signals back: the work is over. Main thread only; waits for the thread's last look."""
        self._closed.set()
        if self._before:
            signal.set_wakeup_fd(-1)
            for number, handler in self._before.items():
                signal.signal(number, handler)
            faulthandler.cancel_dump_traceback_later()
            self._thread.join()
        self._reader.close()
        self.wakeup.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            self.tick(_TICK)

    def tick(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for signals, note them, and exit if it is time."""
        for number in self._arrived(timeout):
            if number in SIGNALS:
                self._note()
        line = self.must_go(self._system.now())
        if line is not None:
            self._system.exit(line)

    def _arrived(self, timeout: float) -> bytes:
        if not select.select([self._reader], [], [], timeout)[0]:
            return b""
        return self._reader.recv(64)

    def _note(self) -> None:
        first = not self.requested
        self.signalled(self._system.now())
        if first:
            self._system.arm(self._limits.drain_timeout + _LAST_RESORT)


def _noted(number: int, frame: object) -> None:
    """Keeps Python from raising KeyboardInterrupt in the middle of a poll, which would lose records."""

"""Resident memory of another process, sampled while it works; Linux only."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from benchmarks.memory_bound import MIB

_EVERY = 0.5  # seconds between two samples
_RESET_PEAK = "5"  # what clear_refs takes for it, proc(5)


class Memory(NamedTuple):
    """Of a process, in bytes: resident now, and the most since it began or since its peak was reset."""

    resident: int
    peak: int


def memory_of(pid: int) -> Memory:
    """Raises OSError when there is no such process, and KeyError when it is a zombie."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return Memory(*(int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")))


class Watch:
    """Resets the peak of a process and samples it twice a second in a thread of its own until `finish`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
        self.peaks = [memory_of(pid).peak]
        self._thread = threading.Thread(target=self._work, name="memory", daemon=True)
        self._thread.start()

    @property
    def peak(self) -> int:
        """The kernel's own figure, so nothing between two samples escapes."""
        return self.peaks[-1]

    def flat_since(self, tolerance: int = MIB) -> float:
        """Seconds into the watch from which the peak grew by no more than `tolerance` bytes."""
        return next(_EVERY * n for n, peak in enumerate(self.peaks) if peak >= self.peak - tolerance)

    def finish(self) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._over.wait(_EVERY):
            try:
                self.peaks.append(memory_of(self._pid).peak)
            except (OSError, KeyError):  # it ended, which its exit code tells
                return

"""Entries that wait to be written: whole transactions of them come at once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from threading import Lock

_MOST_BYTES = 8 * 2**20
_OBJECTS = 200  # bytes that Python takes beside the content of an entry


class Waiting:
    """A bounded heap of entries between the thread that adds and the one that writes.

    Whoever is told True by `add` or `comes_again` has to see that somebody comes and takes, or to say that
    `nobody_comes`; so one errand at a time is on its way, however often something is added.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[bytes, bytes] = {}
        self._bytes = 0
        self._somebody_comes = False

    def add(self, entries: Mapping[bytes, bytes]) -> bool:
        """True when somebody has to be sent. What exceeds the room is dropped."""
        with self._lock:
            for key, value in entries.items():
                if self._bytes < _MOST_BYTES and key not in self._entries:
                    self._entries[key] = value
                    self._bytes += _size(key, value)
            return self._needs_somebody()

    def take(self, most: int) -> dict[bytes, bytes]:
        """The oldest ones, at most so many."""
        with self._lock:
            taken = dict(islice(self._entries.items(), most))
            for key, value in taken.items():
                del self._entries[key]
                self._bytes -= _size(key, value)
            return taken

    def comes_again(self) -> bool:
        """Whoever came is done. True when something is left, so that somebody has to be sent again."""
        self.nobody_comes()
        with self._lock:
            return self._needs_somebody()

    def nobody_comes(self) -> None:
        """There was no way to send somebody: the next one who adds has to try again."""
        with self._lock:
            self._somebody_comes = False

    def _needs_somebody(self) -> bool:
        needed = bool(self._entries) and not self._somebody_comes
        self._somebody_comes |= needed
        return needed


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _OBJECTS

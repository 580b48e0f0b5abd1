"""Decisions read off a string of bytes, so that a fuzzer's mutation of the bytes is one of the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Option = TypeVar("Option")


class Choices:
    """Reads from the front; at the end of the bytes it goes on with zeros and empty pieces."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def number(self, below: int) -> int:
        """In [0, below), `below` up to 65,536, from one byte or two."""
        return int.from_bytes(self.take(1 if below <= 256 else 2)) % below

    def one_of(self, options: Sequence[Option]) -> Option:
        return options[self.number(len(options))]

    def piece(self, longest: int = 256) -> bytes:
        """Bytes behind their length."""
        return self.take(self.number(longest))

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def rest(self) -> bytes:
        return self.take(max(0, self.left))

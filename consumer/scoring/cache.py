"""A bounded store of what was computed before, cheap to ask."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def digest(item: str) -> bytes:
    """The key of an item: 16 bytes, however long the text."""
    return blake2b(item.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Cache(Generic[Key, Value]):
    """Remembers the `size` values used last, or up to that many more that were used before them.

    Two generations: what is asked for moves into the young one; when that is full it becomes the old
    one, and what the old one still held is forgotten. So a hit costs one dict look-up, where an
    exact order of use would move an entry each time. One cache belongs to one loaded model: nothing
    in it outlives the model's version, precision or windowing. Owned by one thread.
    """

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._young: dict[Key, Value] = {}
        self._old: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: Key) -> Value | None:
        """The value, or None when it is not remembered."""
        found = self._young.get(key)
        if found is None and (found := self._old.pop(key, None)) is not None:
            self.put(key, found)
        return found

    def put(self, key: Key, value: Value) -> None:
        """Remember; a cache of size 0 or 1 remembers nothing."""
        if self._half == 0:
            return
        if len(self._young) >= self._half and key not in self._young:
            self._old, self._young = self._young, {}
        self._old.pop(key, None)
        self._young[key] = value

"""What replicas remember of events, in a store that forgets, fails and lies."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from consumer.sharing import StoreStats

from .clock import FakeClock


class FakeStore:
    """A SharedStore that outlives processes and keeps the first value of a key. `trouble`: how often a call
    goes wrong; writes then come late or never."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.rng = random.Random(0)
        self.trouble = 0.0
        self.entries: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        if self._strikes():
            self.entries.clear()
        return [self._answer(self.entries.get(key)) for key in keys]

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        if not self._strikes():
            self._write(entries)
        elif self.rng.random() < 0.7:
            late = dict(entries)
            self.clock.at(self.clock.now() + self.rng.choice((0.01, 0.5, 5.0)), lambda: self._write(late))

    def stats(self) -> StoreStats:
        return StoreStats()

    def close(self) -> None:
        return

    def _strikes(self) -> bool:
        return self.rng.random() < self.trouble

    def _answer(self, entry: bytes | None) -> bytes | None:
        if entry is None or not self._strikes():
            return entry
        place = self.rng.randrange(len(entry))
        return self.rng.choice((None, b"", entry[:place] + bytes([entry[place] ^ 1]) + entry[place + 1 :]))

    def _write(self, entries: Mapping[bytes, bytes]) -> None:
        for key, value in entries.items():
            self.entries.setdefault(key, value)


class FakeTopicId:
    """Known at once."""

    def renew(self) -> None:
        return

    def known(self) -> str | None:
        return "topic"

"""The items of the fit: how often each was seen while reading, and the bounded set kept with a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from consumer.errors import Misconfigured
from consumer.scoring.parts import Arrays

_DIGEST = 16  # bytes; too many for anybody to find a text that passes for a known one


class Tally:
    """Distinct items in order of first sight, each with its count. Takes at most `limit` of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: dict[str, int] = {}

    def add(self, item: str) -> bool:
        """Count one record. False, and nothing counted, when the item is new and there is no room."""
        count = self._counts.get(item)
        if count is None and len(self._counts) >= self._limit:
            return False
        self._counts[item] = (count or 0) + 1
        return True

    @property
    def items(self) -> Sequence[str]:
        return list(self._counts)

    @property
    def counts(self) -> Sequence[int]:
        return list(self._counts.values())

    @property
    def records(self) -> int:
        return sum(self._counts.values())

    def __len__(self) -> int:
        return len(self._counts)


class KnownItems:
    """How often an item was seen in fitting; holds digests, no text."""

    def __init__(self, counts: Mapping[bytes, int]) -> None:
        self._counts = dict(counts)

    def count(self, item: str) -> int | None:
        """None for an item that was not seen, or was crowded out by more frequent ones."""
        return self._counts.get(_digest(item))

    def __len__(self) -> int:
        return len(self._counts)

    def save(self) -> Arrays:
        joined = b"".join(self._counts)
        digests = np.frombuffer(joined, np.uint8).reshape(len(self._counts), _DIGEST).copy()
        return {"digests": digests, "counts": np.array(list(self._counts.values()), np.int64)}


def known_items(pairs: Iterable[tuple[str, int]], limit: int) -> KnownItems:
    """The `limit` most frequent of (item, count); of equals those seen first."""
    kept = sorted(pairs, key=lambda pair: -pair[1])[:limit]
    return KnownItems({_digest(item): count for item, count in kept})


def load_known(arrays: Arrays) -> KnownItems:
    """The inverse of `KnownItems.save`. Raises Misconfigured for what it did not write."""
    try:
        digests, counts = arrays["digests"], arrays["counts"]
        keys = [row.tobytes() for row in digests.reshape(len(counts), _DIGEST)]
        return KnownItems(dict(zip(keys, map(int, counts.tolist()), strict=True)))
    except (KeyError, ValueError) as error:
        raise Misconfigured([f"known items: damaged arrays ({error}); fit the model again"]) from error


def _digest(item: str) -> bytes:
    return blake2b(item.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()

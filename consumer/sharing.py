"""What replicas share beside Kafka, as those who use it see it: advisory, so nothing here raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from consumer.records import MicroBatch, Output


class StoreStats(NamedTuple):
    """What a SharedStore did so far."""

    lookups: int = 0  # calls, one per micro-batch
    read_errors: int = 0  # of them failed, or not answered in time
    wait_seconds: float = 0.0  # that lookups held micro-batches up
    written: int = 0  # entries that the store took
    write_errors: int = 0  # failed calls
    reads_bypassed: bool = False  # now: it failed too often in a row and is left alone
    writes_bypassed: bool = False


class SharedStats(NamedTuple):
    """The shared score cache; all zero where there is none."""

    hits: int = 0  # texts that it answered
    misses: int = 0  # texts that the cache of this process missed, and the shared one too
    refused: int = 0  # entries that were not what this model had written for their key
    store: StoreStats = StoreStats()


class SharedStore(Protocol):
    """Bytes under keys that replicas share; may forget anything at any time. One thread calls all but
    `stats`. Nothing here raises: what goes wrong is a miss."""

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """A value, untrusted, or None for each key; all None after a time that the settings bound."""
        ...

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        """Start writing; never waits. May drop them."""
        ...

    def stats(self) -> StoreStats: ...

    def close(self) -> None:
        """Let go, without waiting for what is under way."""
        ...


class TopicId(Protocol):
    """The id that the brokers gave the input topic: deleted and created again, it has another one."""

    def renew(self) -> None:
        """Ask again, without waiting; what was known counts no more."""
        ...

    def known(self) -> str | None:
        """None while it is not known. May block once for each `renew`, for a time that the settings bound.
        Never raises."""
        ...


class MarkStats(NamedTuple):
    """What a Marks did so far: counters that only grow, but for what `store` says."""

    asked: int = 0  # events with an id that were looked up
    refused: int = 0  # entries that are no marks
    reused: int = 0  # marks of the same id with another value: never a repeat
    store: StoreStats = StoreStats()


class Marks(Protocol):
    """Which record brought an event, as far as anybody remembers. One thread calls all but `stats`.
    Nothing here raises: what goes wrong is an event that nobody brought before."""

    def renew(self) -> None:
        """Partitions were assigned: the topic may be another one of the same name. Never waits."""
        ...

    def sift(self, batch: MicroBatch) -> MicroBatch:
        """The batch with a Duplicate in the place of each event that another record brought before, whose
        result is acknowledged. Blocks for a time that the settings bound."""
        ...

    def keep(self, batch: MicroBatch, outputs: Sequence[Output]) -> None:
        """Remember those of a sifted batch that are scored. Every output must be acknowledged, and, in
        transactions, committed. Never waits."""
        ...

    def stats(self) -> MarkStats: ...

    def close(self) -> None:
        """Let go, without waiting for what is under way."""
        ...

"""What the pipeline calls: Protocols, each with at least two implementations, and the Observer.

Both seams are "start now, ask later": `Scorer.submit → Pending`, `Sink.send → Receipt`. `done()`
never blocks; `wait(deadline)` may block until `deadline`, monotonic seconds on the loop's clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from consumer.errors import Infrastructure
from consumer.records import (
    Decoded,
    Event,
    MicroBatch,
    Output,
    Position,
    Record,
    Rejection,
    Score,
    Start,
    TopicPartition,
)
from consumer.sharing import SharedStats


class Clock(Protocol):
    """Monotonic time. The fake of the tests moves only when told."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Codec(Protocol):
    """Bytes to values."""

    def decode(self, record: Record) -> Decoded:
        """Never raises: what cannot be decoded is a Rejection."""
        ...


class ModelInfo(msgspec.Struct, frozen=True):
    """`version` is the hash of the manifest, which covers weights, tokenizer, masks and calibration."""

    name: str
    version: str


class ScorerStats(NamedTuple):
    """What the scorer did since it was loaded: counters that only grow, unless said otherwise.

    Every text asked for is answered by exactly one of `known`, `repeats`, `cache_hits`, `shared.hits`
    and `cache_misses`, so these five add up to the texts. Only a miss costs device time.
    """

    device: str = "cpu"  # what computes: `cpu`, or the CUDA device's own name
    known: int = 0  # texts answered by the known-text set
    repeats: int = 0  # texts identical to an earlier one of their micro-batch
    cache_hits: int = 0  # texts answered by the score cache of this process
    cache_misses: int = 0  # texts that went to the device
    tokens_covered: int = 0  # tokens of the texts that went to the device, each counted once
    tokens_computed: int = 0  # with the overlap of windows again, and shared beginnings once
    tokens_padded: int = 0  # rows times longest row of every device batch: what the device really did
    device_batches: int = 0  # forward passes
    halvings: int = 0  # times that memory ran out and the device batch was halved
    budget_tokens: int = 0  # now: padded tokens that a device batch may have
    cache_entries: int = 0  # now: texts in the score cache
    known_texts: int = 0  # now: texts in the known-text set
    shared: SharedStats = SharedStats()


class Pending(Protocol):
    """A submitted batch."""

    def done(self) -> bool: ...

    def wait(self, deadline: float) -> bool:
        """Block until done or `deadline`; returns done()."""
        ...

    def result(self) -> Sequence[Score | Rejection]:
        """One verdict per event, in order. Only after done(); raises ScorerFailed or Fatal."""
        ...


class Scorer(Protocol):
    """Scores events. Owns the device; nobody outside knows which."""

    @property
    def model(self) -> ModelInfo: ...

    def submit(self, events: Sequence[Event]) -> Pending:
        """Start scoring; returns at once apart from Python work. Never raises for a bad text."""
        ...

    def stats(self) -> ScorerStats:
        """The numbers so far. Never blocks, may be called from any thread while scoring goes on."""
        ...

    def self_test(self) -> bool:
        """Score the manifest's reference text past every cache (blocks); True when the stored score
        comes out. False means that the device or the model is broken, not the record at hand."""
        ...

    def close(self) -> None:
        """Release the device. Waits a few seconds at most, since it may hang."""
        ...


class Receipt(Protocol):
    """A sent batch. Exactly one of `failure()` and `offsets()` is meaningful once done()."""

    def done(self) -> bool: ...

    def wait(self, deadline: float) -> bool: ...

    def failure(self) -> Infrastructure | None:
        """Why the batch is not durable as a whole (parts of it may be); None when it is."""
        ...

    def offsets(self) -> Mapping[TopicPartition, int]:
        """Next offsets: everything readable below them is durable."""
        ...

    def committed(self) -> bool:
        """The sink has committed these offsets together with the results; otherwise the loop does."""
        ...


class Sink(Protocol):
    """Publishes outputs and owns their durability."""

    def send(self, outputs: Sequence[Output], next_offsets: Mapping[TopicPartition, int]) -> Receipt:
        """Start publishing; never waits for the broker. Raises Fatal when the producer is dead."""
        ...

    def step(self, now: float) -> None:
        """Called once a step: serves delivery reports; a transactional sink ends a due transaction,
        which blocks for one commit."""
        ...

    def strike(self, partitions: Collection[TopicPartition]) -> None:
        """These are not ours any more. A transactional sink aborts a transaction that holds any of
        their results, unless its commit is on the way: its receipts fail. Otherwise what is sent
        stays sent."""
        ...

    def settle(self, deadline: float) -> None:
        """Block until everything sent is durable or has failed, at the latest at `deadline`."""
        ...

    def close(self, deadline: float) -> None:
        """Let go of the broker by `deadline`; what is not acknowledged by then stays uncommitted."""
        ...


class Listener(Protocol):
    """Told by the source, from inside poll and close, in the owner's thread."""

    def on_assigned(self, starts: Mapping[TopicPartition, Start]) -> None: ...

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None: ...

    def on_lost(self, partitions: Collection[TopicPartition]) -> None: ...

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """An asynchronous commit was acknowledged for these."""
        ...

    def on_commit_refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        """An asynchronous commit was refused for these: keep the offsets, try again later."""
        ...


class Polled(NamedTuple):
    """Records of one poll, and the partitions whose end was reached, with the position there."""

    records: Sequence[Record]
    ends: Mapping[TopicPartition, int]


class Source(Protocol):
    """A group consumer. One thread owns it."""

    def subscribe(self, listener: Listener) -> None: ...

    def poll(self, timeout: float, limit: int) -> Polled:
        """At most `limit` records: waits up to `timeout` seconds for the first, then takes what is
        queued. Runs the listener's callbacks. Raises what a callback raised, after it returned."""
        ...

    def pause(self) -> None:
        """Fetch nothing from what is assigned and from what gets assigned, until resume()."""
        ...

    def resume(self) -> None: ...

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Start an asynchronous commit, answered through the listener during a later poll."""
        ...

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Commit and block, without a limit in time; returns what was accepted. Never raises for a
        group that moved on: those partitions are missing from what it returns."""
        ...

    def log_ends(self) -> Mapping[TopicPartition, int]:
        """Last known log end per assigned partition; never asks the broker."""
        ...

    def close(self) -> None:
        """Leave the group (with static membership: only disconnect)."""
        ...


class Observer:
    """What happened, for metrics, health and logs: each called at most once per step or batch.

    Times are seconds. Every method does nothing here, so an implementation overrides what it needs.
    Must not block and must not raise.
    """

    def stepped(self, now: float) -> None:
        """The loop completed a step."""

    def entered_call(self, name: str, now: float) -> None:
        """A blocking client call without a time limit begins (`commit`, `close`)."""

    def left_call(self, now: float) -> None:
        """That call ended."""

    def polled(self, records: int, seconds: float, now: float) -> None: ...

    def launched(self, batch: MicroBatch, now: float) -> None: ...

    def scored(self, batch: MicroBatch, seconds: float) -> None:
        """The device is through with the batch, `seconds` after its launch."""

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        """Every output is acknowledged, `seconds` after it was sent."""

    def send_failed(self, records: int, why: str) -> None:
        """A batch was not acknowledged as a whole and will be sent again."""

    def rebalanced(self, kind: str, partitions: Collection[TopicPartition]) -> None:
        """`kind`: assigned | revoked | lost."""

    def given_up(self, partitions: Collection[TopicPartition], records: int) -> None:
        """Revoked before the acknowledgements came: the next owner repeats these records."""

    def committed(self, partitions: int) -> None: ...

    def commit_refused(self, partitions: int, why: str) -> None: ...

    def skipped(self, partition: TopicPartition, records: int) -> None:
        """Offsets that retention removed before they were read: a gap of this many."""

    def positions(self, positions: Mapping[TopicPartition, Position], now: float) -> None:
        """All owned partitions, about once a second and after each rebalance."""

    def trouble(self, what: str, why: str | None) -> None:
        """A dependency (`brokers`, `input topic`, `results topic`, …) failed, or is well (None)."""

"""The straight line, spelled once:

    source.poll → codec.decode → batcher.add / take → scorer.submit → pending.result
        → sink.send → receipt → ledger.write → source.commit

One thread owns all of it. A step polls Kafka at exactly one place, and waiting is repeating steps, so
a rebalance callback always finds every unfinished batch in `_flights` and can finish them in order
without polling.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping

import msgspec

from consumer.batcher import Batcher
from consumer.errors import Fatal, Infrastructure
from consumer.flight import Flight, Settled
from consumer.limits import BadRecordLimits
from consumer.offsets import Ledger
from consumer.ports import Clock, Codec, Observer, Scorer, Sink, Source
from consumer.records import ClosedBy, Entry, Position, Start, TopicPartition
from consumer.settings import Settings

_IDLE_POLL = 0.1  # longest poll when nothing is under way: bounds how late a stop or a commit is noticed
_WAIT = 0.01  # longest wait within a step while something is under way
_POSITIONS_EVERY = 1.0
_COMMIT_ANSWER_LIMIT = 90.0  # an asynchronous commit that nobody answered for so long was refused
_BACKOFF = (0.5, 30.0)  # first and longest pause before a failed batch is sent again
_EMPTY_PATIENCE = 10.0  # a member without partitions has caught up only after this long


class Ports(msgspec.Struct, frozen=True):
    """Everything that the loop talks to."""

    source: Source
    codec: Codec
    scorer: Scorer
    sink: Sink
    observer: Observer
    clock: Clock


class Pipeline:
    """The loop. Also the source's Listener: its `on_*` methods run inside poll and close.

    Not thread-safe, except `uncommitted`, which any thread may read.
    """

    def __init__(self, settings: Settings, ports: Ports) -> None:
        self._settings = settings
        self._source, self._codec, self._scorer = ports.source, ports.codec, ports.scorer
        self._sink, self._observer, self._clock = ports.sink, ports.observer, ports.clock
        self._batcher = Batcher(settings.batch)
        self._ledger = Ledger()
        self._limits = BadRecordLimits(settings.dead_letter)
        self._flights: deque[Flight] = deque()
        self._ends: dict[TopicPartition, int] = {}
        self._abandoned = False
        self._paused = False
        self._joined_at: float | None = None
        self._polled_at = self._scored_at = self._clock.now()
        self._positions_at = float("-inf")
        self._committing_since: float | None = None
        self._commit_at = float("-inf")
        self._commit_refused = False
        self._attempts = 0
        self._resend_at = float("-inf")
        self._failing_since: float | None = None

    # ---------------------------------------------------------------- running

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Work until `should_stop()`, then finish what is under way and commit it. Blocks.

        Raises Fatal (or whatever broke) with nothing unfinished committed; also when the last results
        could not be acknowledged or committed by `shutdown.drain_timeout`.
        """
        try:
            self._source.subscribe(self)
            while not should_stop():
                self.step()
            self._finish()
        except BaseException:
            self._abandoned = True
            raise

    @property
    def uncommitted(self) -> int:
        """Records that were launched and whose offsets are not committed yet."""
        return self._ledger.uncommitted + sum(len(f) for f in tuple(self._flights))

    def caught_up(self) -> bool:
        """Everything assigned is finished up to the end of its log."""
        if self._joined_at is None:
            return False
        if not self._ledger.partitions:
            return self._clock.now() - self._joined_at >= _EMPTY_PATIENCE
        return all(self._ends.get(tp) == self._ledger.finished(tp) for tp in self._ledger.partitions)

    def step(self) -> None:
        """One turn of the loop. Blocks for at most a short poll or a short wait."""
        now = self._clock.now()
        self._sink.step(now)
        self._retire(now)
        self._send(now)
        self._commit(now)
        self._launch(now)
        self._poll(now)
        self._step_over_ends()
        self._observer.stepped(self._clock.now())

    # ---------------------------------------------------------------- results become durable

    def _retire(self, now: float) -> None:
        """Take in the receipts that are done, oldest first; on a failed one, prepare to repeat."""
        while self._flights:
            flight = self._flights[0]
            if flight.receipt is None or not flight.receipt.done():
                return
            failure = flight.receipt.failure()
            if failure is not None:
                self._repeat(failure, now)
                return
            self._ledger.write(flight.durable_offsets(), flight.records)
            self._flights.popleft()
            self._recovered()
            self._observer.published(flight.outputs or (), now - flight.sent_at)

    def _repeat(self, failure: Infrastructure, now: float) -> None:
        """Send the failed batch and all behind it again, in order, once no delivery is outstanding."""
        if self._failing_since is None:
            self._failing_since = now
        self._observer.trouble("results topic", str(failure))
        self._check_give_up(failure, now)
        sent = [f for f in self._flights if f.receipt is not None]
        if not all(f.receipt.done() for f in sent if f.receipt is not None):
            return
        for flight in sent:
            flight.receipt = None
        self._attempts += 1
        first, longest = _BACKOFF
        self._resend_at = now + min(longest, first * 2 ** min(self._attempts - 1, 10))
        self._observer.send_failed(sum(len(f) for f in sent), str(failure))

    def _check_give_up(self, failure: Infrastructure, now: float) -> None:
        limit = self._settings.delivery.give_up_after
        if limit is not None and self._failing_since is not None and now - self._failing_since > limit:
            raise Fatal(f"Results could not be published for {limit:g} s (delivery.give_up_after): {failure}")

    def _recovered(self) -> None:
        if self._failing_since is not None:
            self._failing_since = None
            self._attempts = 0
            self._observer.trouble("results topic", None)

    # ---------------------------------------------------------------- scored batches go out

    def _send(self, now: float) -> None:
        """Take the verdicts that are there, in order, and publish them unless a resend is being awaited."""
        may_send = now >= self._resend_at and not self._head_failed()
        for flight in self._flights:
            if flight.outputs is None and not self._take_verdicts(flight, now):
                return
            if may_send and flight.receipt is None:
                flight.sent_at = now
                flight.receipt = (
                    self._sink.send(flight.outputs, flight.next_offsets) if flight.outputs else Settled()
                )

    def _head_failed(self) -> bool:
        receipt = self._flights[0].receipt if self._flights else None
        return receipt is not None and receipt.done() and receipt.failure() is not None

    def _take_verdicts(self, flight: Flight, now: float) -> bool:
        """True when the device is through with this batch. Raises Fatal when it hangs, and before a
        batch that crosses a limit on bad records is published."""
        if not flight.pending.done():
            self._check_stall(flight, now)
            return False
        outputs = flight.judge()
        self._limits.check(outputs)
        self._observer.scored(flight.batch, now - max(flight.launched_at, self._scored_at))
        self._scored_at = now
        return True

    def _check_stall(self, flight: Flight, now: float) -> None:
        limit = self._settings.scoring.stall_after
        if now - max(flight.launched_at, self._scored_at) > limit:
            raise Fatal(f"The device did not finish a micro-batch within {limit:g} s (scoring.stall_after).")

    # ---------------------------------------------------------------- offsets are committed

    def _commit(self, now: float) -> None:
        """Start an asynchronous commit when one is due; one is outstanding at most."""
        if self._committing_since is not None:
            if now - self._committing_since < _COMMIT_ANSWER_LIMIT:
                return
            self.on_commit_refused((), "no answer")
        half = 2 * self._ledger.uncommitted >= self._settings.commit.max_uncommitted
        if now < self._commit_at and not (half and not self._commit_refused):
            return
        offsets = self._ledger.to_commit()
        if not offsets:
            return
        self._commit_at = now + self._settings.commit.interval
        self._committing_since = now
        self._source.commit(offsets)

    def _commit_now(self, partitions: Collection[TopicPartition]) -> None:
        """Commit what is finished of these and wait for the broker, without a limit in time."""
        offsets = self._ledger.to_commit(partitions)
        if not offsets:
            return
        self._observer.entered_call("commit", self._clock.now())
        accepted = self._source.commit_now(offsets)
        self._observer.left_call(self._clock.now())
        self._ledger.acknowledge(accepted)
        if accepted:
            self._observer.committed(len(accepted))
        if len(accepted) < len(offsets):
            self._observer.commit_refused(len(offsets) - len(accepted), "the group moved on")

    # ---------------------------------------------------------------- micro-batches are launched

    @property
    def _gated(self) -> bool:
        """Commits must be acknowledged before more is launched: the first one of a partition, so that a
        crash cannot forget where it began, and those that bound the number of duplicates."""
        return self._ledger.unstarted or self._ledger.uncommitted > self._settings.commit.max_uncommitted

    def _can_launch(self, now: float) -> ClosedBy | None:
        if len(self._flights) >= self._settings.pipeline.depth or self._gated:
            return None
        idle = all(f.outputs is not None for f in self._flights)
        return self._batcher.can_take(now, idle=idle)

    def _launch(self, now: float) -> None:
        closed_by = self._can_launch(now)
        if closed_by is None:
            return
        batch = self._batcher.take(closed_by)
        events = batch.events
        pending = self._scorer.submit(events) if events else Settled()
        self._flights.append(Flight(batch, pending, now))
        self._observer.launched(batch, now)

    # ---------------------------------------------------------------- records come in

    def _poll(self, now: float) -> None:
        """The one place that polls: for more records, or, after a long wait, only to stay a member."""
        if self._batcher.room == 0:
            if self._can_launch(now):
                return
            if now - self._polled_at < self._patience:
                self._wait(now)
                return
            self._take_in(0.0, 1, pause=self._batcher.overfull or not self._gated)
            return
        if not self._take_in(self._timeout(now), self._batcher.room, pause=False) and not self._can_launch(
            now
        ):
            self._wait_if_busy(now)

    @property
    def _patience(self) -> float:
        """How long to do without a poll: answers to commits need one soon, membership needs one before
        `max_poll_interval` is over."""
        return _WAIT if self._gated else self._settings.kafka.max_poll_interval / 3

    def _timeout(self, now: float) -> float:
        if self._flights:
            return 0.0
        if self._gated:
            return _WAIT
        due = self._batcher.due(idle=True)
        return _IDLE_POLL if due is None else min(max(due - now, 0.0), _IDLE_POLL)

    def _take_in(self, timeout: float, limit: int, *, pause: bool) -> int:
        """Poll once and hand every record to the batcher, also one that comes out while paused."""
        if pause != self._paused:
            (self._source.pause if pause else self._source.resume)()
            self._paused = pause
        asked_at = self._clock.now()
        polled = self._source.poll(timeout, limit)
        self._polled_at = asked_at
        entries = [Entry(record, self._codec.decode(record)) for record in polled.records]
        if entries:
            self._batcher.add(entries, asked_at)
        self._note_ends(entries, polled.ends)
        now = self._clock.now()
        self._observer.polled(len(entries), now - asked_at, now)
        self._tell_positions(now)
        return len(entries)

    def _wait_if_busy(self, now: float) -> None:
        if self._flights:
            self._wait(now)

    def _wait(self, now: float) -> None:
        """Wait a moment for the device or for acknowledgements, whichever the oldest batch needs."""
        deadline = now + _WAIT
        for flight in self._flights:
            if flight.outputs is None:
                flight.pending.wait(deadline)
                return
            if flight.receipt is not None and not flight.receipt.done():
                flight.receipt.wait(deadline)
                return
        self._clock.sleep(_WAIT)

    # ---------------------------------------------------------------- ends of partitions

    def _note_ends(self, entries: Collection[Entry], ends: Mapping[TopicPartition, int]) -> None:
        if self._ends and entries:
            for partition in {e.record.source for e in entries}:
                self._ends.pop(partition, None)
        self._ends.update((tp, end) for tp, end in ends.items() if tp in self._ledger.partitions)

    def _step_over_ends(self) -> None:
        """At an end with nothing under way, what lies before the position holds no readable record."""
        for partition, position in self._ends.items():
            if self._ledger.finished(partition) >= position or self._under_way(partition):
                continue
            self._ledger.step_to(partition, position)

    def _under_way(self, partition: TopicPartition) -> bool:
        return any(partition in f.next_offsets for f in self._flights) or self._batcher.holds(partition)

    def _tell_positions(self, now: float) -> None:
        if now - self._positions_at < _POSITIONS_EVERY:
            return
        self._positions_at = now
        ends = self._source.log_ends()
        self._observer.positions(
            {tp: Position(self._ledger.finished(tp), ends.get(tp)) for tp in self._ledger.partitions}, now
        )

    # ---------------------------------------------------------------- Listener: inside poll and close

    def on_assigned(self, starts: Mapping[TopicPartition, Start]) -> None:
        if self._abandoned:
            return
        now = self._clock.now()
        self._joined_at = now
        self._forget(starts.keys())
        self._ledger.assign(starts)
        self._commit_at = self._positions_at = float("-inf")
        self._observer.rebalanced("assigned", starts.keys())

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Finish and commit what is under way, then let these partitions go, and only these.

        Raises Fatal when the device does not finish: a hung device is not a state to go on from. When
        only acknowledgements are missing, the partitions are given up without commit.
        """
        if self._abandoned:
            return
        if any(self._under_way(tp) for tp in partitions):
            self._drain(self._clock.now() + self._settings.delivery.revoke_budget)
        given_up = sum(f.strike(partitions) for f in self._flights)
        if given_up:
            self._observer.given_up(partitions, given_up)
        self._commit_now(partitions)
        self._forget(partitions)
        self._observer.rebalanced("revoked", partitions)

    def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        """Somebody else may own these already: neither publish nor commit anything more of them."""
        if self._abandoned:
            return
        self._forget(partitions)
        self._observer.rebalanced("lost", partitions)

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._committing_since = None
        self._commit_refused = False
        self._ledger.acknowledge(offsets)
        self._observer.committed(len(offsets))

    def on_commit_refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        self._committing_since = None
        self._commit_refused = True
        self._observer.commit_refused(len(partitions), why)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        """Strike these partitions from everything that is under way and clear their state."""
        for flight in self._flights:
            flight.strike(partitions)
        self._batcher.drop(partitions)
        self._ledger.drop(partitions)
        for partition in partitions:
            self._ends.pop(partition, None)
            self._limits.forget(partition)
        self._positions_at = float("-inf")

    # ---------------------------------------------------------------- finishing

    def _drain(self, deadline: float) -> None:
        """Score, send and await everything under way, without polling, until `deadline`."""
        while self._flights:
            now = self._clock.now()
            self._send(now)
            self._retire(now)
            if now >= deadline:
                break
            self._sink.settle(min(deadline, now + _WAIT))
            self._await_scored(min(deadline, now + _WAIT))
        if any(f.outputs is None for f in self._flights):
            raise Fatal("The device did not finish what was under way in time (delivery.revoke_budget).")

    def _await_scored(self, deadline: float) -> None:
        for flight in self._flights:
            if flight.outputs is None:
                flight.pending.wait(deadline)
                return
        if self._clock.now() < self._resend_at:
            self._clock.sleep(_WAIT)

    def _finish(self) -> None:
        """Stop: drop what was not launched, finish and commit the rest, leave the group."""
        self._batcher.clear()
        deadline = self._clock.now() + self._settings.shutdown.drain_timeout
        self._drain(deadline)
        self._commit_now(self._ledger.partitions)
        left = self.uncommitted
        self._abandoned = True
        self._observer.entered_call("close", self._clock.now())
        self._source.close()
        self._observer.left_call(self._clock.now())
        self._sink.close(deadline)
        if left:
            raise Fatal(f"Stopped with {left} records uncommitted; the next owner repeats them.")

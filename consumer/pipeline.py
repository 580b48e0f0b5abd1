"""The straight line, spelled once:

    source.poll → codec.decode → batcher.add / take → marks.sift → scorer.submit → pending.result
        → sink.send → receipt → ledger.write, marks.keep → source.commit

One thread owns all of it. A step polls Kafka at exactly one place, and waiting is repeating steps, so
a rebalance callback always finds every unfinished batch in `_flights` and can finish them in order
without polling.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from consumer.batcher import Batcher
from consumer.commits import Commits
from consumer.dedupe import NoMarks
from consumer.ends import Ends
from consumer.errors import Fatal, Infrastructure
from consumer.flight import Flight, Flights, Room, Settled
from consumer.intake import Intake
from consumer.limits import BadRecordLimits
from consumer.offsets import Ledger
from consumer.pacing import DeviceWatch, ResendPace
from consumer.ports import Clock, Codec, Observer, Scorer, Sink, Source
from consumer.records import ClosedBy, Start, TopicPartition
from consumer.settings import Settings
from consumer.sharing import Marks

_IDLE_POLL = 0.1  # longest poll when nothing is under way: bounds how late a stop or a commit is noticed
_WAIT = 0.01  # longest wait within a step while something is under way
_EMPTY_PATIENCE = 10.0  # a member without partitions has caught up only after this long


class Ports(msgspec.Struct, frozen=True):
    """Everything that the loop talks to."""

    source: Source
    codec: Codec
    scorer: Scorer
    sink: Sink
    observer: Observer
    clock: Clock
    marks: Marks = NoMarks()


class Pipeline:
    """The loop. Also the source's Listener: its `on_*` methods run inside poll and close.

    Not thread-safe, except `uncommitted`, which any thread may read.
    """

    def __init__(self, settings: Settings, ports: Ports) -> None:
        self._settings = settings
        self._source, self._scorer, self._sink = ports.source, ports.scorer, ports.sink
        self._marks, self._observer, self._clock = ports.marks, ports.observer, ports.clock
        self._batcher = Batcher(settings.batch)
        self._ledger = Ledger()
        self._ends = Ends()
        self._flights = Flights()
        self._room = Room(settings)
        self._intake = Intake(ports.source, ports.codec, ports.observer, ports.clock)
        self._commits = Commits(settings, self._ledger, self._flights, ports.source, ports.observer)
        self._resends = ResendPace(settings.delivery.give_up_after)
        self._limits = BadRecordLimits(settings.dead_letter)
        self._abandoned = False
        self._joined_at: float | None = None
        self._scored_at = self._clock.now()
        stall_after = settings.scoring.stall_after
        self._device = DeviceWatch(stall_after, lambda: ports.scorer.stats().device_batches)

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
        return self._ledger.uncommitted + self._flights.records

    def caught_up(self) -> bool:
        """Everything assigned is finished up to the end of its log."""
        if self._joined_at is None:
            return False
        if not self._ledger.partitions:
            return self._clock.now() - self._joined_at >= _EMPTY_PATIENCE
        return self._ends.reached(self._ledger)

    def step(self) -> None:
        """One turn of the loop. Blocks for at most a short poll or a short wait."""
        now = self._clock.now()
        self._sink.step(now)
        self._retire(now)
        self._send(now)
        self._commits.start(now)
        self._launch(now)
        self._poll(now)
        self._ends.step_over(self._ledger)
        self._intake.tell_positions(now, self._ledger)
        self._observer.stepped(self._clock.now())

    # ---------------------------------------------------------------- results become durable

    def _retire(self, now: float) -> None:
        """Take in the receipts that are done, oldest first; on a failed one, prepare to repeat."""
        for flight in tuple(self._flights):
            if flight.receipt is None or not flight.receipt.done():
                return
            if failure := flight.receipt.failure():
                self._repeat(failure, now)
                return
            self._write(flight)
            self._flights.retire()
            self._marks.keep(flight.batch, flight.outputs or ())
            if self._resends.succeeded():
                self._observer.trouble("results topic", None)
            self._observer.published(flight.outputs or (), now - flight.sent_at)

    def _write(self, flight: Flight) -> None:
        assert flight.receipt is not None
        offsets = flight.durable_offsets()
        self._ledger.write(offsets, flight.records)
        if flight.receipt.committed():
            self._ledger.acknowledge(offsets)
            self._observer.committed(len(offsets))

    def _repeat(self, failure: Infrastructure, now: float) -> None:
        """Have the failed batch and all behind it sent again, in order, once no delivery is outstanding."""
        self._observer.trouble("results topic", str(failure))
        self._resends.failed(now, failure)
        sent = self._flights.sent
        if any(f.waits_for is not None for f in sent):
            return
        for flight in sent:
            flight.receipt = None
        self._resends.again(now)
        self._observer.send_failed(sum(len(f) for f in sent), str(failure))

    # ---------------------------------------------------------------- scored batches go out

    def _send(self, now: float) -> None:
        """Take the verdicts that are there, in order, and publish them unless a resend is being awaited."""
        send = self._sink.send
        may_send = self._resends.may_send(now) and self._flights.failure() is None
        for flight in self._flights:
            if flight.outputs is None and not self._take_verdicts(flight, now):
                return
            if may_send and flight.receipt is None:
                flight.sent_at = now
                flight.receipt = send(flight.outputs, flight.next_offsets) if flight.outputs else Settled()

    def _take_verdicts(self, flight: Flight, now: float) -> bool:
        """True when the device is through with this batch. Raises Fatal when it hangs, and before a
        batch that crosses a limit on bad records is published."""
        since = max(flight.launched_at, self._scored_at)
        if not flight.pending.done():
            if self._device.hangs(since, now):
                limit = self._settings.scoring.stall_after
                raise Fatal(f"The device did not finish anything within {limit:g} s (scoring.stall_after).")
            return False
        self._device.came_back()
        self._limits.check(flight.judge())
        self._observer.scored(flight.batch, now - since)
        self._scored_at = now
        return True

    # ---------------------------------------------------------------- micro-batches are launched

    def _can_launch(self, now: float) -> ClosedBy | None:
        if not self._room.left(self._flights) or self._commits.behind:
            return None
        return self._batcher.can_take(now, idle=self._flights.idle)

    def _launch(self, now: float) -> None:
        if (closed_by := self._can_launch(now)) is None:
            return
        batch = self._marks.sift(self._batcher.take(closed_by))
        events = batch.events
        pending = self._scorer.submit(events) if events else Settled()
        self._flights.launch(Flight(batch, pending, now))
        self._observer.launched(batch, now)

    # ---------------------------------------------------------------- records come in

    def _poll(self, now: float) -> None:
        """The one place that polls: for more records, or, after a long wait, only to stay a member."""
        if self._batcher.room == 0:
            if self._can_launch(now):
                return
            if now - self._intake.polled_at < self._patience:
                self._wait(now + _WAIT)
                return
            self._intake.pause(self._batcher.overfull or not self._commits.behind)
            self._intake.poll(0.0, 1, self._batcher, self._ends)
            return
        self._intake.pause(False)
        taken = self._intake.poll(self._timeout(now), self._batcher.room, self._batcher, self._ends)
        if not taken and self._flights and not self._can_launch(now):
            self._wait(now + _WAIT)

    @property
    def _patience(self) -> float:
        """How long to do without a poll: answers to commits need one soon, membership needs one before
        `max_poll_interval` is over; once paused, a poll costs nothing and lets rebalances through."""
        if self._commits.behind:
            return _WAIT
        return _IDLE_POLL if self._intake.paused else self._settings.kafka.max_poll_interval / 3

    def _timeout(self, now: float) -> float:
        if self._flights:
            return 0.0
        if self._commits.behind:
            return _WAIT
        due = self._batcher.due(idle=True)
        return _IDLE_POLL if due is None else min(max(due - now, 0.0), _IDLE_POLL)

    def _wait(self, deadline: float) -> None:
        """Wait a moment for the device or for acknowledgements; without either, let time pass."""
        if not self._flights.wait(deadline):
            self._clock.sleep(max(0.0, deadline - self._clock.now()))

    # ---------------------------------------------------------------- Listener: inside poll and close

    def on_assigned(self, starts: Mapping[TopicPartition, Start]) -> None:
        if self._abandoned:
            return
        self._joined_at = self._clock.now()
        self._forget(starts.keys())
        self._ledger.assign(starts)
        self._marks.renew()
        self._commits.hurry()
        self._observer.rebalanced("assigned", starts.keys())

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Finish and commit what is under way, then let these partitions go, and only these.

        Raises Fatal when the device does not finish: a hung device is not a state to go on from. When
        only acknowledgements are missing, the partitions are given up without commit.
        """
        if self._abandoned:
            return
        if self._flights.holds(partitions):
            self._drain(self._clock.now() + self._settings.delivery.revoke_budget)
        self._commits.finish(partitions, self._clock)
        if given_up := self._flights.strike(partitions):
            self._observer.given_up(partitions, given_up)
        self._forget(partitions)
        self._observer.rebalanced("revoked", partitions)

    def on_lost(self, partitions: Collection[TopicPartition]) -> None:
        """Somebody else may own these already: neither publish nor commit anything more of them."""
        if self._abandoned:
            return
        self._forget(partitions)
        self._observer.rebalanced("lost", partitions)

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._commits.accepted(offsets)

    def on_commit_refused(self, partitions: Collection[TopicPartition], why: str) -> None:
        self._commits.refused(partitions, why)

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        """Strike these partitions from everything that is under way and clear their state."""
        self._flights.strike(partitions)
        self._sink.strike(partitions)
        self._batcher.drop(partitions)
        self._ledger.drop(partitions)
        self._ends.drop(partitions)
        for partition in partitions:
            self._limits.forget(partition)
        self._intake.ownership_changed()

    # ---------------------------------------------------------------- finishing

    def _drain(self, deadline: float) -> None:
        """Score, send and await everything under way, without polling, until `deadline`."""
        while self._flights:
            now = self._clock.now()
            self._sink.step(now)
            self._retire(now)
            self._send(now)
            if now >= deadline:
                break
            if self._flights.unsent:
                self._wait(min(deadline, now + _WAIT))
            else:
                self._sink.settle(deadline)
        if not self._flights.idle:
            raise Fatal("The device did not finish within delivery.revoke_budget or shutdown.drain_timeout.")

    def _finish(self) -> None:
        """Stop: drop what was not launched, finish and commit the rest, leave the group."""
        self._batcher.clear()
        deadline = self._clock.now() + self._settings.shutdown.drain_timeout
        self._drain(deadline)
        self._commits.finish_all(self._clock, deadline)
        left = self.uncommitted
        self._abandoned = True
        self._observer.entered_call("close", self._clock.now())
        self._source.close()
        self._observer.left_call(self._clock.now())
        self._sink.close(deadline)
        if left:
            raise Fatal(f"Stopped with {left} records uncommitted; the next owner repeats them.")

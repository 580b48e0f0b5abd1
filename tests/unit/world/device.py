"""A codec and a device without bytes or tensors: the text says what becomes of a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from consumer.errors import ScorerFailed
from consumer.ports import ModelInfo, ScorerStats
from consumer.records import Decoded, Empty, Event, Reason, Record, Rejection, Score

from .clock import FakeClock
from .journal import Journal

SCORE = Score(1.0, False, 2.0)
NEVER = float("inf")


def outcome_of(value: bytes | None) -> str:
    """What has to become of a record with this value, in one word."""
    if not value:
        return "empty"
    for reason in (Reason.UNDECODABLE, Reason.OVERSIZE, Reason.POISON):
        if value.startswith(reason.encode()):
            return str(reason)
    return "scored"


class FakeCodec:
    """The first character of a text is the event's id."""

    def decode(self, record: Record) -> Decoded:
        outcome = outcome_of(record.value)
        if outcome == "empty":
            return Empty()
        if outcome in (Reason.UNDECODABLE, Reason.OVERSIZE):
            return Rejection(Reason(outcome), "says the value")
        assert record.value is not None
        text = record.value.decode()
        return Event(text, id=text[0])


class _Pending:
    def __init__(self, device: FakeDevice, events: Sequence[Event], ready: float) -> None:
        self._device, self._events, self._ready = device, events, ready

    def done(self) -> bool:
        return self._device.clock.now() >= self._ready

    def wait(self, deadline: float) -> bool:
        self._device.clock.advance_to(min(self._ready, deadline))
        return self.done()

    def result(self) -> Sequence[Score | Rejection]:
        assert self.done(), "asked for a result before it was there"
        return self._device.verdicts(self._events)


class FakeDevice:
    """A Scorer: one batch after the other, `duration()` seconds each; NEVER is a hang."""

    model = ModelInfo("fake", "0" * 8)

    def __init__(self, clock: FakeClock, journal: Journal) -> None:
        self.clock = clock
        self.duration: Callable[[], float] = lambda: 0.005
        self.score: Callable[[Event], float] = lambda event: 1.0
        self.well = True
        self.device_batches: Callable[[], int] = lambda: 0
        self.on_call: Callable[[str], None] = lambda name: None
        self._journal = journal
        self._free = 0.0

    @property
    def busy(self) -> bool:
        """Something that was submitted is not finished."""
        return self._free > self.clock.now()

    def submit(self, events: Sequence[Event]) -> _Pending:
        self.on_call("submit")
        self._free = max(self._free, self.clock.now()) + self.duration()
        self._journal.note("submitted", len(events))
        return _Pending(self, events, self._free)

    def verdicts(self, events: Sequence[Event]) -> Sequence[Score | Rejection]:
        if any(e.message.startswith("poison") for e in events):
            raise ScorerFailed("a poison record is among them")
        return [SCORE if (s := self.score(e)) == SCORE.score else Score(s, True, 2.0) for e in events]

    def self_test(self) -> bool:
        self._journal.note("self_test", self.well)
        return self.well

    def stats(self) -> ScorerStats:
        return ScorerStats(device_batches=self.device_batches())

    def close(self) -> None:
        return

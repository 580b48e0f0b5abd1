"""Waiting for batches whose state changes while it is looked at."""

from __future__ import annotations

from collections.abc import Mapping

from consumer.flight import Flight, Flights, Settled
from consumer.records import ClosedBy, Entry, Event, MicroBatch, Record, TopicPartition


class TurnsDone:
    """A receipt that is done from the `after`-th time on that it is asked, as delivery reports arrive."""

    def __init__(self, after: int) -> None:
        self._left = after
        self.waited = 0

    def done(self) -> bool:
        self._left -= 1
        return self._left < 0

    def wait(self, deadline: float) -> bool:
        self.waited += 1
        return True

    def failure(self) -> None:
        return None

    def offsets(self) -> Mapping[TopicPartition, int]:
        return {}


def sent(receipt: TurnsDone) -> Flight:
    entry = Entry(Record("events", 0, 0, b"text"), Event("text"))
    flight = Flight(MicroBatch((entry,), ClosedBy.COUNT, 0.0), Settled(), 0.0)
    flight.outputs = []
    flight.receipt = receipt
    return flight


def test_a_receipt_that_is_done_a_moment_after_it_was_asked_is_no_harm() -> None:
    flights = Flights()
    receipt = TurnsDone(after=1)
    flights.launch(sent(receipt))
    assert flights.wait(deadline=1.0)
    assert receipt.waited == 1


def test_when_every_receipt_is_done_there_is_nothing_to_wait_for() -> None:
    flights = Flights()
    receipt = TurnsDone(after=0)
    flights.launch(sent(receipt))
    assert not flights.wait(deadline=1.0)
    assert receipt.waited == 0

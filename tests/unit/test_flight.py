"""One micro-batch under way, and the line of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consumer.errors import Infrastructure
from consumer.flight import Flight, Flights, Settled
from consumer.records import (
    ClosedBy,
    Empty,
    Entry,
    Event,
    MicroBatch,
    Record,
    Rejection,
    Score,
    TopicPartition,
)

from .world.device import SCORE
from .world.scene import P0, P1


class Stub:
    """A Pending and a Receipt that is done when told."""

    def __init__(self, verdicts: Sequence[Score | Rejection] = (), finished: bool = True) -> None:
        self.verdicts, self.finished = verdicts, finished
        self.failed: Infrastructure | None = None
        self.waited: list[float] = []

    def done(self) -> bool:
        return self.finished

    def wait(self, deadline: float) -> bool:
        self.waited.append(deadline)
        return self.finished

    def result(self) -> Sequence[Score | Rejection]:
        return self.verdicts

    def failure(self) -> Infrastructure | None:
        return self.failed

    def offsets(self) -> Mapping[TopicPartition, int]:
        return {P0: 5, P1: 9}


def entries(*places: tuple[TopicPartition, int]) -> tuple[Entry, ...]:
    return tuple(Entry(Record(*tp, offset, b"x"), Event("x")) for tp, offset in places)


def flight(*places: tuple[TopicPartition, int], pending: Stub | None = None) -> Flight:
    batch = MicroBatch(entries(*places), ClosedBy.COUNT, 0.0)
    return Flight(batch, pending or Stub([SCORE] * len(places)), 0.0)


def test_next_offsets_follow_the_last_record_of_each_partition_over_gaps() -> None:
    mixed = flight((P0, 1), (P1, 7), (P0, 4), (P1, 8))
    assert (mixed.next_offsets, mixed.records, len(mixed)) == ({P0: 5, P1: 9}, {P0: 2, P1: 2}, 4)


def test_verdicts_join_the_events_in_arrival_order_around_what_needs_none() -> None:
    rejection = Rejection("undecodable", "")  # type: ignore[arg-type]
    decoded = (Event("a"), Empty(), rejection, Event("b"))
    batch = MicroBatch(
        tuple(Entry(Record(*P0, n, b"x"), d) for n, d in enumerate(decoded)), ClosedBy.AGE, 0.0
    )
    other = Score(9.0, True, 2.0)
    outputs = Flight(batch, Stub([SCORE, other]), 0.0).judge()
    assert [o.verdict for o in outputs] == [SCORE, Empty(), rejection, other]
    assert [o.entry.record.offset for o in outputs] == [0, 1, 2, 3]


def test_a_partition_struck_before_scoring_is_neither_published_nor_written() -> None:
    mixed = flight((P0, 1), (P1, 7), (P0, 4))
    assert mixed.strike([P0]) == 2
    assert [o.entry.record.source for o in mixed.judge()] == [P1]
    mixed.receipt = Stub()
    assert mixed.durable_offsets() == {P1: 9}
    assert len(mixed) == 1


def test_a_partition_struck_after_scoring_is_neither_published_nor_written() -> None:
    mixed = flight((P0, 1), (P1, 7), (P0, 4))
    mixed.judge()
    assert mixed.strike([P0]) == 2
    assert mixed.outputs is not None
    assert [o.entry.record.source for o in mixed.outputs] == [P1]


def test_striking_twice_or_striking_a_stranger_counts_nothing() -> None:
    mixed = flight((P0, 1))
    assert mixed.strike([P1]) == 0
    assert mixed.strike([P0]) == 1
    assert mixed.strike([P0]) == 0


def test_a_batch_waits_for_the_device_then_for_its_receipt_then_for_nothing() -> None:
    pending, receipt = Stub([SCORE], finished=False), Stub(finished=False)
    one = flight((P0, 1), pending=pending)
    assert one.waits_for is pending
    one.judge()
    assert one.waits_for is None
    one.receipt = receipt
    assert one.waits_for is receipt
    receipt.finished = True
    assert one.waits_for is None


def line(*flights: Flight) -> Flights:
    fresh = Flights()
    for one in flights:
        fresh.launch(one)
    return fresh


def test_the_line_waits_for_the_device_while_older_batches_await_their_acknowledgements() -> None:
    sent, receipt, pending = flight((P0, 1)), Stub(finished=False), Stub([SCORE], finished=False)
    sent.judge()
    sent.receipt = receipt
    flights = line(sent, flight((P0, 2), pending=pending))
    assert flights.wait(7.0)
    assert (pending.waited, receipt.waited) == ([7.0], [])


def test_the_line_waits_for_the_oldest_receipt_once_the_device_is_idle() -> None:
    receipts = [Stub(), Stub(finished=False), Stub(finished=False)]
    flights = line(*(flight((P0, n)) for n in range(3)))
    for one, receipt in zip(flights, receipts, strict=True):
        one.judge()
        one.receipt = receipt
    assert flights.idle
    assert flights.wait(7.0)
    assert [r.waited for r in receipts] == [[], [7.0], []]


def test_a_line_that_waits_for_nobody_says_so_at_once() -> None:
    one = flight((P0, 1))
    one.judge()
    assert not line(one).wait(7.0)
    assert not line().wait(7.0)


def test_only_the_oldest_batch_tells_a_failure() -> None:
    flights = line(flight((P0, 1)), flight((P0, 2)))
    broken = Stub()
    broken.failed = Infrastructure("down")
    first, second = flights
    second.receipt = broken
    assert flights.failure() is None
    first.receipt = broken
    assert flights.failure() is broken.failed


def test_a_line_knows_what_it_holds_until_it_is_struck_or_retired() -> None:
    flights = line(flight((P0, 1), (P1, 7)), flight((P1, 8)))
    assert (flights.records, flights.holds([P0]), flights.holds([P1])) == (3, True, True)
    assert flights.strike([P1]) == 2
    assert (flights.records, flights.holds([P1]), len(flights)) == (1, False, 2)
    flights.retire()
    assert (flights.records, len(flights)) == (0, 1)


def test_what_needs_neither_device_nor_broker_is_settled_from_the_start() -> None:
    settled = Settled()
    assert settled.done()
    assert settled.wait(0.0)
    assert (settled.result(), settled.failure(), settled.offsets()) == ((), None, {})

"""Stepping over the end of a partition."""

from __future__ import annotations

from consumer.ends import Ends
from consumer.offsets import Ledger
from consumer.records import Record, Start

from .world.scene import P0, P1


def owned(*partitions: object) -> tuple[Ends, Ledger]:
    ledger = Ledger()
    ledger.assign({tp: Start(0, True) for tp in partitions})  # type: ignore[misc]
    return Ends(), ledger


def records(*offsets: int) -> list[Record]:
    return [Record("in", 0, offset, b"x") for offset in offsets]


def test_an_end_with_nothing_under_way_is_stepped_to() -> None:
    ends, ledger = owned(P0)
    ends.note([], {P0: 7})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 7


def test_an_end_waits_for_the_records_before_it() -> None:
    ends, ledger = owned(P0)
    ends.note(records(0, 3), {P0: 7})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 0
    ledger.write({P0: 1}, {P0: 1})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 1
    ledger.write({P0: 4}, {P0: 1})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 7


def test_an_old_end_does_not_take_back_what_came_after_it() -> None:
    ends, ledger = owned(P0)
    ends.note(records(0), {P0: 2})
    ends.note(records(5), {})
    ledger.write({P0: 6}, {P0: 2})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 6


def test_caught_up_means_every_partition_is_finished_up_to_its_end() -> None:
    ends, ledger = owned(P0, P1)
    ends.note([], {P0: 0})
    assert not ends.reached(ledger)
    ends.note([], {P1: 0})
    assert ends.reached(ledger)


def test_records_after_an_end_mean_that_it_is_not_caught_up() -> None:
    ends, ledger = owned(P0)
    ends.note([], {P0: 0})
    ends.note(records(0), {})
    assert not ends.reached(ledger)
    ledger.write({P0: 1}, {P0: 1})
    assert not ends.reached(ledger)
    ends.note([], {P0: 1})
    assert ends.reached(ledger)


def test_a_dropped_partition_begins_anew() -> None:
    ends, ledger = owned(P0)
    ends.note(records(40), {P0: 50})
    ends.drop([P0])
    ledger.assign({P0: Start(20, True)})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 20
    ends.note([], {P0: 30})
    ends.step_over(ledger)
    assert ledger.finished(P0) == 30

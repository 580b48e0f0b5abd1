"""The ledger of finished and committed offsets."""

from __future__ import annotations

import pytest

from consumer.offsets import Ledger
from consumer.records import Start

from .world.scene import P0, P1


def ledger(start: int = 10, committed: bool = True) -> Ledger:
    fresh = Ledger()
    fresh.assign({P0: Start(start, committed)})
    return fresh


def test_a_partition_with_a_committed_offset_owes_nothing() -> None:
    assert ledger().to_commit() == {}
    assert not ledger().unstarted


def test_a_partition_without_one_owes_its_start_until_the_broker_has_it() -> None:
    fresh = ledger(10, committed=False)
    assert fresh.unstarted
    assert fresh.to_commit() == {P0: 10}
    fresh.acknowledge({P0: 10})
    assert not fresh.unstarted
    assert fresh.to_commit() == {}


def test_an_unstarted_partition_that_leaves_is_awaited_no_more() -> None:
    fresh = ledger(10, committed=False)
    fresh.drop([P0])
    assert not fresh.unstarted


def test_what_is_written_is_finished_and_owed() -> None:
    fresh = ledger()
    fresh.write({P0: 15}, {P0: 4})
    assert (fresh.finished(P0), fresh.uncommitted, fresh.to_commit()) == (15, 4, {P0: 15})


def test_an_acknowledged_commit_covers_only_what_it_reaches() -> None:
    fresh = ledger()
    fresh.write({P0: 15}, {P0: 4})
    fresh.write({P0: 18}, {P0: 3})
    fresh.acknowledge({P0: 15})
    assert (fresh.uncommitted, fresh.to_commit()) == (3, {P0: 18})
    fresh.acknowledge({P0: 18})
    assert (fresh.uncommitted, fresh.to_commit()) == (0, {})


def test_an_old_answer_never_takes_a_commit_back() -> None:
    fresh = ledger()
    fresh.write({P0: 18}, {P0: 3})
    fresh.acknowledge({P0: 18})
    fresh.acknowledge({P0: 12})
    assert fresh.to_commit() == {}


def test_an_answer_beyond_what_is_finished_is_about_a_log_that_is_gone() -> None:
    fresh = ledger(0, committed=False)
    fresh.acknowledge({P0: 5000})
    assert fresh.unstarted
    fresh.write({P0: 10}, {P0: 10})
    assert fresh.to_commit() == {P0: 10}


def test_writing_backwards_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"in\[0\] would go back from offset 10 to 9"):
        ledger().write({P0: 9}, {P0: 1})


def test_partitions_that_are_not_owned_are_none_of_its_business() -> None:
    fresh = ledger()
    fresh.write({P1: 99}, {P1: 5})
    fresh.acknowledge({P1: 99})
    fresh.step_to(P1, 99)
    assert fresh.drop([P1]) == 0
    assert (list(fresh.partitions), fresh.uncommitted) == ([P0], 0)


def test_a_step_goes_forward_only_and_is_owed_but_holds_no_record() -> None:
    fresh = ledger()
    fresh.step_to(P0, 9)
    assert fresh.finished(P0) == 10
    fresh.step_to(P0, 12)
    assert (fresh.finished(P0), fresh.to_commit(), fresh.uncommitted) == (12, {P0: 12}, 0)


def test_only_the_partitions_that_are_asked_for_are_committed() -> None:
    fresh = ledger()
    fresh.assign({P1: Start(5, False)})
    fresh.write({P0: 12}, {P0: 2})
    assert fresh.to_commit([P1]) == {P1: 5}
    assert fresh.to_commit() == {P0: 12, P1: 5}


def test_a_dropped_partition_takes_its_uncommitted_records_along() -> None:
    fresh = ledger()
    fresh.assign({P1: Start(0, True)})
    fresh.write({P0: 12, P1: 3}, {P0: 2, P1: 3})
    assert fresh.drop([P0]) == 2
    assert (fresh.uncommitted, fresh.to_commit()) == (3, {P1: 3})


def test_a_new_assignment_begins_anew() -> None:
    fresh = ledger()
    fresh.write({P0: 20}, {P0: 10})
    fresh.assign({P0: Start(12, True)})
    assert (fresh.finished(P0), fresh.uncommitted, fresh.to_commit()) == (12, 0, {})
    fresh.write({P0: 13}, {P0: 1})
    assert fresh.to_commit() == {P0: 13}

"""When to commit and when to send again."""

from __future__ import annotations

import pytest

from consumer.errors import Fatal, Infrastructure
from consumer.pacing import CommitPace, ResendPace
from consumer.settings import Commit

POLICY = Commit(interval=1.0, max_uncommitted=100)
FAILURE = Infrastructure("_MSG_TIMED_OUT")


def test_the_first_commit_is_due_at_once() -> None:
    assert CommitPace(POLICY).due(0.0, 0)


def test_one_commit_is_outstanding_at_most() -> None:
    pace = CommitPace(POLICY)
    pace.asked(0.0)
    assert not pace.due(50.0, 1_000)
    pace.answered(accepted=True)
    assert pace.due(50.0, 0)


def test_commits_are_an_interval_apart() -> None:
    pace = CommitPace(POLICY)
    pace.asked(5.0)
    pace.answered(accepted=True)
    assert not pace.due(5.9, 49)
    assert pace.due(6.0, 0)


def test_half_of_max_uncommitted_does_not_wait_for_the_interval() -> None:
    pace = CommitPace(POLICY)
    pace.asked(5.0)
    pace.answered(accepted=True)
    assert pace.due(5.1, 50)


def test_after_a_refusal_the_interval_is_waited_for() -> None:
    pace = CommitPace(POLICY)
    pace.asked(5.0)
    pace.answered(accepted=False)
    assert not pace.due(5.9, 100)
    assert pace.due(6.0, 100)


def test_an_assignment_hurries_the_next_commit() -> None:
    pace = CommitPace(POLICY)
    pace.asked(5.0)
    pace.answered(accepted=False)
    pace.hurry()
    assert pace.due(5.1, 0)


def test_a_commit_without_an_answer_is_given_up_in_the_end() -> None:
    pace = CommitPace(POLICY)
    assert not pace.unanswered(1e9)
    pace.asked(0.0)
    assert not pace.unanswered(89.0)
    assert pace.unanswered(90.0)
    pace.answered(accepted=False)
    assert not pace.unanswered(1e9)


def test_pauses_between_attempts_double_up_to_a_limit() -> None:
    pace = ResendPace(None)
    pauses = []
    for _ in range(9):
        pace.failed(0.0, FAILURE)
        pace.again(0.0)
        pauses.append(next(p for p in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0) if pace.may_send(p)))
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_success_begins_the_pauses_anew_and_tells_a_recovery_once() -> None:
    pace = ResendPace(None)
    assert not pace.succeeded()
    for _ in range(3):
        pace.failed(0.0, FAILURE)
        pace.again(0.0)
    assert pace.succeeded()
    assert not pace.succeeded()
    pace.failed(10.0, FAILURE)
    pace.again(10.0)
    assert not pace.may_send(10.4)
    assert pace.may_send(10.5)


def test_failing_longer_than_give_up_after_is_fatal_and_names_the_setting() -> None:
    pace = ResendPace(5.0)
    pace.failed(0.0, FAILURE)
    pace.failed(5.0, FAILURE)
    with pytest.raises(Fatal, match=r"5 s \(delivery.give_up_after\): _MSG_TIMED_OUT"):
        pace.failed(5.1, FAILURE)


def test_a_success_in_between_restarts_the_time_until_giving_up() -> None:
    pace = ResendPace(5.0)
    pace.failed(0.0, FAILURE)
    pace.succeeded()
    pace.failed(6.0, FAILURE)
    pace.failed(10.0, FAILURE)

"""When to commit and when to send again."""

from __future__ import annotations

import pytest

from consumer.errors import Fatal, Infrastructure
from consumer.pacing import CommitPace, DeviceWatch, ResendPace
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


class Device:
    """Finishes as many device batches as it is told."""

    finished = 0


def watched(limit: float = 10.0) -> tuple[Device, DeviceWatch]:
    device = Device()
    return device, DeviceWatch(limit, lambda: device.finished)


def first_hang(watch: DeviceWatch, since: float, until: float = 100.0, step: float = 0.25) -> float | None:
    """When a loop that asks at each step is told."""
    at = since
    while at < until:
        at += step
        if watch.hangs(since, at):
            return at
    return None


def test_a_device_that_never_finishes_hangs_after_the_limit() -> None:
    _, watch = watched()
    told = first_hang(watch, 0.0)
    assert told is not None
    assert 10.0 < told <= 11.25


def test_what_it_finished_at_first_does_not_prolong_the_wait_by_more_than_a_tenth() -> None:
    device, watch = watched()
    assert not watch.hangs(0.0, 0.5)
    device.finished = 1
    told = first_hang(watch, 0.5)
    assert told is not None
    assert told <= 0.5 + 11.0 + 1.25


def test_a_device_that_finishes_something_in_each_limit_does_not_hang() -> None:
    device, watch = watched()
    for at in range(1, 100):
        device.finished += at % 9 == 0
        assert not watch.hangs(0.0, float(at))


def test_a_micro_batch_that_came_back_is_no_later_progress() -> None:
    device, watch = watched()
    device.finished = 1
    watch.came_back()
    told = first_hang(watch, 0.0)
    assert told is not None
    assert told <= 11.25

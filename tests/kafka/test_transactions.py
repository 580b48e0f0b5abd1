"""Exactly once on real brokers: what a subscriber that reads committed records sees of every fault.

The storms are in tests/chaos; here is one scripted story per fault.
"""

from __future__ import annotations

import signal

import pytest

from tests.kafka.failpoint import Boundary
from tests.kafka.figures import tell
from tests.kafka.history import Action, History
from tests.kafka.items import mixed, normal
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.waiting import eventually

SEED = 20_260
GUARANTEE = {"processing__guarantee": "exactly-once", "transaction__timeout": 10}


def assert_exactly_once(history: History) -> None:
    assert_sound(history)
    assert history.duplicates() == 0


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range", "consumer"])
def test_a_kill_and_a_join_show_every_result_once(scenario: Scenario, assignor: str) -> None:
    heartbeat = {"kafka__consumer": ""} if assignor == "consumer" else {}
    scenario.prepare(kafka__assignor=assignor, **GUARANTEE, **heartbeat)
    staying, doomed = scenario.start("staying"), scenario.start("doomed", score_seconds=0.02)
    eventually("both own partitions", lambda: staying.owns() and doomed.owns(), 90)
    scenario.feed(list(mixed(20_000, SEED, every=50)), 3_000)
    eventually("it is at work", lambda: doomed.polled() > 500, 60)
    doomed.kill()
    joined = scenario.start("joined")
    scenario.until_committed()
    scenario.stop(staying, joined)
    history = scenario.history()
    tell(f"exactly once: kill and join ({assignor})", history)
    assert_exactly_once(history)


# The last two lie before and after the offsets are sent into the transaction.
@pytest.mark.parametrize(
    "boundary",
    [Boundary.AFTER_SCORE, Boundary.AFTER_PRODUCE, Boundary.IN_TRANSACTION, Boundary.BEFORE_COMMIT],
)
def test_a_kill_within_a_transaction_is_seen_by_nobody(scenario: Scenario, boundary: Boundary) -> None:
    scenario.prepare({"input": 3}, kafka__session_timeout=3, **GUARANTEE)
    scenario.feed(list(mixed(3_000, seed=7, every=50))).finish()
    doomed = scenario.start("doomed", failpoint=f"{boundary}:2")
    assert doomed.wait(60) == -signal.SIGKILL
    assert scenario.start("heir", "--stop-at-end").wait(90) == 0
    history = scenario.history()
    tell(f"exactly once: kill {boundary}", history)
    assert len(history.of(Action.FAILPOINT)) == 1
    assert_exactly_once(history)


def test_a_replica_that_wakes_up_after_its_session_adds_nothing(scenario: Scenario) -> None:
    scenario.prepare(**GUARANTEE)
    zombie, heir = scenario.start("zombie", score_seconds=0.05), scenario.start("heir")
    eventually("both own partitions", lambda: zombie.owns() and heir.owns(), 90)
    scenario.feed(list(normal(20_000, SEED + 1)), 2_000)
    eventually("it is at work", lambda: zombie.polled() > 500, 60)
    zombie.signal(signal.SIGSTOP)
    eventually("the other owns everything", lambda: len(heir.owns()) == 6, 60)
    zombie.signal(signal.SIGCONT)
    scenario.until_committed()
    if zombie.running:  # nothing of it was open, so that it could join anew
        scenario.stop(zombie)
    else:
        assert zombie.wait(1) == 1
        assert "same transactional id" in zombie.log
    scenario.stop(heir)
    history = scenario.history()
    tell("exactly once: stopped beyond the session, then continued", history)
    assert_exactly_once(history)


def test_a_stop_leaves_no_transaction_open_that_would_hide_later_results(scenario: Scenario) -> None:
    scenario.prepare({"input": 1, "results": 1, "dead": 1}, **(GUARANTEE | {"transaction__timeout": 900}))
    replica = scenario.start("only", score_seconds=0.02)
    scenario.feed(list(normal(20_000, SEED + 2)), 4_000)
    eventually("it is at work", lambda: replica.polled() > 2_000, 60)
    scenario.stop(replica)
    last = max((sent for sent in scenario.read_again()), key=lambda written: written.offset)
    assert scenario.committed() == {0: last.source[1] + 1}

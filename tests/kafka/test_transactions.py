"""Exactly once on real brokers: what a subscriber that reads committed records sees of every fault.

The storms are in tests/chaos; here is one scripted story per fault.
"""

from __future__ import annotations

import pytest

from tests.kafka.figures import tell
from tests.kafka.history import History
from tests.kafka.items import mixed
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

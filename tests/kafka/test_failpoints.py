"""A process kills itself between two steps of the line; its successor repeats what was not committed."""

from __future__ import annotations

import signal

import pytest

from tests.kafka.failpoint import Boundary
from tests.kafka.figures import tell
from tests.kafka.history import Action
from tests.kafka.items import mixed
from tests.kafka.scenario import Scenario, assert_sound

# Boundaries at which at least one acknowledged record is not committed yet.
_DURABLE = {Boundary.AFTER_ACKS, Boundary.BEFORE_COMMIT}


@pytest.mark.parametrize("boundary", [b for b in Boundary if b is not Boundary.IN_TRANSACTION])
def test_a_kill_at_any_boundary_loses_nothing(scenario: Scenario, boundary: Boundary) -> None:
    scenario.prepare(partitions={"input": 3}, kafka__session_timeout=3)
    scenario.feed(list(mixed(3_000, seed=7, every=50))).finish()
    doomed = scenario.start("doomed", failpoint=f"{boundary}:4")
    assert doomed.wait(60) == -signal.SIGKILL
    assert scenario.start("heir", "--stop-at-end").wait(60) == 0
    history = scenario.history()
    tell(f"kill {boundary}", history)
    assert len(history.of(Action.FAILPOINT)) == 1
    assert_sound(history)
    assert history.duplicates() >= (1 if boundary in _DURABLE else 0)

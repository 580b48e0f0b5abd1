"""The brokers go away and come back."""

from __future__ import annotations

import re
import signal

from tests.kafka.cluster import Cluster
from tests.kafka.figures import tell
from tests.kafka.history import Action
from tests.kafka.items import normal
from tests.kafka.replicas import Replica
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually


def test_a_broker_that_is_killed_under_load_and_restarted_costs_nothing(
    owned_cluster: Cluster, scenario: Scenario
) -> None:
    scenario.prepare(kafka__session_timeout=45, delivery__timeout=120)
    replicas = [scenario.start(name) for name in ("one", "two")]
    eventually("both own partitions", lambda: all(r.owns() for r in replicas), 90)
    feeder = scenario.feed(list(normal(20_000, seed=21)), 2_500)
    eventually("some is sent", lambda: len(feeder.sent) > 4_000, 60)
    owned_cluster.kill()
    eventually("the outage is told", lambda: not any(r.ready() for r in replicas), 30)
    assert all(r.alive() for r in replicas)
    owned_cluster.start()
    owned_cluster.wait_ready()
    scenario.until_committed()
    moved = [h for h in scenario.happenings() if h.action in {Action.REVOKED, Action.LOST}]
    assert not moved, "an outage shorter than the session must not move partitions"
    eventually("ready again", lambda: all(r.ready() for r in replicas), 30)
    scenario.stop(*replicas)
    history = scenario.history()
    tell("broker killed and restarted", history)
    assert_sound(history)


def test_a_stop_while_the_brokers_are_away_ends_in_time_and_names_what_is_uncommitted(
    owned_cluster: Cluster, scenario: Scenario, topics: Topics
) -> None:
    patient = _with_uncommitted(scenario, "patient", shutdown__drain_timeout=4)
    owned_cluster.kill()
    try:
        patient.signal(signal.SIGTERM)
        assert patient.wait(20) == 1
    finally:
        owned_cluster.start()
        owned_cluster.wait_ready()
    naming = [line for line in patient.log.splitlines() if re.search(r"\b100\b.*uncommitted", line)]
    assert len(naming) == 1, patient.log
    assert scenario.start("heir", "--stop-at-end").wait(60) == 0
    history = scenario.history()
    tell("stop with brokers away", history)
    assert history.duplicates() == 100
    assert_sound(history)


def test_a_second_signal_ends_a_stop_that_hangs_at_once(owned_cluster: Cluster, scenario: Scenario) -> None:
    hanging = _with_uncommitted(scenario, "hanging", shutdown__drain_timeout=300)
    owned_cluster.kill()
    try:
        hanging.signal(signal.SIGTERM)
        eventually("the stop hangs", lambda: _asked_in_vain(hanging), 20)
        assert hanging.running
        hanging.signal(signal.SIGTERM)
        assert hanging.wait(10) not in {0, -signal.SIGTERM}
    finally:
        owned_cluster.start()
        owned_cluster.wait_ready()
    assert scenario.start("heir", "--stop-at-end").wait(60) == 0
    assert_sound(scenario.history())


def _with_uncommitted(scenario: Scenario, name: str, **settings: object) -> Replica:
    """A replica with 100 records written and none of them committed."""
    scenario.prepare({"input": 1}, commit__interval=600, **settings)
    scenario.feed(list(normal(100, seed=22))).finish()
    replica = scenario.start(name)
    eventually("all is written", lambda: scenario.read() == 100, 60)
    assert scenario.committed() == {0: 0}
    return replica


def _asked_in_vain(replica: Replica) -> bool:
    last = [h for h in replica.happenings() if h.action in {Action.ASKED, Action.COMMITTED}]
    return bool(last) and last[-1].action is Action.ASKED and last[-1].offsets == {0: 100}

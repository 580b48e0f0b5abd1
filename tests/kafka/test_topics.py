"""The results topic is missing: at the start, and later."""

from __future__ import annotations

import time

from tests.kafka.items import normal
from tests.kafka.scenario import Scenario
from tests.kafka.waiting import eventually


def test_a_missing_results_topic_at_the_start_is_exit_2_with_the_command_that_creates_it(
    scenario: Scenario,
) -> None:
    scenario.create_topic("input")
    scenario.create_topic("dead")
    replica = scenario.start("eager")
    assert replica.wait(60) == 2
    command = f"--create --topic {scenario.name('results')}"
    assert command in replica.log, replica.log


def test_a_results_topic_that_is_deleted_while_running_stops_commits_until_it_is_back(
    scenario: Scenario,
) -> None:
    scenario.prepare({"input": 2}, delivery__timeout=5)
    replica = scenario.start("only")
    scenario.feed(list(normal(500, seed=31)))
    scenario.until_committed()
    before = scenario.committed()
    scenario.delete_topic("results")
    scenario.feed(list(normal(1_500, seed=32)))
    later = [s for s in scenario.fed() if s.offset >= before[s.partition]]
    eventually("not ready", lambda: not replica.ready(), 60)
    time.sleep(3)  # long enough for several commits, were there any
    assert scenario.committed() == before
    scenario.create_topic("results")
    scenario.until_committed()
    eventually("ready again", replica.ready, 30)
    scenario.stop(replica)
    written = {w.source for w in scenario.read_again()}
    assert written >= {(s.partition, s.offset) for s in later}

"""Replicas are killed, stopped and added under load; subscribers lose nothing.

The long run kills a replica between the acknowledgement of a batch and its commit, with a second batch in
flight; the short ones kill from outside, under each way of sharing partitions.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.kafka.cluster import AnyCluster
from tests.kafka.figures import tell
from tests.kafka.history import Action, History, samples_until_recovery
from tests.kafka.items import normal
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

RECORDS = 100_000
RATE = 4_500  # a second: the run outlasts a session timeout several times
SEED = 20_240


@pytest.fixture(scope="module")
def long_run(
    cluster: AnyCluster, topics: Topics, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[History]:
    scenario = Scenario(cluster.bootstrap, topics, tmp_path_factory.mktemp("long-run"))
    try:
        yield _long_run(scenario)
    finally:
        scenario.close()


def _long_run(scenario: Scenario) -> History:
    scenario.prepare()
    first = scenario.start("first", score_seconds=0.01)
    doomed = scenario.start("doomed", score_seconds=0.01, failpoint="after_acks:1:2", armed=False)
    third = scenario.start("third", score_seconds=0.01)
    eventually("each of three owns partitions", lambda: all(r.owns() for r in (first, doomed, third)), 90)
    items = list(normal(RECORDS, SEED))
    feeder = scenario.feed(items[: RECORDS // 2], RATE)
    eventually("some is sent", lambda: len(feeder.sent) > RECORDS // 20, 60)
    doomed.arm()
    assert doomed.wait(60) == -signal.SIGKILL
    joined = scenario.start("joined", score_seconds=0.01)
    eventually("the fourth owns partitions", joined.owns, 90)
    feeder = scenario.feed(items[RECORDS // 2 :], RATE)
    eventually("more is sent", lambda: len(feeder.sent) > RECORDS // 10, 60)
    scenario.stop(first)
    scenario.until_committed()
    scenario.stop(third, joined)
    history = scenario.history()
    tell("kill after acknowledgement, stop, join (cooperative-sticky)", history)
    return history


def test_a_hundred_thousand_records_survive_a_kill_a_stop_and_a_join(long_run: History) -> None:
    assert len(long_run.sent) == RECORDS
    assert_sound(long_run)


def test_the_killed_replica_had_a_batch_in_flight_beside_the_acknowledged_one(long_run: History) -> None:
    (failpoint,) = long_run.of(Action.FAILPOINT)
    assert failpoint.counts[0] >= 2


def test_the_kill_causes_duplicates_within_a_bound_of_two_percent(long_run: History) -> None:
    assert 0 < long_run.duplicates() <= long_run.bound() <= 0.02 * RECORDS


def test_committed_offsets_were_watched_throughout_and_while_the_group_recovered(long_run: History) -> None:
    (killed,) = long_run.of(Action.KILLED)
    assert len(long_run.samples) >= 100
    assert len(samples_until_recovery(long_run, killed)) >= 20


def test_every_replica_that_was_not_killed_owned_partitions_and_gave_them_back(long_run: History) -> None:
    for name in ("first", "third", "joined"):
        own = [h for h in long_run.happenings if h.replica == name]
        owned = {p for h in own if h.action is Action.ASSIGNED for p in h.offsets}
        revoked = {p for h in own if h.action is Action.REVOKED for p in h.offsets}
        assert owned
        assert owned == revoked


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range", "consumer"])
def test_nothing_is_lost_when_a_working_replica_is_killed(scenario: Scenario, assignor: str) -> None:
    heartbeat = {"kafka__consumer": ""} if assignor == "consumer" else {}
    scenario.prepare(kafka__assignor=assignor, **heartbeat)
    staying, doomed = scenario.start("staying"), scenario.start("doomed", score_seconds=0.02)
    eventually("both own partitions", lambda: staying.owns() and doomed.owns(), 90)
    scenario.feed(list(normal(20_000, SEED + 1)), 3_000)
    eventually("it is at work", lambda: doomed.polled() > 500, 60)
    doomed.kill()
    joined = scenario.start("joined")
    scenario.until_committed()
    scenario.stop(staying, joined)
    history = scenario.history()
    tell(f"kill and join ({assignor})", history)
    assert_sound(history)

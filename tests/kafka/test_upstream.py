"""What producers, retention and operators do to the input while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.kafka.cluster import AnyCluster
from tests.kafka.history import Action
from tests.kafka.items import normal
from tests.kafka.replicas import Replica
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.waiting import eventually


@pytest.fixture
def admin(cluster: AnyCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


@contextmanager
def upstream(cluster: AnyCluster, scenario: Scenario) -> Iterator[Producer]:
    """A producer of the input that works in transactions; the first one is open."""
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "transactional.id": scenario.name("upstream"),
            "transaction.timeout.ms": 60_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    yield producer


def send(producer: Producer, scenario: Scenario, *texts: str) -> None:
    for text in texts:
        producer.produce(scenario.name("input"), text.encode(), partition=0)
    assert producer.flush(30) == 0


def owner(scenario: Scenario, **options: str) -> Replica:
    replica = scenario.start("only", **options)
    eventually("it owns the input", lambda: bool(replica.owns()), 60)
    return replica


def read_offsets(scenario: Scenario) -> list[int]:
    return sorted(w.source[1] for w in scenario.read_again())


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_aborted_input_is_never_scored_and_leaves_no_lag(
    cluster: AnyCluster, scenario: Scenario, guarantee: str
) -> None:
    scenario.prepare({"input": 1}, processing__guarantee=guarantee)
    replica = owner(scenario)
    with upstream(cluster, scenario) as producer:
        send(producer, scenario, "kept 0", "kept 1")
        producer.commit_transaction(30)
        producer.begin_transaction()
        send(producer, scenario, "thrown away 3", "thrown away 4")
        producer.abort_transaction(30)
        producer.begin_transaction()
        send(producer, scenario, "kept 6")
        producer.commit_transaction(30)
    # Offsets 2, 5 and 7 are markers: the group steps over the last one, too.
    eventually("everything is committed", lambda: scenario.committed() == {0: 8}, 60)
    scenario.stop(replica)
    assert read_offsets(scenario) == [0, 1, 6]


def test_an_open_transaction_upstream_is_told_apart_from_having_nothing_to_do(
    cluster: AnyCluster, scenario: Scenario
) -> None:
    scenario.prepare({"input": 1}, health__stuck_after=2)
    replica = owner(scenario)
    with upstream(cluster, scenario) as producer:
        send(producer, scenario, "not decided yet")
        eventually("it says what it waits for", lambda: "open transaction" in replica.why_not_ready(), 60)
        assert replica.alive()
        assert scenario.read() == 0
        producer.commit_transaction(30)
    eventually("ready again", replica.ready, 60)
    eventually("everything is committed", lambda: scenario.committed() == {0: 2}, 60)
    scenario.stop(replica)


def test_a_gap_that_retention_made_is_counted_and_the_rest_is_scored(
    scenario: Scenario, admin: AdminClient
) -> None:
    scenario.prepare({"input": 1})
    scenario.feed(list(normal(100, seed=41))).finish()
    assert scenario.start("before", "--stop-at-end").wait(60) == 0
    scenario.feed(list(normal(400, seed=42))).finish()
    gone = TopicPartition(scenario.name("input"), 0, 300)
    admin.delete_records([gone])[gone].result(timeout=30)
    replica = owner(scenario)
    eventually("the rest is committed", lambda: scenario.committed() == {0: 500}, 60)
    skipped = [line for line in replica.metrics().splitlines() if "offsets_skipped" in line]
    assert any(line.endswith(" 200.0") for line in skipped), skipped
    scenario.stop(replica)
    assert read_offsets(scenario) == [*range(100), *range(300, 500)]


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_partitions_that_are_added_are_read_from_their_beginning_whatever_the_start(
    scenario: Scenario, admin: AdminClient, start: str
) -> None:
    scenario.prepare({"input": 2}, most_inputs=4, input__start=start)
    before = owner(scenario)
    eventually("the group has begun", lambda: scenario.committed() == {0: 0, 1: 0}, 60)
    scenario.stop(before)
    admin.create_partitions([NewPartitions(scenario.name("input"), 4)])[scenario.name("input")].result(30)
    scenario.feed(list(normal(200, seed=43))).finish()
    assert {sent.partition for sent in scenario.fed()} >= {2, 3}
    replica = scenario.start("after")
    scenario.until_committed()
    scenario.stop(replica)
    assert_sound(scenario.history())


def test_partitions_that_are_added_while_it_runs_are_taken_up(scenario: Scenario, admin: AdminClient) -> None:
    refresh = "heartbeat.interval.ms=500,topic.metadata.refresh.interval.ms=1000"
    scenario.prepare({"input": 2}, most_inputs=4, kafka__consumer=refresh)
    replica = owner(scenario)
    admin.create_partitions([NewPartitions(scenario.name("input"), 4)])[scenario.name("input")].result(30)
    eventually("it owns the new ones", lambda: replica.owns() == {0, 1, 2, 3}, 60)
    scenario.feed(list(normal(200, seed=44))).finish()
    scenario.until_committed()
    scenario.stop(replica)
    assert_sound(scenario.history())


def test_a_topic_that_is_deleted_and_made_again_is_trouble_and_then_read_from_its_beginning(
    scenario: Scenario,
) -> None:
    refresh = "heartbeat.interval.ms=500,topic.metadata.refresh.interval.ms=1000"
    scenario.prepare({"input": 1}, kafka__consumer=refresh, health__stuck_after=5)
    replica = owner(scenario)
    scenario.feed(list(normal(50, seed=45))).finish()
    eventually("it is done with the first", lambda: scenario.committed() == {0: 50}, 60)
    scenario.delete_topic("input")
    eventually("not ready", lambda: not replica.ready(), 90)
    scenario.create_topic("input")
    scenario.feed(list(normal(20, seed=46))).finish()
    eventually("the new log is read", lambda: scenario.read() >= 70, 90)
    assert replica.running
    assert [h.offsets for h in replica.happenings() if h.action is Action.ASSIGNED][-1] == {0: 0}
    scenario.stop(replica)

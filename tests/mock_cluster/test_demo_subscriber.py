"""The demonstration's subscriber reads everything there is, once, and knows when it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from consumer.demo.cluster import InProcessCluster
from consumer.demo.outputs import DeadLetter, Result
from consumer.demo.subscriber import Subscriber, committed_to_end, drain
from consumer.errors import ConsumerError

pytestmark = pytest.mark.mock_cluster


@pytest.fixture
def cluster() -> Iterator[InProcessCluster]:
    with InProcessCluster(rebalance_delay_ms=200) as running:
        for topic in ("results", "dead", "in"):
            running.create_topic(topic, partitions=3)
        yield running


def produce(cluster: InProcessCluster, topic: str, values: list[bytes], **headers: bytes) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    named = [(name.replace("_", "."), value) for name, value in headers.items()]
    for index, value in enumerate(values):
        producer.produce(topic, value, partition=index % 3, headers=named)
    assert producer.flush(20) == 0


def result(identity: str) -> bytes:
    return msgspec.json.encode(
        {"id": identity, "outcome": "scored", "score": 1.5, "is_anomaly": False, "parts": {"novelty": None}}
    )


def test_results_and_dead_letters_are_read_to_the_end_each_once(cluster: InProcessCluster) -> None:
    produce(cluster, "results", [result(f"in|0|{i}") for i in range(500)])
    produce(cluster, "dead", [b"{"], consumer_result_id=b"in|0|500", consumer_reason=b"undecodable")
    with closing(Subscriber(cluster.bootstrap, "results", "dead")) as subscriber:
        outputs = drain(subscriber, 30)
        assert sorted(o.id for o in outputs) == sorted(f"in|0|{i}" for i in range(501))
        assert [o for o in outputs if isinstance(o, DeadLetter)] == [
            DeadLetter("in|0|500", "undecodable", b"{")
        ]
        assert all(o.known for o in outputs if isinstance(o, Result))


def test_a_topic_that_forgot_its_beginning_shows_in_the_watermarks(cluster: InProcessCluster) -> None:
    produce(cluster, "results", [result("a"), result("b"), result("c"), result("d")])
    cluster.delete_records("results", 0, before=1)
    with closing(Subscriber(cluster.bootstrap, "results", "dead")) as subscriber:
        low = {where: first for where, (first, _) in subscriber.watermarks().items() if first}
        assert low == {("results", 0): 1}


def test_brokers_that_do_not_answer_are_told_and_not_taken_for_the_end(cluster: InProcessCluster) -> None:
    with closing(Subscriber(cluster.bootstrap, "results", "dead")) as subscriber:
        drain(subscriber, 30)
        produce(cluster, "results", [result("a")])
        cluster.set_leader("results", 0, broker=-1)
        with pytest.raises((ConsumerError, KafkaException)):
            drain(subscriber, 0.5)


def test_a_group_is_at_the_end_only_when_every_partition_is_committed(cluster: InProcessCluster) -> None:
    produce(cluster, "in", [b"a", b"b", b"c"])
    committing = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "demo", "log_level": 0})
    with closing(committing):
        ends = [TopicPartition("in", p, 1) for p in range(3)]
        committing.commit(offsets=ends[:2], asynchronous=False)
        assert not committed_to_end(cluster.bootstrap, "demo", "in")
        committing.commit(offsets=ends[2:], asynchronous=False)
        assert committed_to_end(cluster.bootstrap, "demo", "in")

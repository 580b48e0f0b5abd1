"""The in-process cluster does what its methods say, for clients here and in other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from consumer.demo.cluster import InProcessCluster
from consumer.errors import ConsumerError

pytestmark = pytest.mark.mock_cluster

PRODUCE = 0  # Kafka API key

_WRITE_FROM_ANOTHER_PROCESS = """
import sys
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1]})
for i in range(60):
    producer.produce("in", str(i).encode(), partition=i % 6)
sys.exit(producer.flush(20))
"""


@pytest.fixture
def cluster() -> Iterator[InProcessCluster]:
    with InProcessCluster(brokers=2) as running:
        running.create_topic("in", partitions=6)
        yield running


def produce(cluster: InProcessCluster, value: bytes) -> KafkaError | None:
    """The delivery report's error of one record on in[0]; None when it was acknowledged."""
    reports: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        reports.append(error)

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "retries": 0, "log_level": 0})
    producer.produce("in", value, partition=0, on_delivery=delivered)
    producer.flush(20)
    return reports[0]


def watermarks(cluster: InProcessCluster, partition: int) -> tuple[int, int]:
    reader = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "look", "log_level": 0})
    try:
        return reader.get_watermark_offsets(TopicPartition("in", partition), timeout=20)
    finally:
        reader.close()


def test_another_process_writes_and_this_one_sees_every_record(cluster: InProcessCluster) -> None:
    command = [sys.executable, "-c", _WRITE_FROM_ANOTHER_PROCESS, cluster.bootstrap]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0
    assert [watermarks(cluster, partition) for partition in range(6)] == [(0, 10)] * 6


def test_a_pushed_error_is_answered_once_and_the_next_request_works(cluster: InProcessCluster) -> None:
    cluster.push_request_errors(PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE])
    refused = produce(cluster, b"first")
    assert refused is not None
    assert refused.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert produce(cluster, b"second") is None


def test_cleared_errors_are_not_answered(cluster: InProcessCluster) -> None:
    cluster.push_request_errors(PRODUCE, [KafkaError.MSG_SIZE_TOO_LARGE] * 5)
    cluster.clear_request_errors(PRODUCE)
    assert produce(cluster, b"first") is None


def test_deleted_records_move_the_low_watermark(cluster: InProcessCluster) -> None:
    for value in (b"a", b"b", b"c"):
        assert produce(cluster, value) is None
    cluster.delete_records("in", 0, before=2)
    assert watermarks(cluster, 0) == (2, 3)


def test_tracked_requests_name_broker_and_api(cluster: InProcessCluster) -> None:
    cluster.set_leader("in", 0, broker=2)
    cluster.track_requests()
    assert produce(cluster, b"a") is None
    assert [r.broker for r in cluster.requests() if r.api_key == PRODUCE] == [2]


def test_a_topic_that_exists_and_a_broker_that_does_not_are_refused(cluster: InProcessCluster) -> None:
    with pytest.raises(ConsumerError, match="topic_create"):
        cluster.create_topic("in", partitions=2)
    with pytest.raises(ConsumerError, match="broker_set_down"):
        cluster.broker_down(77)


def test_a_broker_that_is_down_acknowledges_only_once_it_is_up_again(cluster: InProcessCluster) -> None:
    cluster.set_leader("in", 0, broker=1)
    reports: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    cluster.broker_down()
    producer.produce("in", b"a", partition=0, on_delivery=lambda error, _: reports.append(error))
    assert producer.flush(0.5) == 1
    cluster.broker_up()
    assert producer.flush(20) == 0
    assert reports == [None]


def test_closing_twice_is_harmless() -> None:
    cluster = InProcessCluster()
    cluster.close()
    cluster.close()

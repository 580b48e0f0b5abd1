"""Reading a fixed stretch of a topic: what the real client delivers, and that no group sees us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.demo.cluster import InProcessCluster
from consumer.errors import Infrastructure, Misconfigured
from consumer.kafka.reader import Stretch, TopicReader, reader_config
from consumer.records import Record
from consumer.settings import Settings
from tests.mock_cluster.conftest import QUIET, changed, produce

pytestmark = pytest.mark.mock_cluster


@pytest.fixture
def reader(settings: Settings) -> Iterator[TopicReader]:
    with closing(TopicReader(settings, "events")) as made:
        yield made


def numbered(count: int) -> list[bytes]:
    return [b"line %d" % i for i in range(count)]


def values(records: list[Record], partition: int) -> list[bytes | None]:
    return [record.value for record in records if record.partition == partition]


def test_everything_up_to_the_ends_is_read_in_order(cluster: InProcessCluster, reader: TopicReader) -> None:
    produce(cluster, numbered(700), partition=0)
    produce(cluster, numbered(40), partition=1)
    plan = reader.plan(None, 10_000)
    assert plan == [Stretch(0, 0, 700, 700), Stretch(1, 0, 40, 40)]
    records = list(reader.read(plan))
    assert values(records, 0) == numbered(700)
    assert values(records, 1) == numbered(40)
    assert all(record.timestamp for record in records)


def test_the_ends_are_fixed_by_the_plan_however_much_comes_after(
    cluster: InProcessCluster, reader: TopicReader
) -> None:
    produce(cluster, numbered(50))
    plan = reader.plan(None, 1_000)
    produce(cluster, [b"late"] * 500)
    assert values(list(reader.read(plan)), 0) == numbered(50)


def test_a_count_is_shared_among_the_partitions_that_have_records(
    cluster: InProcessCluster, reader: TopicReader
) -> None:
    produce(cluster, numbered(300), partition=0)
    produce(cluster, numbered(10), partition=1)
    records = list(reader.read(reader.plan(None, 100)))
    assert values(records, 0) == numbered(90)
    assert values(records, 1) == numbered(10)


def test_an_empty_topic_gives_nothing_and_does_not_wait(reader: TopicReader) -> None:
    assert list(reader.read(reader.plan(None, 100))) == []


def test_records_before_the_time_asked_are_left_out(cluster: InProcessCluster, reader: TopicReader) -> None:
    produce(cluster, numbered(20))
    assert reader.plan(4_102_444_800_000, 100) == []  # the year 2100


def test_a_partition_that_ends_in_a_gap_is_finished_at_its_end(
    cluster: InProcessCluster, settings: Settings, reader: TopicReader
) -> None:
    """A plan that ends one beyond the last record, as behind the marker of a transaction: the end of the
    partition is told at the offset where the log ends."""
    produce(cluster, numbered(5))
    (stretch,) = reader.plan(None, 100)
    assert len(list(reader.read([stretch._replace(most=6)]))) == 5
    with closing(TopicReader(settings, "events")) as other:
        assert len(list(other.read([stretch._replace(end=6, most=6)]))) == 5


def test_no_group_is_joined_and_nothing_is_committed(
    cluster: InProcessCluster, settings: Settings, reader: TopicReader
) -> None:
    produce(cluster, numbered(20))
    assert len(list(reader.read(reader.plan(None, 100)))) == 20
    for group in (settings.kafka.group_id, reader_config(settings)["group.id"]):
        with closing(
            Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group}, logger=QUIET)
        ) as other:
            assert other.committed([KafkaPartition("events", 0)], timeout=10)[0].offset < 0


def test_nothing_in_the_configuration_makes_a_member(settings: Settings) -> None:
    static = changed(settings, "kafka", group_instance_id="replica-1", assignor="consumer")
    config = reader_config(static)
    assert not {"group.instance.id", "group.protocol", "partition.assignment.strategy"} & config.keys()
    assert config["isolation.level"] == "read_committed"
    assert config["enable.auto.commit"] is False
    assert config["group.id"] != settings.kafka.group_id


def test_a_topic_that_does_not_exist_is_named_and_not_created(settings: Settings) -> None:
    with closing(TopicReader(settings, "evnets")) as made:
        for _ in range(2):
            with pytest.raises(Misconfigured, match=r"evnets.*does not exist"):
                made.plan(None, 10)


def test_brokers_that_do_not_answer_are_wrong_input_and_not_an_empty_topic(settings: Settings) -> None:
    away = changed(settings, "kafka", bootstrap_servers="127.0.0.1:1")
    with (
        closing(TopicReader(away, "events", timeout=0.5)) as made,
        pytest.raises(Misconfigured, match=r"127\.0\.0\.1:1.*events.*correct the address"),
    ):
        made.plan(None, 10)


def test_a_broker_that_goes_silent_in_the_middle_ends_the_reading(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, numbered(20))
    with closing(TopicReader(settings, "events", timeout=1.0)) as made:
        (stretch,) = made.plan(None, 100)
        cluster.broker_down()
        with pytest.raises(Infrastructure, match="events"):
            list(made.read([stretch]))

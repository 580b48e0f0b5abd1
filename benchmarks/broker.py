"""The Apache Kafka brokers of the benchmark, and the topics on them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer

from tests.kafka.cluster import JARS, AnyCluster, Cluster, ExternalCluster
from tests.kafka.topics import Topics

PARTITIONS = 4
_KEYS = 64
_FLUSH_EVERY = 50_000  # half of what the client queues


@contextmanager
def brokers(size: int) -> Iterator[AnyCluster]:
    """So many fresh brokers from the jars, or those that KAFKA_BOOTSTRAP_SERVERS names. Raises
    FileNotFoundError when there are neither."""
    named = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if named:
        yield ExternalCluster(named)
        return
    if not any(JARS.glob("kafka-clients-*.jar")):
        raise FileNotFoundError(f"no Apache Kafka in {JARS}: `make kafka-jars` fetches it")
    cluster = Cluster(size=size)
    try:
        cluster.start()
        cluster.wait_ready()
        yield cluster
    finally:
        cluster.close()


def kafka_version() -> str:
    """Of the jars: `4.3.1`."""
    names = [path.stem for path in JARS.glob("kafka-clients-*.jar")]
    return names[0].rpartition("-")[2] if names else "of KAFKA_BOOTSTRAP_SERVERS"


def fill(bootstrap: str, topics: Topics, name: str, values: Sequence[bytes]) -> None:
    """Create the topic and write the values to it, under keys that spread them over the partitions."""
    topics.create(name, PARTITIONS)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "enable.idempotence": True})
    for number, value in enumerate(values):
        key = b"host-%d" % (zlib.crc32(b"%d" % number) % _KEYS)
        producer.produce(name, value, key)
        if number % _FLUSH_EVERY == _FLUSH_EVERY - 1:
            producer.flush()
        elif number % 1_000 == 0:
            producer.poll(0)
    if producer.flush(60):
        raise RuntimeError(f"topic {name} was not filled")

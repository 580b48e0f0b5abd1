"""Record batches that are broken as such: what a broker takes none of, and what its disk made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.payload import AT
from tests.kafka.cluster import AnyCluster, Cluster
from tests.kafka.collect import Reader
from tests.kafka.raw_produce import RawProducer, RawRecord, Refused, batch_of
from tests.kafka.replicas import Deployment
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

TOPICS = {"input.topic": "input", "output.topic": "results", "dead_letter.topic": "dead"}
_SETTINGS = {"health.stuck_after": "2"}
_PLAIN, _UNKNOWN = 0, 6
"""Compression codecs of the protocol: none, and one that is not defined."""


@pytest.fixture
def corrupted() -> Iterator[Cluster]:
    """Brokers whose input has a healthy partition 0 and a partition 1 with a flipped byte in its second
    of three batches of two records."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.wait_ready()
        topics = Topics(cluster.bootstrap)
        for name in TOPICS.values():
            topics.create(name, 2)
        producer = RawProducer(cluster.bootstrap, "input")
        for partition in range(2):
            for number in range(3):
                pair = [RawRecord(b"disk %d closed %d" % (number, n), timestamp=AT) for n in range(2)]
                producer.send(partition, batch_of(pair, codec=_PLAIN))
        cluster.stop()
        _flip(cluster.nodes[0].home / "data" / "input-1" / f"{0:020}.log", b"disk 1 closed 1")
        cluster.start()
        cluster.wait_ready()
        yield cluster
    finally:
        cluster.close()


def test_a_broker_takes_no_batch_with_a_wrong_checksum_or_an_unknown_compression(
    cluster: AnyCluster, topics: Topics
) -> None:
    producer = RawProducer(cluster.bootstrap, topics.create("hostile-refused"))
    good = [RawRecord(b"disk closed", timestamp=AT)]
    for broken in (batch_of(good, wrong_checksum=True), batch_of(good, codec=_UNKNOWN)):
        with pytest.raises(Refused):
            producer.send(0, broken)
    assert producer.send(0, batch_of(good)) == 0


def test_a_batch_that_went_bad_on_disk_holds_its_partition_up_is_told_and_nothing_behind_it_is_skipped(
    corrupted: Cluster, tmp_path: Path
) -> None:
    replica = Deployment(tmp_path, corrupted.bootstrap, "group", TOPICS, _SETTINGS).start("only")
    try:
        eventually("told", lambda: "partition 1: nothing finished" in replica.why_not_ready(), 60)
        assert replica.alive()
        replica.signal()
        assert replica.wait(60) == 0
    finally:
        replica.end()
    assert "failed CRC32C check" in replica.log
    reader = Reader(corrupted.bootstrap, {"results": 2, "dead": 2})
    reader.start()
    read = sorted((m.topic(), m.partition(), m.offset()) for m in reader.finish())
    healthy, before_it = [("results", 0, n) for n in range(6)], [("results", 1, n) for n in range(2)]
    assert read == healthy + before_it


def _flip(log: Path, value: bytes) -> None:
    """Change the last bit of a value in a log, behind the broker's back."""
    data = log.read_bytes()
    assert data.count(value) == 1
    log.write_bytes(data.replace(value, value[:-1] + bytes([value[-1] ^ 1])))

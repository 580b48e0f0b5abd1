"""Resident memory of a replica stays within the sum of its settings; `make memory` has the long runs."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from benchmarks.memory_bound import MIB, Topic, bound, total
from benchmarks.memory_load import Load, write
from benchmarks.memory_watch import Watch, memory_of
from consumer.loading import load
from tests.kafka.cluster import AnyCluster, Cluster
from tests.kafka.replicas import Deployment, Replica
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

_PARTITIONS, _FILLED = 1_000, 200


def test_a_slow_replica_of_a_thousand_partitions_reads_ahead_no_more_than_its_settings_allow(
    cluster: AnyCluster, topics: Topics, tmp_path: Path
) -> None:
    little = {"queued.max.messages.kbytes": 4_096, "fetch.max.bytes": 1_048_576}
    settings = {
        "kafka.consumer": ",".join(f"{key}={value}" for key, value in little.items()),
        "batch.byte_size": "1000000",
        "pipeline.depth": "1",
    }
    backlog = Load(size=10_000, total=300_000_000)
    deployment = _deployment(cluster.bootstrap, topics, tmp_path, _PARTITIONS, settings)
    with _started(deployment, score_seconds=60.0) as (replica, start):
        written = write(cluster.bootstrap, deployment.topics["input.topic"], backlog, into=_FILLED)
        watch = Watch(replica.pid)
        replica.signal(signal.SIGCONT)
        eventually("a batch is under way", replica.polled, 60)
        time.sleep(5)
        watch.finish()
        assert replica.polled() < written.records / 10
    topics.delete(deployment.topics["input.topic"])
    allowed = _allowed(deployment, Topic(backlog.size, partitions=_PARTITIONS))
    assert allowed < backlog.total / 2, "what the settings allow must be far from the whole"
    assert watch.peak - start < allowed, f"{(watch.peak - start) / MIB:.0f} of {allowed / MIB:.0f} MiB"


def test_memory_is_flat_while_the_brokers_are_away_under_load(
    owned_cluster: Cluster, topics: Topics, tmp_path: Path
) -> None:
    backlog = Load(size=1_000, total=100_000_000)
    settings = {"batch.count": "100", "pipeline.depth": "2"}
    deployment = _deployment(owned_cluster.bootstrap, topics, tmp_path, 4, settings)
    with _started(deployment) as (replica, start):
        write(owned_cluster.bootstrap, deployment.topics["input.topic"], backlog)
        watch = Watch(replica.pid)
        replica.signal(signal.SIGCONT)
        eventually("a part is done", lambda: replica.polled() > 2_000, 60)
        owned_cluster.kill()
        try:
            eventually("the outage is told", lambda: "brokers" in replica.why_not_ready(), 30)
            time.sleep(2)
            before = memory_of(replica.pid).peak
            time.sleep(5)
            watch.finish()
            assert replica.running
        finally:
            owned_cluster.start()
            owned_cluster.wait_ready()
    allowed = _allowed(deployment, Topic(backlog.size))
    assert watch.peak - start < allowed, f"{(watch.peak - start) / MIB:.0f} of {allowed / MIB:.0f} MiB"
    assert watch.peak - before < 8 * MIB, "it grew during the outage"


def _deployment(
    bootstrap: str, topics: Topics, home: Path, partitions: int, settings: Mapping[str, str]
) -> Deployment:
    run = uuid4().hex[:8]
    # A broker is busy for a while with a thousand partitions, so the input comes last.
    names = {f"{role}.topic": f"{role}-{run}" for role in ("output", "dead_letter", "input")}
    for role, name in names.items():
        topics.create(name, partitions if role == "input.topic" else 1)
    # It is stopped while its backlog is written.
    return Deployment(home, bootstrap, run, names, {"kafka.session_timeout": "200", **settings})


@contextmanager
def _started(deployment: Deployment, score_seconds: float = 0.0) -> Iterator[tuple[Replica, int]]:
    """A replica that is stopped after its start, and the bytes that are resident then."""
    replica = deployment.start("replica", score_seconds=score_seconds)
    try:
        eventually("it owns partitions", replica.owns, 90)
        time.sleep(1)
        start = memory_of(replica.pid).resident
        replica.signal(signal.SIGSTOP)
        yield replica, start
    finally:
        replica.end()


def _allowed(deployment: Deployment, topic: Topic) -> int:
    return total(bound(load({}, deployment.environment()).require(), topic))

"""One Apache Kafka for the whole group, and what each test needs to run replicas on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.cluster import AnyCluster, Cluster, ExternalCluster
from tests.kafka.scenario import Scenario
from tests.kafka.topics import Topics


@pytest.fixture(scope="session")
def cluster() -> Iterator[AnyCluster]:
    """Brokers for all tests: ours from the jars, or those of KAFKA_BOOTSTRAP_SERVERS."""
    bootstrap = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if bootstrap:
        yield ExternalCluster(bootstrap)
        return
    ours = Cluster()
    try:
        ours.start()
        ours.wait_ready()
        yield ours
    finally:
        ours.close()


@pytest.fixture
def owned_cluster(cluster: AnyCluster) -> Cluster:
    """Brokers that a test may kill; it must leave them running."""
    if not isinstance(cluster, Cluster):
        pytest.skip("KAFKA_BOOTSTRAP_SERVERS names brokers that are not ours to stop")
    return cluster


@pytest.fixture(scope="session")
def topics(cluster: AnyCluster) -> Topics:
    return Topics(cluster.bootstrap)


@pytest.fixture
def scenario(cluster: AnyCluster, topics: Topics, tmp_path: Path) -> Iterator[Scenario]:
    """A fresh group with fresh topics; whatever still runs at the end is killed."""
    scenario = Scenario(cluster.bootstrap, topics, tmp_path)
    yield scenario
    scenario.close()

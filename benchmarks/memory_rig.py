"""Three brokers and a Redis that can go away, and one replica on them at a time."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import msgspec
from confluent_kafka.admin import AdminClient, NewPartitions
from confluent_kafka.cimpl import NewTopic

from benchmarks.memory_bound import Term, Topic, bound, total
from benchmarks.memory_cases import Away, Case
from benchmarks.memory_load import Backlog, write
from benchmarks.memory_watch import Watch, memory_of
from consumer.loading import load
from tests.chaos.cache import Cache
from tests.kafka.cluster import Cluster
from tests.kafka.replicas import Deployment, Replica
from tests.kafka.waiting import eventually

_INPUT_BROKERS, _RESULTS_BROKER = (1, 2), 3
_AT_FIRST = 4  # partitions of the input topic when the replica starts
_SETTLE = 3.0  # seconds in which a start, or a backlog's first fetches, come to rest
_SETTINGS = {
    "kafka.session_timeout": "300",  # it is stopped while its backlog is written
    "kafka.consumer": "topic.metadata.refresh.interval.ms=1000",  # more partitions are noticed at once
}


class Measured(msgspec.Struct, frozen=True):
    """What a case came to; memory in bytes. `flat_since`: seconds into it from which the peak stood."""

    case: Case
    baseline: int
    peak: int
    flat_since: float
    polled: int
    written: int
    terms: list[Term]

    @property
    def growth(self) -> int:
        return self.peak - self.baseline

    @property
    def bound(self) -> int:
        return total(self.terms)


class StoppableCluster(Cluster):
    """Its brokers can also be stopped in their tracks: connections stay, nothing answers."""

    def freeze(self, *numbers: int) -> None:
        for node in self._chosen(numbers):
            self._running[node.number].send_signal(signal.SIGSTOP)


class Rig:
    """The services, and a folder for what replicas write."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._cache = Cache()
        self._cluster = StoppableCluster(size=3, jvm=("-Xmx256m",))
        self._admin = AdminClient({"bootstrap.servers": self._cluster.bootstrap, "log_level": 0})

    def start(self) -> None:
        self._cache.start()
        self._cluster.start()
        self._cluster.wait_ready()

    def close(self) -> None:
        self._cache.close()
        self._cluster.close()

    def measure(self, case: Case, seconds: float) -> Measured:
        """Start a replica on an empty topic, stop it while its backlog is written, let it go on, and have
        whoever goes away in this case away for so long. Blocks. Raises AssertionError when it ends."""
        deployment = self._deployed(case)
        replica = deployment.start("replica", program=case.program, score_seconds=case.score_seconds)
        try:
            eventually("the replica is ready", replica.ready, 180)
            time.sleep(_SETTLE)
            baseline = memory_of(replica.pid).resident
            replica.signal(signal.SIGSTOP)
            backlog = self._backlog(deployment.topics["input.topic"], case)
            watch = self._watched(replica, case, seconds)
            polled = _polled(replica)
        finally:
            replica.end()
        topic = Topic(case.load.size, 0, backlog.compression, case.partitions, len(_INPUT_BROKERS))
        terms = bound(load({}, deployment.environment()).require(), topic)
        return Measured(case, baseline, watch.peak, watch.flat_since(), polled, backlog.records, terms)

    def _deployed(self, case: Case) -> Deployment:
        run = uuid4().hex[:8]
        home = self._home / run
        home.mkdir()
        topics = {f"{role}.topic": f"{role}-{run}" for role in ("input", "output", "dead_letter")}
        for role, name in topics.items():
            self._create(name, _INPUT_BROKERS if role == "input.topic" else (_RESULTS_BROKER,))
        redis = {"redis.url": f"redis://127.0.0.1:{self._cache.port}/0"} if case.away == "redis" else {}
        return Deployment(home, self._cluster.bootstrap, run, topics, _SETTINGS | redis | dict(case.settings))

    def _create(self, name: str, brokers: Sequence[int]) -> None:
        """Partitions without a copy, so that who leads them is who has them."""
        homes = [[brokers[n % len(brokers)]] for n in range(_AT_FIRST)]
        topic = NewTopic(name, num_partitions=_AT_FIRST, replica_assignment=homes)
        self._admin.create_topics([topic], operation_timeout=30)[name].result(timeout=60)

    def _backlog(self, topic: str, case: Case) -> Backlog:
        if (more := case.partitions - _AT_FIRST) > 0:
            homes = [[_INPUT_BROKERS[n % len(_INPUT_BROKERS)]] for n in range(more)]
            grown = NewPartitions(topic, case.partitions, homes)
            self._admin.create_partitions([grown], operation_timeout=60)[topic].result(timeout=90)
            eventually("all have leaders", lambda: self._led(topic) == case.partitions, 60)
        return write(self._cluster.bootstrap, topic, case.load)

    def _led(self, topic: str) -> int:
        partitions = self._admin.list_topics(topic, timeout=10).topics[topic].partitions
        return sum(partition.leader >= 0 for partition in partitions.values())

    def _watched(self, replica: Replica, case: Case, seconds: float) -> Watch:
        watch = Watch(replica.pid)
        replica.signal(signal.SIGCONT)
        eventually("records are polled", lambda: _polled(replica), 120)
        time.sleep(_SETTLE)
        with self._away(case.away) as worsen:
            time.sleep(seconds / 2)
            worsen()
            time.sleep(seconds / 2)
        watch.finish()
        assert replica.running, replica.log[-3000:]
        return watch

    @contextmanager
    def _away(self, who: Away) -> Iterator[Callable[[], None]]:
        """They do not answer, and once what is yielded was called they are not even there."""
        if who == "redis":
            self._cache.freeze()
            yield self._cache.kill
            self._cache.kill()
            self._cache.start()
        elif who:
            gone = (
                (_RESULTS_BROKER,) if who == "brokers of the results" else (*_INPUT_BROKERS, _RESULTS_BROKER)
            )
            self._cluster.freeze(*gone)
            yield lambda: self._cluster.kill(*gone)
            self._cluster.start(*gone)
            self._cluster.wait_ready()
        else:
            yield lambda: None


def _polled(replica: Replica) -> int:
    """Records, by the replica's own count."""
    found = re.search(r"^consumer_records_polled_total (\S+)$", replica.metrics(), re.MULTILINE)
    return int(float(found[1])) if found else 0

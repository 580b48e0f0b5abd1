"""Apache Kafka (KRaft) as child processes.

Brokers run from the jars that `make kafka-jars` fetches; each is controller and broker in one, keeps its
ports and its directory for as long as the cluster lives, and can be stopped, killed and started again one
by one. `ExternalCluster` stands in when KAFKA_BOOTSTRAP_SERVERS names brokers that are not ours to stop.
"""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.kafka.waiting import eventually

JARS = Path(__file__).parent / "lib"
CLASS_ARCHIVE = "classes.jsa"
"""Beside the jars: the JVM's own archive of a broker's classes (class_archive.py). With it a broker starts in
half the time, without it as ever."""

_LOGGING = """\
Configuration:
  Appenders:
    Console: {name: out, PatternLayout: {pattern: '%d{ISO8601} %p %c{1}: %m%n'}}
  Loggers:
    Root: {level: WARN, AppenderRef: [{ref: out}]}
"""

# What differs from a broker's own defaults, and why.
_PROPERTIES = {
    "auto.create.topics.enable": "false",  # as in production: a missing topic must be told, not made
    "group.initial.rebalance.delay.ms": "500",  # replicas started together share one first assignment
    "group.min.session.timeout.ms": "1000",  # so that a killed member is noticed within a short test
    "group.consumer.session.timeout.ms": "6000",  # the same for the broker-side protocol
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "4",  # fifty would only slow the first commit down
    "transaction.state.log.num.partitions": "4",
    "broker.session.timeout.ms": "5000",  # a killed broker may register again only after this
    "broker.heartbeat.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
}


class Node(NamedTuple):
    """One broker's fixed identity."""

    number: int
    port: int
    controller_port: int
    home: Path


class Cluster:
    """`size` brokers on free loopback ports; nothing runs until start(). `jvm`: options; `more`: further
    properties of a broker, which count above ours."""

    owned = True

    def __init__(
        self,
        jars: Path = JARS,
        size: int = 1,
        jvm: Sequence[str] = ("-Xmx512m",),
        more: Callable[[Node], Mapping[str, str]] = lambda node: {},
    ) -> None:
        self._jars, self._jvm, self._more = jars, jvm, more
        self._root = Path(tempfile.mkdtemp(prefix="test-kafka-"))
        ports = free_ports(2 * size)
        self.nodes = tuple(
            Node(n, ports[n - 1], ports[size + n - 1], self._root / f"broker-{n}") for n in range(1, size + 1)
        )
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        identity = uuid4().hex[:22]
        for formatting in [self._format(node, identity) for node in self.nodes]:
            assert formatting.wait(120) == 0, self.log()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self, *numbers: int) -> None:
        """Start these brokers (all of them by default); wait_ready() tells when they serve."""
        for node in self._chosen(numbers):
            self._running[node.number] = self._run(node, "kafka.Kafka", str(node.home / "server.properties"))

    def kill(self, *numbers: int) -> None:
        """SIGKILL: the broker is gone when this returns; its directory and ports stay."""
        self._end(signal.SIGKILL, numbers)

    def stop(self, *numbers: int) -> None:
        """SIGTERM and wait."""
        self._end(signal.SIGTERM, numbers)

    def ask_to_stop(self, number: int) -> None:
        """SIGTERM; has_ended() tells when it is done."""
        self._running[number].terminate()

    def has_ended(self, number: int) -> bool:
        """It does not run (any more)."""
        if number in self._running and self._running[number].poll() is not None:
            del self._running[number]
        return number not in self._running

    def ready(self) -> bool:
        """Every broker that was started listens and is in the metadata, and groups are coordinated. Blocks
        for some seconds while no broker answers."""
        if not all(_listens(node.port) for node in self.nodes if node.number in self._running):
            return False
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return _broker_count(admin) >= len(self._running) and _coordinates(self.bootstrap)

    def wait_ready(self, timeout: float = 120.0) -> None:
        eventually("brokers ready", self.ready, timeout)

    def log(self) -> str:
        """The end of each broker's log, for a failing test's message."""
        logs = [node.home / "log" for node in self.nodes]
        return "\n".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._root, ignore_errors=True)

    def _chosen(self, numbers: tuple[int, ...]) -> list[Node]:
        return [node for node in self.nodes if not numbers or node.number in numbers]

    def _end(self, how: signal.Signals, numbers: tuple[int, ...]) -> None:
        ended = [self._running.pop(n.number) for n in self._chosen(numbers) if n.number in self._running]
        for process in ended:
            process.send_signal(how)
        for process in ended:
            process.wait(timeout=60)

    def _java(self, node: Node) -> list[str]:
        return [
            *dying_with_parent(),
            "java",
            "-Xms128m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *self._jvm,
            *_shared_classes(self._jars),
            f"-Dlog4j2.configurationFile={node.home / 'log4j2.yaml'}",
            "-cp",
            f"{self._jars}/*",
        ]

    def _run(self, node: Node, *program: str) -> subprocess.Popen[bytes]:
        with (node.home / "log").open("ab") as log:
            return subprocess.Popen(
                [*self._java(node), *program],
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C at the terminal is pytest's, not the brokers'
            )

    def _format(self, node: Node, identity: str) -> subprocess.Popen[bytes]:
        node.home.mkdir()
        properties = {
            **_PROPERTIES,
            **self._addresses(node),
            **_replication(len(self.nodes)),
            **self._more(node),
        }
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        configuration = node.home / "server.properties"
        configuration.write_text(text)
        (node.home / "log4j2.yaml").write_text(_LOGGING)
        command = ("format", "--cluster-id", identity, "--config", str(configuration))
        return self._run(node, "kafka.tools.StorageTool", *command)

    def _addresses(self, node: Node) -> dict[str, str]:
        voters = ",".join(f"{n.number}@127.0.0.1:{n.controller_port}" for n in self.nodes)
        client = f"PLAINTEXT://127.0.0.1:{node.port}"
        return {
            "node.id": str(node.number),
            "process.roles": "broker,controller",
            "log.dirs": str(node.home / "data"),
            "listeners": f"{client},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": client,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
        }


class ExternalCluster:
    """Brokers that somebody else runs: reachable, not ours to stop."""

    owned = False

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:
        """Nothing of it is ours."""


AnyCluster = Cluster | ExternalCluster


def dying_with_parent() -> list[str]:
    """What to put before a command so that it does not outlive a test run that is killed; Linux only."""
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


def free_ports(count: int) -> list[int]:
    """Ports free now, and none that the system gives to outgoing connections: a server that is started
    again finds its port free."""
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < count:
            sockets += _bound(random.randrange(10_000, 32_000))
        return [int(held.getsockname()[1]) for held in sockets]
    finally:
        for held in sockets:
            held.close()


def _bound(port: int) -> list[socket.socket]:
    """A socket that holds this port; none where somebody else does."""
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        return []
    return [held]


def _replication(size: int) -> dict[str, str]:
    copies, in_sync = str(min(3, size)), str(min(2, size))
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "controlled.shutdown.enable": str(size > 1).lower(),  # a lone broker has nobody to hand over to
    }


def _shared_classes(jars: Path) -> list[str]:
    """Where classes come from already parsed. A JVM that cannot use the archive does without it."""
    archive = jars / CLASS_ARCHIVE
    return (
        [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=error"] if archive.exists() else []
    )


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _broker_count(admin: AdminClient) -> int:
    try:
        return len(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return 0


def _coordinates(bootstrap: str) -> bool:
    """Group coordination works, not only metadata. An admin client that is asked for groups while brokers
    come and go can abort the process."""
    asker = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody", "log_level": 0})
    try:
        return asker.committed([TopicPartition("nothing", 0)], timeout=5)[0].error is None
    except KafkaException:
        return False
    finally:
        asker.close()

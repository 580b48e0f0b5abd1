"""Three brokers, each with a second listener that stands behind a proxy."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tests.chaos.faults import SESSION
from tests.chaos.proxy import Proxies
from tests.kafka.cluster import Cluster, Node, free_ports

SIZE = 3

_COMMITS = "__consumer_offsets"


_PROPERTIES = {
    "group.consumer.session.timeout.ms": str(round(1000 * SESSION)),
    # A dead owner's transaction is over soon after its timeout, not up to ten seconds later.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # A broker that comes back gets its partitions back while the storm lasts: every link has work.
    "leader.imbalance.check.interval.seconds": "5",
    "leader.imbalance.per.broker.percentage": "1",
}


def broker_link(number: int) -> str:
    """The name of a broker's link."""
    return f"broker {number}"


def proxied_cluster(proxies: Proxies) -> Cluster:
    """Nothing runs yet. Its own address avoids the proxies; replicas go by `through`."""
    ports = dict(enumerate(free_ports(SIZE), 1))
    for number, port in ports.items():
        proxies.open(broker_link(number), port)
    return Cluster(
        size=SIZE,
        jvm=("-Xmx256m",),
        more=lambda node: {**_PROPERTIES, **_listeners(node, ports[node.number], proxies)},
    )


def through(proxies: Proxies) -> str:
    """The brokers' addresses by way of their proxies."""
    return ",".join(f"127.0.0.1:{proxies.links[broker_link(n)].port}" for n in range(1, SIZE + 1))


def coordinator_of(admin: AdminClient, group: str) -> int:
    """The number of the broker that coordinates a group: who leads the partition in which its commits are.
    Raises KafkaException. Asking the coordinator itself can abort the process while brokers come and go."""
    topic = admin.list_topics(_COMMITS, timeout=5).topics[_COMMITS]
    if not topic.partitions:
        raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
    return int(topic.partitions[commit_partition(group, len(topic.partitions))].leader)


def commit_partition(group: str, partitions: int) -> int:
    """As brokers choose it: Java's hash of the name, as a positive number."""
    code = 0
    for character in group:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    return abs(code - (1 << 32) if code >> 31 else code) % partitions


def _listeners(node: Node, port: int, proxies: Proxies) -> Mapping[str, str]:
    direct = f"DIRECT://127.0.0.1:{node.port}"
    proxied = f"PROXIED://127.0.0.1:{proxies.links[broker_link(node.number)].port}"
    return {
        "listeners": f"{direct},PROXIED://127.0.0.1:{port},CONTROLLER://127.0.0.1:{node.controller_port}",
        "advertised.listeners": f"{direct},{proxied}",
        "listener.security.protocol.map": "DIRECT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "DIRECT",
    }

"""A broker that asks who we are and what we may: wrong password, missing permissions, denied looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from consumer.kafka.admin import inspect
from consumer.settings import Kafka, Settings
from tests.kafka.cluster import Cluster, Node, free_ports
from tests.kafka.topics import Topics

PASSWORD = "CANARY-hunter2"
WRONG = "CANARY-wrong"


class SecuredCluster(Cluster):
    """A second listener for users with passwords and only the permissions they were given.

    The plain listener is the administrator's, whom the authorizer lets do anything.
    """

    def __init__(self) -> None:
        (self._sasl_port,) = free_ports(1)
        super().__init__()

    @property
    def secured(self) -> str:
        return f"127.0.0.1:{self._sasl_port}"

    def _addresses(self, node: Node) -> dict[str, str]:
        plain = super()._addresses(node)
        sasl = f"SASL_PLAINTEXT://{self.secured}"
        login = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return plain | {
            "listeners": f"{plain['listeners']},{sasl}",
            "advertised.listeners": f"{plain['advertised.listeners']},{sasl}",
            "listener.security.protocol.map": (
                f"{plain['listener.security.protocol.map']},SASL_PLAINTEXT:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{login} required user_scorer="{PASSWORD}";'
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


class Secured(NamedTuple):
    cluster: SecuredCluster
    admin: AdminClient

    def settings(self, password: str = PASSWORD) -> Settings:
        kafka = Kafka(
            bootstrap_servers=self.cluster.secured,
            security_protocol="sasl_plaintext",
            allow_plaintext_credentials=True,
            sasl_mechanism="PLAIN",
            sasl_username="scorer",
            sasl_password=password,
        )
        return Settings(kafka=kafka)

    def allow(self, topic: str, operation: AclOperation) -> None:
        binding = AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:scorer", "*", operation,
            AclPermissionType.ALLOW,
        )  # fmt: skip
        for future in self.admin.create_acls([binding]).values():
            future.result(timeout=30)


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    cluster = SecuredCluster()
    try:
        cluster.start()
        cluster.wait_ready()
        topics = Topics(cluster.bootstrap)
        for name in ("events", "anomaly-scores", "anomaly-dead-letters"):
            topics.create(name)
        yield Secured(cluster, AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0}))
    finally:
        cluster.close()


def test_a_wrong_password_is_one_line_that_shows_neither_it_nor_the_right_one(secured: Secured) -> None:
    report = inspect(secured.settings(WRONG))
    (problem,) = report.problems
    assert "uthentication failed" in problem
    assert "sasl_password_file" in problem
    assert "CANARY" not in str(report)


def test_permissions_are_missed_one_by_one_until_all_are_there(secured: Secured) -> None:
    def wanted() -> list[str]:
        return [problem.split(" = ")[0] for problem in inspect(secured.settings()).problems]

    assert wanted() == ["input.topic", "output.topic", "dead_letter.topic"]
    secured.allow("events", AclOperation.READ)
    secured.allow("anomaly-scores", AclOperation.DESCRIBE)
    secured.allow("anomaly-dead-letters", AclOperation.WRITE)
    report = inspect(secured.settings())
    (problem,) = report.problems
    assert problem.startswith(
        "output.topic = 'anomaly-scores': scorer may not write it; allow it: kafka-acls.sh"
    )
    secured.allow("anomaly-scores", AclOperation.WRITE)
    report = inspect(secured.settings())
    assert report.problems == ()
    assert [note for note in report.notes if "configuration was not checked" in note], (
        "DESCRIBE_CONFIGS is denied"
    )

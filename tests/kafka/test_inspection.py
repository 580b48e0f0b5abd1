"""What a look at brokers and topics says on Apache Kafka: configurations, limits, missing ones."""

from __future__ import annotations

import pytest

from consumer.kafka.admin import Report, inspect
from consumer.settings import DeadLetter, Input, Kafka, Results, Settings
from tests.kafka.cluster import AnyCluster
from tests.kafka.topics import Topics

LARGEST = 500_000


class Names:
    """Three topics of one test's own."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        stem = f"inspect-{request.node.name[5:60]}"
        self.input, self.output, self.dead = f"{stem}-in", f"{stem}-out", f"{stem}-dead"


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    return Names(request)


def _inspect(cluster: AnyCluster, names: Names) -> Report:
    return inspect(
        Settings(
            kafka=Kafka(bootstrap_servers=cluster.bootstrap),
            input=Input(topic=names.input),
            output=Results(topic=names.output, max_bytes=LARGEST),
            dead_letter=DeadLetter(topic=names.dead),
        )
    )


def test_topics_that_fit_are_without_a_word_of_blame(
    cluster: AnyCluster, topics: Topics, names: Names
) -> None:
    for name, partitions in ((names.input, 3), (names.output, 2), (names.dead, 1)):
        topics.create(name, partitions)
    report = _inspect(cluster, names)
    assert report.problems == report.unreachable == report.warnings == ()
    assert report.partitions == {names.input: 3, names.output: 2, names.dead: 1}


def test_a_compacted_results_topic_is_a_warning(cluster: AnyCluster, topics: Topics, names: Names) -> None:
    topics.create(names.input)
    topics.create(names.output, 1, {"cleanup.policy": "compact"})
    topics.create(names.dead)
    (warning,) = _inspect(cluster, names).warnings
    assert warning.startswith(f"output.topic = {names.output!r}: is compacted")


def test_a_topic_that_refuses_our_largest_record_is_a_problem(
    cluster: AnyCluster, topics: Topics, names: Names
) -> None:
    topics.create(names.input, 1, {"max.message.bytes": "1000"})
    topics.create(names.output)
    topics.create(names.dead, 1, {"max.message.bytes": str(LARGEST - 1)})
    (problem,) = _inspect(cluster, names).problems
    assert problem.startswith(f"dead_letter.topic = {names.dead!r}: its max.message.bytes = {LARGEST - 1}")


def test_missing_topics_are_named_with_as_many_partitions_as_the_input_has(
    cluster: AnyCluster, topics: Topics, names: Names
) -> None:
    topics.create(names.input, 5)
    problems = _inspect(cluster, names).problems
    assert [problem.split(" = ")[0] for problem in problems] == ["output.topic", "dead_letter.topic"]
    assert all("--partitions 5" in problem for problem in problems)


def test_a_client_that_speaks_tls_to_a_plaintext_listener_is_told_what_to_check(
    cluster: AnyCluster,
) -> None:
    kafka = Kafka(
        bootstrap_servers=cluster.bootstrap,
        security_protocol="ssl",
        ssl_ca_location="/etc/ssl/certs/ca-certificates.crt",
    )
    report = inspect(Settings(kafka=kafka))
    assert report.problems
    assert all("check kafka.security_protocol" in problem for problem in report.problems)

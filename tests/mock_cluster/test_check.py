"""`consumer check` as a user runs it: a process, its exit code and its lines."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from consumer.demo.cluster import InProcessCluster
from consumer.errors import Misconfigured
from consumer.kafka.admin import inspect
from consumer.kafka.brokers import Answer, advertised, not_reached
from consumer.scoring.model_dir import Description, Reference, write_model
from consumer.settings import Kafka, Results, Settings

pytestmark = pytest.mark.mock_cluster

OFFSET_FETCH = 9  # the number of the request in the protocol
CANARY = "CANARY-hunter2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[InProcessCluster]:
    with InProcessCluster(brokers=2) as cluster:
        for topic in ("events", "anomaly-scores", "anomaly-dead-letters"):
            cluster.create_topic(topic, 3)
        yield cluster


@pytest.fixture
def dead_address() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A small directory in which everything is as its manifest says."""
    description = Description("small", (), Reference("all is well", 0.5), {})
    arrays = {"weight": np.arange(64, dtype=np.float32)}
    write_model(tmp_path / "model", description, {"language-model": (arrays, {})})
    return tmp_path / "model"


@pytest.fixture
def corrupted_model(model: Path) -> Path:
    """The same with one bit turned over in its weights."""
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    return model


def _settings(bootstrap: str, **output: str) -> Settings:
    return Settings(kafka=Kafka(bootstrap_servers=bootstrap), output=Results(**output))


def _check(*arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CONSUMER_")}
    command = [sys.executable, "-m", "consumer", "check", *arguments]
    return subprocess.run(
        command, env=clean | dict(environ or {}), capture_output=True, text=True, timeout=120, check=False
    )


def test_a_cluster_with_our_topics_has_no_problem_and_gives_their_partitions(
    cluster: InProcessCluster,
) -> None:
    report = inspect(_settings(cluster.bootstrap))
    assert report.problems == report.unreachable == report.warnings == ()
    assert report.partitions == {"events": 3, "anomaly-scores": 3, "anomaly-dead-letters": 3}
    assert "brokers: 2" in report.notes[0]


def test_a_group_that_we_may_not_read_comes_with_the_command_that_allows_it(
    cluster: InProcessCluster,
) -> None:
    cluster.push_request_errors(OFFSET_FETCH, [KafkaError.GROUP_AUTHORIZATION_FAILED])
    (problem,) = inspect(_settings(cluster.bootstrap)).problems
    assert problem.startswith("kafka.group_id = 'anomaly-consumer': this client may not read it")
    assert "kafka-acls.sh --add --operation READ --group anomaly-consumer" in problem


def test_a_group_whose_coordinator_cannot_tell_is_no_problem_but_said() -> None:
    with InProcessCluster(brokers=1) as cluster:
        for topic in ("events", "anomaly-scores", "anomaly-dead-letters"):
            cluster.create_topic(topic, 3)
        cluster.push_request_errors(OFFSET_FETCH, [KafkaError.COORDINATOR_NOT_AVAILABLE] * 1_000)
        report = inspect(_settings(cluster.bootstrap), timeout=2.0)
    assert report.problems == ()
    assert any("permission was not checked" in note for note in report.notes)


def test_a_missing_topic_comes_with_the_command_that_creates_it(cluster: InProcessCluster) -> None:
    bootstrap = cluster.bootstrap.split(",")[0]
    (problem,) = inspect(_settings(bootstrap, topic="missing")).problems
    assert problem == (
        "output.topic = 'missing': does not exist; create it: kafka-topics.sh "
        f"--bootstrap-server {bootstrap} --create --topic missing --partitions 3 --replication-factor 2"
    )


def test_looking_for_a_topic_does_not_create_it(cluster: InProcessCluster) -> None:
    inspect(_settings(cluster.bootstrap, topic="still-missing"))
    topics = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=10).topics
    assert "still-missing" not in topics


def test_the_command_for_a_topic_of_larger_records_raises_its_limit(cluster: InProcessCluster) -> None:
    settings = Settings(
        kafka=Kafka(bootstrap_servers=cluster.bootstrap), output=Results(topic="missing", max_bytes=2_000_000)
    )
    assert "--config max.message.bytes=2004096" in inspect(settings).problems[0]


def test_each_dead_address_is_named_although_another_one_answers(
    cluster: InProcessCluster, dead_address: str
) -> None:
    report = inspect(_settings(f"{dead_address},{cluster.bootstrap}"))
    (line,) = report.unreachable
    assert line.startswith(f"kafka.bootstrap_servers = '{dead_address}': cannot be reached: ")
    assert "refused" in line
    assert report.problems == (), "a start in the middle of a rolling restart is not an error"
    assert len(report.partitions) == 3


def test_without_any_broker_the_address_is_the_problem_and_topics_are_not_blamed(dead_address: str) -> None:
    report = inspect(_settings(dead_address))
    assert len(report.problems) == 1
    assert dead_address in report.problems[0]
    assert report.notes == ("topics: not checked, since no broker answers",)


def test_a_name_that_does_not_resolve_says_so() -> None:
    (problem,) = inspect(_settings("no-such-host.invalid:9092")).problems
    assert "'no-such-host.invalid:9092': cannot be reached: Failed to resolve" in problem


def test_a_broker_that_takes_connections_and_never_answers_ends_with_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (problem,) = inspect(_settings(f"127.0.0.1:{port}"), timeout=1.0).problems
    assert f"127.0.0.1:{port}" in problem


def test_an_advertised_address_that_nobody_can_reach_is_told_apart(
    cluster: InProcessCluster, dead_address: str
) -> None:
    (alive_host, alive_port), (host, port) = (
        address.split(":") for address in (cluster.bootstrap.split(",")[0], dead_address)
    )
    brokers = {
        1: SimpleNamespace(id=1, host=alive_host, port=int(alive_port)),
        2: SimpleNamespace(id=2, host=host, port=int(port)),
    }
    (line,) = advertised(Answer("bootstrap:9092", SimpleNamespace(brokers=brokers)), timeout=5.0)
    assert line.startswith(f"kafka.bootstrap_servers = 'bootstrap:9092': broker 2 advertises {dead_address}")
    assert "advertised.listeners" in line


@pytest.mark.parametrize(
    ("why", "fix"),
    [
        ("SASL authentication error: Authentication failed", "sasl_password_file"),
        ("Failed to acquire SASL OAUTHBEARER token: timed out", "oauth_token_url"),
        ("SSL handshake failed: certificate verify failed", "kafka.ssl_ca_location"),
        ("Disconnected: connection closed by peer", "kafka.security_protocol"),
        ("Connect failed: Connection refused", "start the broker"),
    ],
)
def test_the_fix_follows_from_the_reason(why: str, fix: str) -> None:
    assert fix in not_reached(Answer("a:1", None, why))


def test_a_client_that_cannot_be_made_is_a_wrong_setting_without_its_secret() -> None:
    settings = Settings(
        kafka=Kafka(
            security_protocol="ssl", ssl_ca_location="/dev/null", ssl_key_password=CANARY,
            ssl_certificate_location="/dev/null", ssl_key_location="/dev/null",
        )
    )  # fmt: skip
    with pytest.raises(Misconfigured) as caught:
        inspect(settings)
    assert CANARY not in str(caught.value)


def test_five_mistakes_together_are_five_lines_exit_2_and_no_secret(
    cluster: InProcessCluster, dead_address: str, corrupted_model: Path, tmp_path: Path
) -> None:
    password = tmp_path / "password"
    password.write_text(CANARY)
    toml = tmp_path / "consumer.toml"
    toml.write_text(f"[kafka]\nbootstrap_servers = '{cluster.bootstrap},{dead_address}'\n")
    environ = {
        "CONSUMER_BATCH_CUONT": "500",
        "CONSUMER_SCORING_FALSE_ALARM_RATE": "1.5",
        "CONSUMER_KAFKA_SSL_KEY_PASSWORD_FILE": str(password),
    }
    arguments = ["--config", str(toml), "--output-topic", "missing", "--model", str(corrupted_model)]
    done = _check(*arguments, environ=environ)
    lines = done.stderr.splitlines()
    expected = [
        ("CONSUMER_BATCH_CUONT = '500'", "did you mean CONSUMER_BATCH_COUNT?"),
        ("scoring.false_alarm_rate = '1.5'", "number > 0 and < 1"),
        (f"kafka.bootstrap_servers = '{dead_address}'", "cannot be reached"),
        ("output.topic = 'missing'", "kafka-topics.sh"),
        (f"scoring.model = '{corrupted_model}'", "model.safetensors"),
    ]
    assert done.returncode == 2
    assert len(lines) == len(expected), done.stderr
    for line, (start, needle) in zip(lines, expected, strict=True):
        assert line.startswith(start)
        assert needle in line
    assert CANARY not in done.stdout + done.stderr
    assert "kafka.ssl_key_password = ********" in done.stdout
    assert "# 5 problems" in done.stdout


def test_settings_in_force_are_shown_with_their_origin_and_all_of_them_on_demand(
    cluster: InProcessCluster,
) -> None:
    environ = {"CONSUMER_KAFKA_BOOTSTRAP_SERVERS": cluster.bootstrap, "CONSUMER_BATCH_COUNT": "7"}
    brief = _check("--set", "pipeline.depth=2", environ=environ).stdout
    assert "batch.count = 7  # from CONSUMER_BATCH_COUNT\n" in brief
    assert "pipeline.depth = 2  # command line\n" in brief
    assert "commit.interval" not in brief
    assert "commit.interval = 1.0  # default\n" in _check("--all", environ=environ).stdout


def test_with_everything_in_place_there_is_no_line_and_exit_0(cluster: InProcessCluster, model: Path) -> None:
    done = _check("--bootstrap-servers", cluster.bootstrap, "--model", str(model))
    assert (done.returncode, done.stderr) == (0, "")
    assert "# no problems" in done.stdout
    assert "# model: 'small', version " in done.stdout


def test_without_a_model_the_line_names_how_to_fit_one(cluster: InProcessCluster) -> None:
    done = _check("--bootstrap-servers", cluster.bootstrap)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("scoring.model = unset")
    assert "consumer fit" in line


def test_a_mistake_in_the_connection_itself_is_not_followed_by_a_vain_attempt() -> None:
    done = _check("--set", "kafka.security_protocol=sasl_ssl")
    assert done.returncode == 2
    assert "brokers and topics: not checked before kafka.sasl_mechanism" in done.stdout
    assert "cannot be reached" not in done.stderr


def test_a_producers_key_given_to_the_consumer_is_a_problem(cluster: InProcessCluster) -> None:
    arguments = ["--bootstrap-servers", cluster.bootstrap, "--set", "kafka.consumer.linger.ms=5"]
    done = _check(*arguments)
    assert "kafka.consumer.linger.ms = '5'" in done.stderr
    assert "%" not in done.stderr[:1], "the client's own log lines stay out"

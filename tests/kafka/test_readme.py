"""The newcomer's path: every command and program of README.md is run, in its order, and does what it says."""

from __future__ import annotations

import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumer.demo.generator import ONLY_NORMAL, generate
from tests.kafka.cluster import AnyCluster
from tests.kafka.collect import Feeder, Item
from tests.kafka.newcomer import TOOLS, Desk, blocks, commands, make_recipe
from tests.kafka.replicas import ROOT
from tests.kafka.waiting import eventually

TOPICS = ("events", "anomaly-scores", "anomaly-dead-letters")
ODD = "checkpoint failed: checksum mismatch in segment 0000000A, giving up on everything"
BAD = b'{"message": "cut off'
"""A record that the topic's consumer cannot decode."""

pytestmark = pytest.mark.torch


@pytest.fixture
def desk(cluster: AnyCluster, tmp_path: Path) -> Iterator[Desk]:
    if not any(TOOLS.glob("*.jar")):
        pytest.skip("Kafka's own tools are missing: run `make compose-tools`")
    yield Desk(tmp_path, cluster.bootstrap)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    made = [topic for topic in TOPICS if topic in admin.list_topics(timeout=10).topics]
    for future in admin.delete_topics(made).values() if made else ():
        future.result(timeout=30)


def _logs(home: Path) -> None:
    """app.log: normal records. new.log: more of them, and one that is odd."""
    texts = [(labelled.value or b"").decode() for labelled in generate(5, 700, ONLY_NORMAL)]
    (home / "app.log").write_text("\n".join(texts[:600]) + "\n")
    (home / "new.log").write_text("\n".join([*texts[600:], ODD]) + "\n")


def _items(home: Path) -> list[Item]:
    """The new records as a producer would send them, a bad one among them."""
    values = [line.encode() for line in (home / "new.log").read_text().splitlines()]
    return [Item(b"host-%d" % (n % 7), value, "scored") for n, value in enumerate([*values, BAD])]


def _succeeds(desk: Desk, command: str) -> str:
    done = desk.run(command)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def _make(desk: Desk, command: str) -> None:
    """The environment that runs this test stands in for the one that make would build."""
    target = command.removeprefix("make ").replace("/var/log/syslog", str(desk.home / "app.log"))
    recipe = make_recipe(target)[-1]
    if target.startswith("demo"):
        assert recipe.startswith(".venv/bin/python -m consumer demo"), recipe
        shorter = recipe.replace(".venv/bin/python -m consumer", ".venv/bin/consumer") + " --replicas 1"
        _succeeds(desk, shorter if "--file" in recipe else f"{shorter} --records 1000")
    else:
        assert target in {"install", "test"}


def _check(desk: Desk, command: str) -> None:
    """The first time the topics are missing: what it prints then creates them."""
    before = desk.run(command)
    assert before.returncode == 2, before.stderr
    advice = re.findall(r"kafka-topics\.sh.*--create.*", before.stdout + before.stderr)
    assert len(advice) == len(TOPICS), before.stderr
    for line in advice:
        _succeeds(desk, line.strip("`. "))
    assert "no problems" in _succeeds(desk, command)


def _run_it(desk: Desk, command: str, bootstrap: str) -> None:
    """The service scores what a producer sends while README.md's subscriber listens; then it is stopped."""
    items = _items(desk.home)
    service = desk.start(command, desk.home / "run.log")
    try:
        feeder = Feeder(bootstrap, "events", items)
        feeder.start()
        feeder.finish()
        _subscribe(desk)
        eventually("all is committed", lambda: sum(_committed(bootstrap).values()) == len(items), 120)
    finally:
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0, (desk.home / "run.log").read_text()[-3000:]


def _subscribe(desk: Desk) -> None:
    """The program of README.md, unchanged but for the brokers, until it tells of the odd record."""
    (program,) = blocks("python")
    (desk.home / "subscriber.py").write_text(desk.here(program))
    heard = desk.home / "heard"
    subscriber = desk.start(f"{sys.executable} -u subscriber.py", heard)
    try:
        eventually("the subscriber tells of the odd record", lambda: ODD in heard.read_text(), 240)
    finally:
        subscriber.kill()
        subscriber.wait()


def _committed(bootstrap: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "anomaly-consumer"})
    count = len(consumer.list_topics("events", timeout=10).topics["events"].partitions)
    answer = consumer.committed([TopicPartition("events", p) for p in range(count)], timeout=10)
    consumer.close()
    return {tp.partition: tp.offset for tp in answer if tp.offset >= 0}


def _dead_letters(desk: Desk, command: str) -> None:
    shown = desk.run(command).stdout
    assert BAD.decode() in shown
    assert "undecodable" in shown


def _step_past(desk: Desk, command: str, bootstrap: str) -> None:
    """To an offset that this short log has."""
    assert "--to-offset 2000" in command
    before = _committed(bootstrap)
    there = before[3] - 1
    _succeeds(desk, command.replace("--to-offset 2000", f"--to-offset {there}"))
    assert _committed(bootstrap) == {**before, 3: there}


def _score(desk: Desk, command: str) -> None:
    """Without jq every line is an object all the same."""
    filtered = _succeeds(desk, command if shutil.which("jq") else command.partition("|")[0])
    assert ODD in filtered


def test_every_command_of_the_readme_does_what_it_says(
    desk: Desk, cluster: AnyCluster, tmp_path: Path
) -> None:
    _logs(tmp_path)
    steps: list[tuple[str, Callable[[str], object]]] = [
        ("make ", lambda c: _make(desk, c)),
        (".venv/bin/consumer fit ", lambda c: _succeeds(desk, c)),
        (".venv/bin/consumer score ", lambda c: _score(desk, c)),
        (".venv/bin/consumer check ", lambda c: _check(desk, c)),
        (".venv/bin/consumer run ", lambda c: _run_it(desk, c, cluster.bootstrap)),
        (".venv/bin/consumer verify ", lambda c: _succeeds(desk, c)),
        ("kcat ", lambda c: _dead_letters(desk, c)),
        ("kafka-consumer-groups.sh ", lambda c: _step_past(desk, c, cluster.bootstrap)),
    ]
    unused = [start for start, _ in steps]
    for command in commands():
        (step,) = [(start, do) for start, do in steps if command.startswith(start)]
        step[1](command)
        unused = [start for start in unused if start != step[0]]
    assert not unused


def test_the_result_that_the_readme_shows_conforms_to_the_schema() -> None:
    (shown,) = blocks("json")
    schema = msgspec.json.decode((ROOT / "schemas" / "result.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(msgspec.json.decode(shown))

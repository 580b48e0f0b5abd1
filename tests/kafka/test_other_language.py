"""A producer and a subscriber in Java (tests/subscriber/Subscriber.java) at both ends of a real run.

Where a keyed record belongs is said by Java's own partitioner, not by ours.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import msgspec
import pytest

from tests.kafka.cluster import JARS, AnyCluster
from tests.kafka.items import normal
from tests.kafka.replicas import ROOT
from tests.kafka.scenario import Scenario

PROGRAM = ROOT / "tests" / "subscriber" / "Subscriber.java"
FROM_JAVA, FROM_PYTHON = 400, 600


def _java(*arguments: object) -> str:
    if not shutil.which("javac"):
        pytest.skip("no Java compiler to run a source file: install a JDK, 17 or newer")
    command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", f"{JARS}/*", str(PROGRAM)]
    command += [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _joined(scenario: Scenario, cluster: AnyCluster) -> dict[str, Any]:
    """Feed by both, score, and let Java join."""
    scenario.feed(list(normal(FROM_PYTHON, seed=71))).finish()
    _java("produce", cluster.bootstrap, scenario.name("input"), FROM_JAVA)
    assert scenario.start("only", "--stop-at-end").wait(60) == 0
    return msgspec.json.decode(
        _java("join", cluster.bootstrap, scenario.name("input"), scenario.name("results")).splitlines()[-1],
        type=dict[str, Any],
    )


def test_java_finds_each_result_by_its_key_where_javas_own_partitioner_would_have_put_it(
    cluster: AnyCluster, scenario: Scenario
) -> None:
    scenario.prepare({"input": 3, "results": 7})
    counts = _joined(scenario, cluster)
    keyless = sum(sent.key is None for sent in scenario.fed())
    everything = FROM_JAVA + FROM_PYTHON
    assert counts["inputs"] == counts["inputs_with_a_result"] == counts["results"] == everything, counts
    assert counts["without_an_input"] == 0
    assert counts["same_key"] == counts["header_as_body"] == everything, counts
    assert counts["keyed"] == counts["keyed_where_java_puts_them"] == everything - keyless, counts
    assert counts["keyed_in_the_partition_of_their_input"] < counts["keyed"], "3 partitions became 7"


def test_with_as_many_partitions_a_record_from_java_and_its_result_have_the_same_number(
    cluster: AnyCluster, scenario: Scenario
) -> None:
    scenario.prepare({"input": 5, "results": 5})
    _java("produce", cluster.bootstrap, scenario.name("input"), FROM_JAVA)
    assert scenario.start("only", "--stop-at-end").wait(60) == 0
    line = _java("join", cluster.bootstrap, scenario.name("input"), scenario.name("results"))
    counts = msgspec.json.decode(line.splitlines()[-1], type=dict[str, Any])
    assert counts["results"] == counts["keyed_in_the_partition_of_their_input"] == FROM_JAVA, counts

"""How a replica ends when nothing is wrong."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

from tests.kafka.items import mixed, normal
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.waiting import eventually


def test_a_stop_commits_the_last_work_and_leaves_so_that_a_restart_repeats_nothing(
    scenario: Scenario,
) -> None:
    scenario.prepare(commit__interval=600)
    scenario.feed(list(normal(100, seed=41))).finish()
    replica = scenario.start("first")
    eventually("all is written", lambda: scenario.read() == 100, 60)
    assert sum(scenario.committed().values()) == 0
    scenario.stop(replica)
    assert scenario.members() == 0
    assert sum(scenario.committed().values()) == 100
    heir = scenario.start("heir", "--stop-at-end")
    assert heir.wait(60) == 0
    assert heir.polled() == 0
    assert_sound(scenario.history())


def test_a_stop_under_load_repeats_nothing_either(scenario: Scenario) -> None:
    scenario.prepare()
    scenario.feed(list(normal(10_000, seed=42))).finish()
    replica = scenario.start("first", score_seconds=0.05)
    eventually("it is at work", lambda: replica.polled() > 500, 60)
    scenario.stop(replica)
    assert replica.polled() < 10_000
    assert scenario.start("heir", "--stop-at-end").wait(60) == 0
    history = scenario.history()
    assert history.duplicates() == 0
    assert_sound(history)


def test_the_counters_of_outcomes_add_up_to_the_records(scenario: Scenario) -> None:
    scenario.prepare()
    scenario.feed(list(mixed(2_000, seed=43, every=25)))
    replica = scenario.start("only")
    scenario.until_committed()
    counts = re.findall(r'^consumer_records_total{[^}]*outcome="(\w+)"[^}]*} (\S+)$', replica.metrics(), re.M)
    assert sum(float(count) for _, count in counts) == 2_000, replica.metrics()
    scenario.stop(replica)
    assert_sound(scenario.history())


def test_the_timeline_shows_acknowledgements_and_polls_while_the_device_computes(
    scenario: Scenario, tmp_path: Path
) -> None:
    scenario.prepare()
    scenario.feed(list(normal(3_000, seed=44))).finish()
    path = tmp_path / "trace.json"
    replica = scenario.start("only", "--stop-at-end", "--trace", str(path), score_seconds=0.05)
    assert replica.wait(60) == 0, replica.log[-3000:]
    spans = [e for e in json.loads(path.read_text()) if e["ph"] in "Xb"]
    device = [(e["ts"], e["ts"] + e["dur"]) for e in spans if e["name"] == "device"]
    for lane in ("poll", "device", "publish"):
        assert sum(e["args"]["records"] for e in spans if e["name"] == lane) == 3_000
    sent = [e["ts"] for e in spans if e["name"] == "publish"]
    assert sum(any(begin <= at < end for begin, end in device) for at in sent) >= len(sent) // 2
    ordered = sorted(device)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ordered))


def test_a_stop_while_the_model_is_loaded_is_clean_and_the_group_was_never_joined(scenario: Scenario) -> None:
    scenario.prepare()
    replica = scenario.start("loading", load_seconds=3.0)
    eventually("it is alive", replica.alive, 60)
    assert not replica.ready()
    assert scenario.members() == 0
    scenario.stop(replica)
    assert not replica.owns()
    assert not scenario.committed()

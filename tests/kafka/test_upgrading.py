"""What docs/upgrading.md says, done: other assignors, two versions of a model, a group without offsets."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from confluent_kafka.admin import AdminClient

from tests.kafka.cluster import AnyCluster
from tests.kafka.collect import Item
from tests.kafka.figures import tell
from tests.kafka.items import normal
from tests.kafka.replicas import ROOT, SERVICE, Replica
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.waiting import eventually

RECORDS = 6_000
RATE = 1_000

SECOND = """\
from keyword_scorer import Keywords


class Second(Keywords):
    version, threshold = "2", 1.0


def make_scorer(_):
    return Second()
"""


def _start(scenario: Scenario, name: str, assignor: str) -> Replica:
    return scenario.start(name, "--set", f"kafka.assignor={assignor}", score_seconds=0.01)


def _feed_and_see_progress(scenario: Scenario) -> None:
    feeder = scenario.feed(list(normal(RECORDS, seed=81)), RATE)
    eventually("some is sent", lambda: len(feeder.sent) > RECORDS // 10, 60)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range", "consumer"),
        ("consumer", "cooperative-sticky"),
        ("consumer", "range"),
    ],
)
def test_a_group_moves_to_the_broker_side_protocol_and_back_replica_by_replica(
    scenario: Scenario, old: str, new: str
) -> None:
    scenario.prepare(kafka__consumer="")
    first, second = _start(scenario, "first", old), _start(scenario, "second", old)
    eventually("both own partitions", lambda: first.owns() and second.owns(), 90)
    _feed_and_see_progress(scenario)
    scenario.stop(first)
    first = _start(scenario, "first-again", new)
    eventually("old and new share the partitions", lambda: first.owns() and second.owns(), 90)
    scenario.stop(second)
    second = _start(scenario, "second-again", new)
    eventually("both are new", lambda: first.owns() and second.owns(), 90)
    scenario.until_committed()
    scenario.stop(first, second)
    history = scenario.history()
    tell(f"rolling move, {old} to {new}", history)
    assert_sound(history)


@pytest.mark.parametrize("old", ["range", "cooperative-sticky"])
def test_range_and_cooperative_sticky_cannot_share_a_group_so_that_move_needs_a_stop(
    scenario: Scenario, old: str
) -> None:
    scenario.prepare(kafka__consumer="")
    first = _start(scenario, "first", old)
    eventually("it owns all partitions", lambda: len(first.owns()) == 6, 90)
    _feed_and_see_progress(scenario)
    second = _start(scenario, "second", {"range": "cooperative-sticky"}.get(old, "range"))
    eventually("the refusal is told", lambda: "INCONSISTENT_GROUP_PROTOCOL" in second.log, 60)
    assert not second.owns()
    assert len(first.owns()) == 6, "the group works on"
    scenario.stop(first)
    eventually("the second takes over", lambda: len(second.owns()) == 6, 90)
    scenario.until_committed()
    scenario.stop(second)
    history = scenario.history()
    tell(f"stop, from {old} to the other", history)
    assert_sound(history)


def test_a_group_of_cooperative_sticky_that_has_rebalanced_refuses_the_broker_side_protocol_until_it_stops(
    scenario: Scenario,
) -> None:
    """The broker would have to drop what librdkafka's assignor remembers from a rebalance on."""
    scenario.prepare(kafka__consumer="")
    old, gone = _start(scenario, "old", "cooperative-sticky"), _start(scenario, "gone", "cooperative-sticky")
    eventually("both own partitions", lambda: old.owns() and gone.owns(), 90)
    _feed_and_see_progress(scenario)
    scenario.stop(gone)
    eventually("one owns all partitions", lambda: len(old.owns()) == 6, 90)
    refused = _start(scenario, "refused", "consumer")
    assert refused.wait(60) == 1
    assert "another kafka.assignor: docs/upgrading.md" in refused.log, refused.log
    assert len(old.owns()) == 6, "the group works on"
    scenario.stop(old)
    new = _start(scenario, "new", "consumer")
    eventually("the new one takes over", lambda: len(new.owns()) == 6, 90)
    scenario.feed(list(normal(RECORDS, seed=85)))
    scenario.until_committed()
    scenario.stop(new)
    history = scenario.history()
    tell("stop, cooperative-sticky to consumer", history)
    assert_sound(history)


def _without_offsets(cluster: AnyCluster, scenario: Scenario) -> None:
    """What the broker does to a group that was empty for longer than offsets.retention.minutes."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    eventually("the group is empty", lambda: scenario.members() == 0, 30)
    admin.delete_consumer_groups([scenario.group], request_timeout=10)[scenario.group].result(timeout=15)
    assert not scenario.committed()


def _second_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "second_scorer.py").write_text(SECOND)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'examples'}:{folder}")


def test_a_group_without_offsets_begins_at_earliest_and_two_versions_stand_side_by_side_under_one_id(
    cluster: AnyCluster, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _second_version(tmp_path, monkeypatch)
    scenario.prepare(scoring__factory="keyword_scorer:make_scorer")
    scenario.feed([Item(None, b"disk error", "scored"), *normal(99, seed=82)]).finish()
    assert scenario.start("one", "--stop-at-end", program=SERVICE).wait(60) == 0
    _without_offsets(cluster, scenario)
    factory = ("--set", "scoring.factory=second_scorer:make_scorer")
    assert scenario.start("two", "--stop-at-end", *factory, program=SERVICE).wait(60) == 0
    eventually("both are written", lambda: scenario.read() >= 200, 30)
    versions = defaultdict(list)
    flags = defaultdict(list)
    for result in (msgspec.json.decode(m.value() or b"") for m in scenario.results()):
        versions[result["id"]].append(result["model"]["version"])
        if result["message"] == "disk error":
            flags[result["id"]].append(result["is_anomaly"])
    assert len(versions) == 100
    assert {tuple(each) for each in versions.values()} == {("1", "2")}
    assert list(flags.values()) == [[False, True]], "the threshold of the second version is lower"


def test_a_group_without_offsets_that_begins_at_latest_skips_what_came_while_it_was_away(
    cluster: AnyCluster, scenario: Scenario
) -> None:
    scenario.prepare(input__start="latest")
    replica = scenario.start("one")
    eventually("it owns all partitions", lambda: len(replica.owns()) == 6, 90)
    scenario.feed(list(normal(100, seed=83))).finish()
    scenario.until_committed()
    scenario.stop(replica)
    _without_offsets(cluster, scenario)
    scenario.feed(list(normal(50, seed=84))).finish()
    late = scenario.start("two", "--stop-at-end")
    assert late.wait(60) == 0
    assert late.polled() == 0
    assert scenario.read() == 100

"""Replicas under supervision, orders to them, and the catalogue of what strikes them."""

from __future__ import annotations

import json
import math
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from consumer.records import Event
from tests.chaos.brokers import commit_partition
from tests.chaos.faults import FAULTS
from tests.chaos.feed import storm_items
from tests.chaos.fleet import Fleet, last_words
from tests.chaos.orders import Orders
from tests.chaos.scorer import MOODS, MoodyScorer
from tests.chaos.strikes import STRIKES
from tests.kafka.history import TWIN
from tests.kafka.replicas import Replica
from tests.kafka.text_scorer import NO_NUMBER, POISON, score_of


class FakeReplica:
    """A process that does what it is told: SIGTERM ends it with 0."""

    def __init__(self, name: str) -> None:
        self.name, self.log = name, ""
        self.code: int | None = None

    @property
    def running(self) -> bool:
        return self.code is None

    def polled(self) -> int:
        return 1

    def signal(self, number: signal.Signals) -> None:
        self.code = 0 if number is signal.SIGTERM else -number

    def wait(self, timeout: float) -> int:
        assert self.code is not None
        return self.code


def fleet(wanted: int) -> Fleet:
    """One whose replicas all run."""
    made = Fleet("text", wanted, lambda name: cast(Replica, FakeReplica(name)), pause=0.0)
    for _ in range(wanted):
        made.tend()
    return made


def names(replicas: Sequence[Replica]) -> list[str]:
    return [replica.name for replica in replicas]


def test_who_ends_is_told_and_replaced() -> None:
    two = fleet(2)
    two.running[0].signal(signal.SIGKILL)
    two.tend()
    assert [(e.name, e.code) for e in two.exits] == [("text-1", -9)]
    assert names(two.running) == ["text-2", "text-3"]


def test_a_smaller_fleet_lets_go_of_those_that_no_strike_has_claimed() -> None:
    three = fleet(3)
    victim = three.claim(0)
    assert victim is not None
    three.resize(1)
    three.tend()
    assert names(three.running) == [victim.name]
    assert [e.code for e in three.exits] == [0, 0]


def test_a_victim_is_claimed_once_until_it_is_released() -> None:
    one = fleet(1)
    victim = one.claim(7)
    assert victim is not None
    assert one.claim(7) is None
    one.release(victim)
    assert one.claim(7) is victim


def test_the_last_words_of_a_process_are_why_it_failed() -> None:
    fatal = json.dumps({"action": "fatal", "message": "stopped by a fatal error", "why": "the device hangs"})
    unexpected = json.dumps({"action": "fatal", "message": "stopped by an unexpected error"})
    after = json.dumps({"action": "librdkafka", "message": "the client says"})
    assert last_words(f"{fatal}\n{after}\n") == "the device hangs"
    assert last_words(f"{unexpected}\nTraceback\n") == "stopped by an unexpected error"
    assert last_words("consumer: second signal\n\n") == "consumer: second signal"
    assert last_words("") == ""


def test_an_order_holds_until_it_is_lifted_and_says_whether_it_was_obeyed(tmp_path: Path) -> None:
    rig, replica = Orders(tmp_path / "a.armed"), Orders(tmp_path / "a.armed")
    assert replica.given("scorer") == ""
    rig.give("scorer out of memory")
    assert (replica.given("scorer"), replica.given("failpoint")) == ("out of memory", "")
    assert not rig.obeyed
    replica.obey()
    assert rig.obeyed
    rig.give("failpoint after_acks")
    assert not rig.obeyed
    assert replica.given("failpoint") == "after_acks"
    rig.lift()
    assert replica.given("failpoint") == ""


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    return Orders(tmp_path / "a.armed")


EVENTS = [Event(f"text {number}") for number in range(6)]


def test_a_scorer_without_orders_gives_the_scores_that_a_checker_expects(orders: Orders) -> None:
    assert MoodyScorer(orders, 0.0).score(EVENTS) == [score_of(event.message) for event in EVENTS]
    assert not orders.obeyed


def test_a_scorer_obeys_its_mood(orders: Orders) -> None:
    orders.give("scorer nan")
    assert all(math.isnan(score) for score in MoodyScorer(orders, 0.0).score(EVENTS))
    assert orders.obeyed
    orders.give("scorer raise")
    with pytest.raises(RuntimeError):
        MoodyScorer(orders, 0.0).score(EVENTS)
    orders.give("scorer out of memory")
    with pytest.raises(MemoryError):
        MoodyScorer(orders, 0.0).score(EVENTS)
    assert MoodyScorer(orders, 0.0).score(EVENTS[:2]) == [score_of(event.message) for event in EVENTS[:2]]
    assert {"slow", "hang"} <= set(MOODS)


def test_marked_texts_fail_in_any_mood(orders: Orders) -> None:
    with pytest.raises(RuntimeError):
        MoodyScorer(orders, 0.0).score([Event(f"{POISON} (1)")])
    (score,) = MoodyScorer(orders, 0.0).score([Event(f"{NO_NUMBER} (2)")])
    assert math.isnan(score)


def test_every_fault_of_the_catalogue_can_be_done() -> None:
    assert list(STRIKES) == [fault.name for fault in FAULTS]


def test_a_group_is_found_where_apache_kafka_keeps_its_commits() -> None:
    """As four brokers' topics of four partitions answered."""
    seen = {"group-8ec2fa13": 1, "group-501229c9": 3, "group-2393b892": 0, "group-6aacbb04": 3}
    assert {group: commit_partition(group, 4) for group in seen} == seen


def test_a_storm_is_fed_with_good_and_bad_records_and_with_events_that_come_again() -> None:
    items = list(storm_items(5_000, seed=3))
    assert len(items) == 5_000
    assert items == list(storm_items(5_000, seed=3))
    kinds = Counter(item.expected for item in items)
    assert {"scored", "empty", "poison", "oversize", "undecodable", TWIN} <= set(kinds)
    twins = Counter(item.value for item in items if item.expected == TWIN)
    assert sum(count == 2 for count in twins.values()) > 20
    assert max(twins.values()) == 2

"""`consumer verify` against Apache Kafka: a clean pass, and each fault planted alone and found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from click.testing import CliRunner
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumer.cli import cli
from consumer.errors import Infrastructure, Misconfigured
from consumer.settings import Kafka, Settings
from consumer.verify.broker import Broker
from consumer.verify.reader import Reader, Span
from tests.kafka.audited import Audited, key_of, run_verify, verify_arguments
from tests.kafka.cluster import AnyCluster, free_ports
from tests.kafka.items import mixed
from tests.kafka.scenario import Scenario
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

EXACTLY_ONCE = "exactly-once"


@pytest.fixture
def world(cluster: AnyCluster, topics: Topics) -> Audited:
    """Forty records in partition 0 and twenty in partition 1, all committed, the last one a dead letter; the
    results are left to the test."""
    world = Audited(cluster.bootstrap, topics, f"audited-{uuid4().hex[:8]}")
    world.feed(0, 40)
    world.feed(1, 20)
    world.reject(1, 19)
    world.commit(p0=40, p1=20)
    return world


def flawless(world: Audited) -> None:
    world.score(0, range(40))
    world.score(1, range(19))


def test_a_flawless_pass_says_so_for_every_partition(world: Audited) -> None:
    flawless(world)
    for guarantee in ("at-least-once", EXACTLY_ONCE):
        audit = world.verify(guarantee=guarantee)
        assert (audit.code, audit.found()) == (0, {}), audit
        assert audit.report["verdict"] == "holds"
        assert [(p["partition"], p["records"]) for p in audit.report["partitions"]] == [(0, 40), (1, 20)]
        assert [(p["results"], p["dead_letters"]) for p in audit.report["partitions"]] == [
            ({"scored": 40}, {}),
            ({"scored": 19}, {"invalid": 1}),
        ]


def test_for_people_it_prints_a_table_and_a_sentence(world: Audited) -> None:
    flawless(world)
    world.flush()
    done = CliRunner().invoke(cli, [each for each in world.arguments() if each != "--json"])
    *table, sentence = done.stdout.splitlines()
    assert (done.exit_code, sentence) == (0, "at-least-once holds for 60 records")
    assert table[1].split()[:5] == ["partition", "offsets", "records", "scored", "dead:"]
    assert [line.split()[0] for line in table[2:]] == ["0", "1", "all"]
    assert "read" in done.stderr


def test_a_missing_result_is_found_and_named(world: Audited) -> None:
    world.score(0, [*range(17), *range(18, 40)])
    world.score(1, range(19))
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"missing": 1})
    assert audit.named("missing")[0].startswith(f"{world.input}[0]@17: ")


def test_a_duplicate_is_counted_under_at_least_once_and_breaks_exactly_once(world: Audited) -> None:
    flawless(world)
    world.score(0, [38, 39], scored_at="2026-11-30T16:00:00.000Z")
    audit = world.verify()
    assert (audit.code, audit.found()) == (0, {"duplicate": 2})
    audit = world.verify(guarantee=EXACTLY_ONCE)
    assert (audit.code, audit.found()) == (1, {"duplicate": 2})
    assert audit.report["summary"] == "exactly-once is broken: 2 duplicate"


def test_a_commit_ahead_of_the_output_is_found(world: Audited) -> None:
    world.score(0, range(35))
    world.score(1, range(19))
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"missing": 5, "commit_ahead": 5})


def test_a_commit_behind_the_end_of_the_log_is_found(world: Audited) -> None:
    flawless(world)
    world.commit(p1=23)
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"commit_ahead": 3})


def _planted(*changes: dict[str, Any], **where: Any) -> Callable[[Audited], None]:
    """Results of record 5 of partition 0, each with changes, in place of the right one."""

    def plant(world: Audited) -> None:
        world.score(0, range(5))
        for change in changes:
            world.write(world.body(0, 5, **change), **where)
        world.score(0, range(6, 40))
        world.score(1, range(19))

    return plant


def _nan(world: Audited) -> None:
    world.score(0, range(5))
    world.write(msgspec.json.encode(world.body(0, 5, score=0.125)).replace(b"0.125", b"NaN"))
    world.score(0, range(6, 40))
    world.score(1, range(19))


def _order(world: Audited) -> None:
    world.score(0, [*range(5), 6, 5, *range(7, 40)])
    world.score(1, range(19))


def _contradiction(world: Audited) -> None:
    flawless(world)
    world.score(1, [19])


def _altered(world: Audited) -> None:
    flawless(world)
    world.feed(1, 1)
    world.reject(1, 20, value_sha256=b"of something else", key_sha256=None)
    world.commit(p1=21)


PLANTED = {
    "an order break": (_order, {"order_break": 1}),
    "a score that is NaN": (_nan, {"non_finite": 1}),
    "a score that is null": (_planted({"score": None}), {"non_finite": 1}),
    "another key": (_planted({"input__key": "x"}, key=b"x"), {"wrong_key": 1}),
    "no key": (_planted({"input__key": None}, key=None), {"wrong_key": 1}),
    "an id of another record": (_planted({"id": "events|0|6"}), {"wrong_id": 1}),
    "another schema": (_planted({"schema_version": 2}), {"malformed": 1}),
    "an unknown outcome": (_planted({"outcome": "lost"}), {"malformed": 1}),
    "no version of the model": (_planted({"model__version": ""}), {"malformed": 1}),
    "a repeat that differs": (_planted({}, {"message": "x"}), {"differing_repeat": 1}),
    "a repeat by another model": (_planted({}, {"model__version": "x"}), {"rescored": 1}),
    "a result beside a dead letter": (_contradiction, {"result_and_dead_letter": 1}),
    "a dead letter of other bytes": (_altered, {"altered": 2, "wrong_key": 1}),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_fault_is_found_alone(world: Audited, what: str) -> None:
    plant, expected = PLANTED[what]
    plant(world)
    audit = world.verify()
    assert audit.found() == expected, audit.report["findings"]
    assert audit.code == (0 if set(expected) <= {"rescored"} else 1)


@pytest.mark.parametrize("empty", [True, False])
def test_an_empty_record_that_was_scored_is_found(cluster: AnyCluster, topics: Topics, empty: bool) -> None:
    world = Audited(cluster.bootstrap, topics, f"audited-{uuid4().hex[:8]}", (1, 1))
    world.feed(0, 3, empty=empty)
    world.score(0, range(3))
    world.commit(p0=3)
    assert world.verify().found() == ({"wrong_outcome": 3} if empty else {})


def test_results_of_records_that_never_were_are_phantoms(world: Audited) -> None:
    flawless(world)
    world.score(0, [40, 10**9])
    world.write(world.body(7, 0), partition=0)
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"phantom": 3})
    assert audit.report["unplaced"]["phantom"] == 1


# ----------------------------------------------------------------------------------------- transactions


def test_aborted_input_is_not_missing_and_its_results_are_phantoms(world: Audited) -> None:
    """F39, I7: offsets 40 to 44 were aborted, 45 is the marker."""
    flawless(world)
    world.flush()
    aborting = world.transactional(f"in-{world.group}")
    aborting.begin_transaction()
    world.feed(0, 5, aborting)
    aborting.flush(30)
    aborting.abort_transaction(30)
    world.commit(p0=46)
    audit = world.verify(guarantee=EXACTLY_ONCE)
    assert (audit.code, audit.found()) == (0, {}), audit
    world.score(0, [42, 45])
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"phantom": 2})


def test_aborted_results_do_not_count(world: Audited) -> None:
    _with_the_last_ten_in_a_transaction(world).abort_transaction(30)
    audit = world.verify()
    assert (audit.code, audit.found()) == (1, {"missing": 10, "commit_ahead": 10})


def _with_the_last_ten_in_a_transaction(world: Audited) -> Producer:
    """Everything has its result, those of 30 to 39 of partition 0 in a transaction that is still open."""
    world.score(0, range(30))
    world.score(1, range(19))
    world.flush()
    owner = world.transactional(f"out-{world.group}")
    owner.begin_transaction()
    world.write(*(world.body(0, offset) for offset in range(30, 40)), producer=owner)
    owner.flush(30)
    return owner


def test_behind_an_open_transaction_it_cannot_say_and_afterwards_it_can(world: Audited) -> None:
    owner = _with_the_last_ten_in_a_transaction(world)
    audit = world.verify("--wait", "1", guarantee=EXACTLY_ONCE)
    assert (audit.code, audit.report["verdict"], audit.found()) == (1, "cannot say", {}), audit
    assert "blocked by an open transaction" in audit.report["summary"]
    assert (audit.sum("blocked"), audit.report["held"][0]["stable"]) == (10, 30)
    owner.commit_transaction(30)
    audit = world.verify(guarantee=EXACTLY_ONCE)
    assert (audit.code, audit.found()) == (0, {}), audit


def test_it_waits_for_a_transaction_that_ends_in_time(world: Audited) -> None:
    owner = _with_the_last_ten_in_a_transaction(world)
    ending = threading.Timer(4.0, owner.commit_transaction)
    ending.start()
    audit = world.verify("--wait", "60")
    ending.join()
    assert (audit.code, audit.found()) == (0, {}), audit


def test_a_transaction_that_hides_nothing_of_the_range_is_only_noted(world: Audited) -> None:
    flawless(world)
    world.flush()
    owner = world.transactional(f"out-{world.group}")
    owner.begin_transaction()
    world.write(world.body(0, 0), producer=owner)
    owner.flush(30)
    audit = world.verify("--wait", "0.5")
    assert (audit.code, len(audit.report["held"])) == (0, 1)
    owner.abort_transaction(30)


# ------------------------------------------------------------------------------------ ranges, retention


def test_only_the_range_that_was_asked_for_is_judged(world: Audited) -> None:
    world.score(0, [*range(5, 15), *range(16, 40)])
    audit = world.verify("--partitions", "0", "--from-offset", "5", "--until-offset", "15")
    assert (audit.code, audit.found(), audit.sum("records")) == (0, {}, 10)
    assert audit.sum("beyond") == 24
    assert world.verify("--partitions", "0", "--from-offset", "5").found() == {"missing": 1}


def test_a_time_begins_and_ends_the_range(cluster: AnyCluster, topics: Topics) -> None:
    world = Audited(cluster.bootstrap, topics, f"audited-{uuid4().hex[:8]}", (1, 1))
    for offset in range(10):
        moment = 1_764_500_000_000 + offset * 60_000
        world.producer.produce(world.input, b"x", key_of(0, offset), 0, timestamp=moment)
    world.score(0, range(4, 8))
    world.commit(p0=10)
    inside = ("--since", "2025-11-30T10:57:20Z", "--until", str(1_764_500_000_000 + 8 * 60_000))
    audit = world.verify(*inside)
    assert (audit.code, audit.sum("records")) == (0, 4), audit
    assert world.verify().found()["missing"] == 6
    assert world.verify("--since", "5m").sum("records") == 0


def test_input_that_retention_removed_is_told_and_not_missing(world: Audited) -> None:
    flawless(world)
    world.flush()
    _remove(world, world.input, 0, 10)
    audit = world.verify()
    assert (audit.code, audit.found()) == (0, {})
    assert (audit.report["partitions"][0]["start"], audit.sum("before")) == (10, 10)
    _remove(world, world.input, 0, 40)
    world.commit(p0=30)
    audit = world.verify()
    assert audit.code == 0
    assert "removed offsets 30 to 39 before the group had finished them" in audit.report["notes"][0]


def test_input_that_retention_removes_during_the_audit_is_left_out(world: Audited) -> None:
    """As if it had been removed between the plan and the reading."""
    world.flush()
    _remove(world, world.input, 0, 10)
    settings = Settings(kafka=Kafka(bootstrap_servers=world.bootstrap))
    with closing(Reader(settings, Broker(settings))) as reader:
        stretches = reader.read(world.input, {0: Span(0, 40), 1: Span(0, 20)}, patience=5.0)
        places = [(m.partition(), m.offset()) for batch in stretches for m in batch]
        assert sorted(places) == [(0, n) for n in range(10, 40)] + [(1, n) for n in range(20)]
        assert stretches.removed == {0: 10}
        gone = reader.read(world.input, {0: Span(0, 10)}, patience=5.0)
        assert [*gone] in ([], [[]])
        assert gone.removed == {0: 10}


def test_where_retention_removed_output_nothing_of_that_age_is_missing(world: Audited) -> None:
    flawless(world)
    world.flush()
    _remove(world, world.results, 0, 10)
    audit = world.verify()
    assert (audit.code, audit.found(), audit.sum("expired")) == (0, {}, 10)
    assert audit.report["summary"].endswith("of 10 the output may have been removed")
    for partition, end in ((0, 40), (1, 19)):
        _remove(world, world.results, partition, end)
    _remove(world, world.dead, 0, 1)
    audit = world.verify()
    assert (audit.code, audit.report["verdict"], audit.sum("expired")) == (1, "cannot say", 60)


def test_a_compacted_results_topic_cannot_prove_a_loss(cluster: AnyCluster, topics: Topics) -> None:
    name = f"audited-{uuid4().hex[:8]}"
    world = Audited(cluster.bootstrap, topics, name, (1, 1), {"cleanup.policy": "compact"})
    world.feed(0, 4)
    world.score(0, [0, 1, 3])
    world.commit(p0=4)
    audit = world.verify()
    assert (audit.code, audit.report["verdict"], audit.found()) == (1, "cannot say", {})
    assert "compaction" in audit.report["summary"]


def test_with_start_latest_a_group_began_at_its_first_result(world: Audited) -> None:
    world.score(0, range(25, 40))
    world.score(1, range(19))
    audit = world.verify("--set", "input.start=latest")
    assert (audit.code, audit.sum("before_first")) == (0, 25)
    audit = world.verify("--set", "input.start=latest", "--from-offset", "0")
    assert (audit.code, audit.found()) == (1, {"missing": 25})


def _remove(world: Audited, topic: str, partition: int, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": world.bootstrap, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        future.result(30)


# ----------------------------------------------------------------------- others, misconfiguration, running


def test_other_groups_and_other_prefixes_are_counted_apart(world: Audited) -> None:
    flawless(world)
    world.score(0, range(3), group="another")
    world.write(*(world.body(0, n, id=f"old-{world.input}|0|{n}") for n in range(4)))
    audit = world.verify()
    assert audit.report["others"] == {"other groups": 3, "other id prefixes": 4}
    assert audit.found() == {}
    audit = world.verify("--set", "output.id_prefix=old-")
    assert audit.found()["missing"] == 56, "4 results of that prefix, and no dead letter"


def test_what_cannot_be_audited_is_exit_code_two_and_one_line(world: Audited) -> None:
    arguments = world.arguments()
    wrong = {
        "--group-id": "has committed nothing on",
        "--input-topic": "does not exist",
        "--output-topic": "does not exist",
        "--dead-letter-topic": "does not exist",
    }
    for option, why in wrong.items():
        audit = run_verify([*arguments, option, "no-such-one"])
        assert (audit.code, len(audit.errors.splitlines())) == (2, 1)
        assert why in audit.errors
    for wrongly, why in (
        (("--partitions", "0,9"), "has no partition 9, only 0 to 1"),
        (("--partitions", "first"), "write 0,3-5"),
        (("--since", "yesterday"), "write 2026-01-31T12:00:00Z"),
        (("--set", "processing.guarantee=maybe"), "processing.guarantee"),
    ):
        audit = world.verify(*wrongly)
        assert audit.code == 2
        assert why in audit.errors


def test_brokers_that_go_away_are_wrong_settings_at_the_start_only() -> None:
    nobody = Settings(kafka=Kafka(bootstrap_servers=f"127.0.0.1:{free_ports(1)[0]}"))
    broker = Broker(nobody, timeout=1.0)
    with pytest.raises(Misconfigured, match="bootstrap_servers = "):
        broker.partitions("events")
    with closing(Reader(nobody, broker)) as reader, pytest.raises(Infrastructure):
        reader.stable("events", [0])


@pytest.mark.parametrize("guarantee", ["at-least-once", EXACTLY_ONCE])
def test_it_audits_a_service_while_it_runs(cluster: AnyCluster, scenario: Scenario, guarantee: str) -> None:
    """Every audit on the way must hold, and the last one covers everything that was fed."""
    items = list(mixed(3_000, seed=5, every=90))
    scenario.prepare({"input": 3, "results": 2}, processing__guarantee=guarantee)
    replica = scenario.start("only")
    scenario.feed(items, rate=500)
    eventually("something is committed", scenario.committed, 60)
    names = [scenario.name(role) for role in ("input", "results", "dead")]
    arguments = verify_arguments(
        cluster.bootstrap, scenario.group, names, "--set", f"processing.guarantee={guarantee}"
    )
    audits = [run_verify(arguments)]
    while audits[-1].sum("records") < len(items):
        audits.append(run_verify(arguments))
        assert len(audits) < 60
    scenario.stop(replica)
    for audit in audits:
        assert (audit.code, audit.found()) == (0, {}), audit
    assert sum(sum(p["dead_letters"].values()) for p in audits[-1].report["partitions"]) > 20
    assert len(audits) > 1

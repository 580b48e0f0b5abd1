"""What the client really does when it reads, and what our source makes of it.

| the client | test |
|---|---|
| an exception out of a callback may be one that nothing can catch | an_exception_of_the_listener… |
| consume() destroys what it gathered when a callback raises | the same |
| consume(n, t) waits for n records or the whole time | a_poll_returns_what_is_queued… |
| header names that are not UTF-8 make headers() raise, then crash | header_names_that_are_not_utf8… |
| commit() without arguments commits what was delivered, not what is finished | commits_are_explicit… |
| a synchronous commit raises on a group that moved on | a_synchronous_commit_of_a_moved_group… |
| an asynchronous commit is answered in a callback, per partition | a_refused_asynchronous_commit… |
| a pause outlives a rebalance | a_partition_that_comes_back_after_a_pause… |
| `auto.offset.reset=error` fires for partitions without a commit, too | a_group_without_offsets… |
| a position out of range stops the partition; seek() is refused | a_position_that_retention_removed… |
| assigning anew makes it forget the positions of all (range) | with_range_… |
| committed() that fails is not "no commit" | an_answer_that_fails_is_never_no_commit |
| past max.poll.interval one poll runs lost and assigned, and returns records | a_late_poll_is_told_as_lost… |
| lag of the statistics is against committed offsets; ours is not | log_ends_come_from… |
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.demo.cluster import InProcessCluster
from consumer.errors import Fatal
from consumer.kafka import source
from consumer.kafka.source import KafkaSource
from consumer.records import Start, TopicPartition
from consumer.settings import Settings
from tests.mock_cluster.conftest import QUIET, Journal, Rig, changed, produce

P0, P1 = TopicPartition("events", 0), TopicPartition("events", 1)
OFFSET_COMMIT, OFFSET_FETCH = 8, 9


@contextlib.contextmanager
def bystander(settings: Settings) -> Iterator[Consumer]:
    """A client that knows the group without joining it. (On these brokers a group that its last member
    left never answers a new one, so nothing here joins twice.)"""
    config = {"bootstrap.servers": settings.kafka.bootstrap_servers, "group.id": settings.kafka.group_id}
    consumer = Consumer(config, logger=QUIET)
    try:
        yield consumer
    finally:
        consumer.close()


def committed(settings: Settings, partition: int = 0) -> int:
    with bystander(settings) as consumer:
        offset: int = consumer.committed([KafkaPartition("events", partition)], timeout=10)[0].offset
    return offset


def commit(settings: Settings, offsets: dict[TopicPartition, int]) -> None:
    with bystander(settings) as consumer:
        partitions = [KafkaPartition(*partition, offset) for partition, offset in offsets.items()]
        consumer.commit(offsets=partitions, asynchronous=False)


def test_a_group_without_offsets_starts_at_the_earliest_record(cluster: InProcessCluster, rig: Rig) -> None:
    produce(cluster, [b"a", b"b"])
    rig.until(lambda: len(rig.records) == 2)
    assert rig.journal.starts[P0] == Start(0, committed=False)
    assert [r.offset for r in rig.records] == [0, 1]


def test_other_callbacks_in_the_poll_that_assigns_do_no_harm(
    cluster: InProcessCluster, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question about the whole cluster, asked in on_assign, made the client abort the process when
    statistics came in the same poll."""
    monkeypatch.setattr(source, "_STATISTICS_MS", 1)
    produce(cluster, [b"a"])
    rig = Rig(settings).subscribed()
    rig.until(lambda: len(rig.records) == 1)
    rig.source.close()


def test_with_start_latest_it_starts_behind_the_last_record(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"a", b"b"])
    rig = Rig(changed(settings, "input", start="latest")).subscribed()
    rig.until(lambda: P0 in rig.journal.starts)
    assert rig.journal.starts[P0] == Start(2, committed=False)
    rig.source.close()


def test_a_group_with_offsets_goes_on_where_it_committed(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"%d" % i for i in range(10)])
    commit(settings, {P0: 7})
    rig = Rig(settings).subscribed()
    rig.until(lambda: len(rig.records) == 3)
    assert rig.journal.starts[P0] == Start(7, committed=True)
    rig.source.close()


def test_a_poll_returns_what_is_queued_instead_of_waiting_for_more(
    cluster: InProcessCluster, rig: Rig
) -> None:
    rig.until(lambda: P0 in rig.journal.starts)
    produce(cluster, [b"x"] * 500)
    patience = 20.0
    before = time.monotonic()
    while len(rig.records) < 500:
        rig.poll(timeout=patience, limit=10_000)
    assert time.monotonic() - before < patience


def test_a_poll_returns_at_most_what_was_asked(cluster: InProcessCluster, rig: Rig) -> None:
    produce(cluster, [b"x"] * 50)
    rig.until(lambda: bool(rig.records))
    assert all(len(rig.poll(limit=7).records) <= 7 for _ in range(10))


def test_an_end_is_told_with_the_position_behind_the_last_record(cluster: InProcessCluster, rig: Rig) -> None:
    produce(cluster, [b"x"] * 3)
    rig.until(lambda: rig.ends.get(P0) == 3 and rig.ends.get(P1) == 0)


def test_log_ends_come_from_what_the_client_has_seen(cluster: InProcessCluster, rig: Rig) -> None:
    produce(cluster, [b"x"] * 3)
    rig.until(lambda: rig.source.log_ends().get(P0) == 3)


def test_an_exception_of_the_listener_is_raised_by_the_poll_and_can_be_caught(settings: Settings) -> None:
    rig = Rig(settings)
    rig.journal.fail_with = Fatal("planted")
    rig.subscribed()
    with pytest.raises(Fatal, match="planted"):
        rig.until(lambda: False)
    with pytest.raises(Fatal, match="planted"):
        rig.source.close()  # says it again: there is no going on


def test_header_names_that_are_not_utf8_become_a_record_without_headers(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client cannot produce such a name, so a message that behaves as measured stands in."""
    message = _Message()
    monkeypatch.setattr(rig.source, "_take", lambda timeout, limit: [message])
    assert rig.poll().records[0].headers is None
    assert message.asked == 1, "asked a rig time, the client returns a tuple that crashes"


class _Message:
    def __init__(self) -> None:
        self.asked = 0

    def headers(self) -> None:
        self.asked += 1
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    def error(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return (1, 1_700_000_000_000)

    def __getattr__(self, name: str) -> object:
        values = {"partition": 0, "offset": 5, "value": b"v", "key": None, "topic": "events"}
        return lambda: values[name]


def test_commits_are_explicit_and_answered_through_the_listener(
    cluster: InProcessCluster, settings: Settings, rig: Rig
) -> None:
    produce(cluster, [b"x"] * 5)
    rig.until(lambda: len(rig.records) == 5)
    assert committed(settings) < 0, "what was only delivered is not committed"
    rig.source.commit({P0: 4})
    rig.until(lambda: bool(rig.journal.told("committed")))
    assert rig.journal.told("committed") == [("committed", {P0: 4})]
    assert committed(settings) == 4


def test_a_refused_asynchronous_commit_is_told_and_is_not_fatal(
    cluster: InProcessCluster, settings: Settings, rig: Rig
) -> None:
    produce(cluster, [b"x"] * 5)
    rig.until(lambda: len(rig.records) == 5)
    cluster.push_request_errors(OFFSET_COMMIT, [KafkaError.ILLEGAL_GENERATION])
    rig.source.commit({P0: 4})
    rig.until(lambda: bool(rig.journal.told("refused")))
    assert rig.journal.told("refused") == [("refused", {P0}, "ILLEGAL_GENERATION")]
    assert committed(settings) < 0


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
    ],
)
def test_a_synchronous_commit_of_a_moved_group_accepts_nothing_and_does_not_raise(
    cluster: InProcessCluster, rig: Rig, code: int
) -> None:
    rig.until(lambda: P0 in rig.journal.starts)
    cluster.push_request_errors(OFFSET_COMMIT, [code])
    assert rig.source.commit_now({P0: 0}) == {}


def test_a_synchronous_commit_is_retried_through_a_moving_coordinator(
    cluster: InProcessCluster, rig: Rig
) -> None:
    rig.until(lambda: P0 in rig.journal.starts)
    cluster.push_request_errors(
        OFFSET_COMMIT, [KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS]
    )
    assert rig.source.commit_now({P0: 0}) == {P0: 0}


def test_an_answer_that_fails_is_never_no_commit(cluster: InProcessCluster, settings: Settings) -> None:
    produce(cluster, [b"%d" % i for i in range(10)])
    commit(settings, {P0: 10, P1: 0})
    cluster.push_request_errors(OFFSET_FETCH, [KafkaError.GROUP_AUTHORIZATION_FAILED] * 2)
    rig = Rig(settings).subscribed()
    rig.until(lambda: P0 in rig.journal.starts)
    assert rig.journal.starts[P0] == Start(10, committed=True)
    rig.source.close()


def test_a_position_that_retention_removed_goes_on_at_the_earliest_and_tells_the_gap(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"%d" % i for i in range(10)])
    commit(settings, {P0: 2})
    cluster.delete_records("events", 0, 6)
    rig = Rig(settings).subscribed()
    rig.until(lambda: len(rig.records) == 4)
    assert [r.offset for r in rig.records] == [6, 7, 8, 9]
    assert rig.journal.told("skipped") == [("skipped", P0, 4)]
    assert not rig.journal.told("lost"), "what was read before the gap still counts"
    rig.source.close()


def test_a_position_beyond_the_log_begins_anew_because_the_log_was_replaced(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"x"] * 3)
    commit(settings, {P0: 50})
    rig = Rig(settings).subscribed()
    rig.until(lambda: len(rig.records) == 3)
    assert rig.journal.told("lost") == [("lost", {P0})]
    assert rig.journal.starts[P0] == Start(0, committed=False)
    rig.source.close()


def test_with_range_logs_that_were_replaced_together_are_each_read_from_the_beginning(
    cluster: InProcessCluster, settings: Settings
) -> None:
    for partition in (0, 1):
        produce(cluster, [b"old"] * 10, partition)
    commit(settings, {P0: 2, P1: 2})
    rig = Rig(changed(settings, "kafka", assignor="range")).subscribed()
    rig.until(lambda: len(rig.records) == 16)
    cluster.delete_topic("events")
    cluster.create_topic("events", 2)
    for partition in (0, 1):
        produce(cluster, [b"new"] * 5, partition)
    rig.until(lambda: {(r.partition, r.offset) for r in rig.records if r.value == b"new"} >= _BOTH_WHOLE)
    rig.source.close()


_BOTH_WHOLE = {(partition, offset) for partition in (0, 1) for offset in range(5)}


def test_with_range_a_partition_keeps_its_position_while_others_are_placed_anew_one_after_the_other(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"x"] * 10, 1)
    rig = Rig(changed(settings, "kafka", assignor="range")).subscribed()
    rig.until(lambda: len(rig.records) == 10)
    for _ in range(2):
        rig.source._reassign(P0, 0)
    produce(cluster, [b"y"], 1)
    rig.until(lambda: len(rig.records) > 10)
    assert [r.offset for r in rig.records] == list(range(11))
    rig.source.close()


class _Recorder:
    """Stands in for the client in one callback: on these brokers a partition cannot leave and come back."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[[object], None]:
        return lambda partitions: self.calls.append(name)


def test_a_partition_that_comes_back_after_a_pause_is_resumed_since_the_client_remembers_the_pause(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig.source, "_starts", _Found())
    client = _Recorder()
    rig.source._on_assign(client, [KafkaPartition("events", 0)])
    assert client.calls == ["incremental_assign", "resume"]
    client.calls.clear()
    rig.source._paused = True
    rig.source._on_assign(client, [KafkaPartition("events", 0)])
    assert client.calls == ["incremental_assign", "pause"]
    rig.source._paused = False


class _Found:
    def find(self, partitions: list[KafkaPartition]) -> dict[TopicPartition, Start]:
        return {P0: Start(0, committed=True)}


def test_what_is_assigned_while_paused_stays_silent_until_resumed(
    cluster: InProcessCluster, settings: Settings
) -> None:
    produce(cluster, [b"x"] * 5)
    rig = Rig(settings)
    rig.source.pause()
    rig.subscribed()
    rig.until(lambda: P0 in rig.journal.starts)
    for _ in range(5):
        rig.poll()
    assert rig.records == []
    rig.source.resume()
    rig.until(lambda: len(rig.records) == 5)
    rig.source.close()


def test_a_late_poll_is_told_as_lost_and_the_records_come_again(
    cluster: InProcessCluster, settings: Settings
) -> None:
    rig = Rig(changed(settings, "kafka", max_poll_interval=10.0, session_timeout=6.0)).subscribed()
    produce(cluster, [b"x"] * 5)
    rig.until(lambda: len(rig.records) == 5)
    time.sleep(12)
    rig.until(lambda: len(rig.records) == 10)
    assert [r.offset for r in rig.records] == [0, 1, 2, 3, 4] * 2
    kinds = [line[0] for line in rig.journal.lines if line[0] in ("lost", "assigned")]
    assert kinds[:3] == ["assigned", "lost", "assigned"]
    rig.source.close()


def test_brokers_that_go_away_are_trouble_until_they_are_back(cluster: InProcessCluster, rig: Rig) -> None:
    rig.until(lambda: P0 in rig.journal.starts)
    cluster.broker_down()
    rig.until(lambda: any(line[1] == "brokers" and line[2] for line in rig.journal.told("trouble")))
    cluster.broker_up()
    rig.until(
        lambda: rig.journal.told("trouble")[-1] == ("trouble", "brokers", None) or _brokers_back(rig.journal)
    )


def _brokers_back(journal: Journal) -> bool:
    return [line for line in journal.told("trouble") if line[1] == "brokers"][-1][2] is None


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range", "consumer"])
def test_closing_revokes_what_is_owned_so_that_it_can_be_committed(
    cluster: InProcessCluster, settings: Settings, assignor: str
) -> None:
    journal = Journal()
    source = KafkaSource(changed(settings, "kafka", assignor=assignor), journal, QUIET)
    source.subscribe(journal)
    deadline = time.monotonic() + 30
    while len(journal.starts) < 2 and time.monotonic() < deadline:
        source.poll(0.2, 10)
    source.close()
    assert set().union(*(line[1] for line in journal.told("revoked"))) == {P0, P1}

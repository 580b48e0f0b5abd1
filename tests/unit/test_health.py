"""Health: live is about the loop alone, ready about everything the work needs."""

from __future__ import annotations

import pytest

from consumer import settings
from consumer.ops.health import Health
from consumer.records import Position, TopicPartition

P0, P1 = TopicPartition("secret-topic-name", 0), TopicPartition("secret-topic-name", 1)
LIMITS = settings.Health(stall_after=60.0, stuck_after=120.0)


def running(now: float = 0.0) -> Health:
    health = Health(LIMITS)
    health.rebalanced("assigned", [P0])
    health.stepped(now)
    return health


def test_it_is_alive_but_not_ready_while_the_model_is_loaded_and_the_group_joined() -> None:
    health = Health(LIMITS)
    assert health.live(10_000.0).ok
    assert health.ready(0.0).reasons == ("the group has not assigned partitions yet",)


def test_an_empty_assignment_is_an_assignment() -> None:
    health = Health(LIMITS)
    health.rebalanced("assigned", [])
    assert health.ready(0.0).ok


def test_a_revocation_is_no_assignment() -> None:
    health = Health(LIMITS)
    health.rebalanced("revoked", [])
    assert not health.ready(0.0).ok


def test_after_a_lost_assignment_it_waits_for_the_next() -> None:
    health = running()
    health.rebalanced("lost", [P0])
    assert health.ready(0.0).reasons == ("the group has not assigned partitions yet",)
    health.rebalanced("assigned", [])
    assert health.ready(0.0).ok


def test_live_fails_when_no_step_was_completed_within_stall_after() -> None:
    health = running()
    assert health.live(60.0).ok
    report = health.live(61.0)
    assert not report.ok
    assert report.reasons == ("the loop has not completed a step for 61 s",)
    health.stepped(62.0)
    assert health.live(63.0).ok


def test_a_long_broker_outage_makes_it_unready_but_never_dead() -> None:
    health = running()
    health.trouble("brokers", "all brokers down")
    for second in range(0, 10_000, 10):
        health.stepped(float(second))
        assert health.live(second + 5.0).ok
    assert health.ready(10_000.0).reasons == ("brokers: failing",)
    health.trouble("brokers", None)
    assert health.ready(10_000.0).ok


def test_each_trouble_is_named_until_it_is_over() -> None:
    health = running()
    health.trouble("results topic", "missing")
    health.trouble("brokers", "down")
    health.trouble("brokers", "still down")
    assert health.ready(0.0).reasons == ("brokers: failing", "results topic: failing")
    health.trouble("brokers", None)
    health.trouble("never failed", None)
    assert health.ready(0.0).reasons == ("results topic: failing",)


def test_time_inside_a_named_blocking_call_does_not_count_for_liveness() -> None:
    health = running()
    health.stepped(100.0)
    health.entered_call("commit", 110.0)
    assert health.live(10_000.0).ok
    health.left_call(10_000.0)
    assert health.live(10_050.0).ok  # 10 s before the call and 50 s after it
    assert not health.live(10_051.0).ok


def test_a_stall_before_the_call_still_counts_during_it() -> None:
    health = running()
    health.entered_call("close", 61.0)
    assert not health.live(62.0).ok


def test_a_call_that_ended_without_having_begun_changes_nothing() -> None:
    health = running()
    health.left_call(500.0)
    assert not health.live(500.0).ok


def test_a_partition_with_records_that_gets_nowhere_makes_it_unready() -> None:
    health = running()
    for second in range(122):
        health.positions({P0: Position(10, 15)}, float(second))
    assert health.ready(120.0).ok
    (reason,) = health.ready(121.0).reasons
    assert reason.startswith("partition 0: nothing finished for 121 s with 5 records to the log end")
    health.positions({P0: Position(11, 15)}, 122.0)
    assert health.ready(122.0).ok


def test_an_open_transaction_upstream_makes_it_unready_but_never_dead() -> None:
    """The log end runs on while nothing can be read: that is not healthy idleness."""
    health = running()
    for second in range(200):
        health.stepped(float(second))
        health.positions({P0: Position(10, 15 + second)}, float(second))
    assert health.live(200.0).ok
    assert "open transaction" in health.ready(200.0).reasons[0]


def test_an_idle_partition_is_fine_for_ever_and_may_then_receive_records() -> None:
    health = running()
    health.positions({P0: Position(15, 15)}, 0.0)
    assert health.ready(100_000.0).ok
    health.positions({P0: Position(15, 15)}, 100_000.0)
    health.positions({P0: Position(15, 20)}, 100_001.0)
    assert health.ready(100_100.0).ok
    health.positions({P0: Position(15, 20)}, 100_100.0)
    assert not health.ready(100_122.0).ok


def test_an_unknown_log_end_is_no_reason_to_be_unready() -> None:
    health = running()
    health.positions({P0: Position(15, None)}, 0.0)
    health.positions({P0: Position(15, None)}, 1_000.0)
    assert health.ready(1_000.0).ok


def test_an_offset_reset_backwards_counts_as_progress() -> None:
    health = running()
    health.positions({P0: Position(100, 150)}, 0.0)
    health.positions({P0: Position(0, 150)}, 119.0)
    assert health.ready(200.0).ok


@pytest.mark.parametrize("kind", ["revoked", "lost"])
def test_a_stuck_partition_that_went_away_is_forgotten(kind: str) -> None:
    health = running()
    health.positions({P0: Position(1, 9), P1: Position(9, 9)}, 0.0)
    assert not health.ready(500.0).ok
    health.rebalanced(kind, [P0])
    health.rebalanced("assigned", [])
    assert health.ready(500.0).ok


def test_a_partition_that_comes_back_gets_the_whole_time_again() -> None:
    health = running()
    health.positions({P0: Position(1, 9)}, 0.0)
    health.rebalanced("revoked", [P0])
    health.positions({P0: Position(1, 9)}, 500.0)
    assert health.ready(600.0).ok


def test_reasons_show_neither_configuration_nor_what_a_client_said() -> None:
    health = running()
    health.trouble("brokers", "broker-7.internal:9092 refused user hunter2")
    health.positions({P0: Position(1, 9)}, 0.0)
    told = " ".join(health.ready(500.0).reasons)
    assert len(health.ready(500.0).reasons) == 2
    for planted in ("broker-7", "hunter2", "secret-topic-name"):
        assert planted not in told

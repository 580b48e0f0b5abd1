"""Partitions that come and go while work is under way."""

from __future__ import annotations

import pytest

from consumer.errors import Fatal
from consumer.settings import Delivery

from .world.device import NEVER
from .world.scene import P0, P1, P2, Scene, settings
from .world.sink import SendFate
from .world.source import CommitFate


def under_way(**options: object) -> Scene:
    """P0 and P1 are owned; one batch with two records of each is on the device for a second."""
    scene = Scene(settings(**{"count": 4, "interval": 1000.0, **options}))  # type: ignore[arg-type]
    scene.device.duration = lambda: 1.0
    scene.source.chunk = lambda limit: min(limit, 2)
    scene.join(P0, P1)
    scene.fill(P0, 2)
    scene.fill(P1, 2)
    scene.until(lambda: scene.journal.count("launched") == 1)
    return scene


def test_a_revoke_finishes_and_commits_what_is_under_way_inside_the_callback() -> None:
    scene = under_way()
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["rebalanced"] == 2)
    told = scene.journal.kinds("revoking", "sent", "acknowledged", "commit_now", "rebalanced")
    assert told[-5:] == ["revoking", "sent", "acknowledged", "commit_now", "rebalanced"]
    assert scene.committed(P0) == 2
    assert scene.observer.counts["given_up"] == 0


def test_a_revoke_commits_the_revoked_partitions_only_and_the_others_go_on() -> None:
    scene = under_way()
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["rebalanced"] == 2)
    assert scene.journal.all("commit_now")[-1].detail[0] == {P0: 2}
    scene.fill(P1, 3)
    scene.stop()
    assert scene.committed(P1) == 2


def test_a_revoke_drops_the_queued_records_of_the_revoked_partitions_only() -> None:
    scene = Scene(settings(count=100))
    scene.join(P0, P1)
    scene.fill(P0, 3)
    scene.fill(P1, 3)
    scene.step()
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.committed(P1) == 3)
    assert (scene.written(P0), scene.written(P1)) == ([], [0, 1, 2])


def test_a_revoke_does_not_wait_for_batches_that_hold_nothing_of_it() -> None:
    scene = under_way()
    scene.rebalance(("assigned", []))
    scene.broker.gap(P2)
    scene.rebalance(("assigned", [P2]))
    scene.step(2)
    before = scene.clock.now()
    scene.device.duration = lambda: NEVER
    scene.rebalance(("revoked", [P2]))
    scene.until(lambda: scene.journal.count("revoking") == 1)
    assert scene.clock.now() - before < 0.5


def test_missing_acknowledgements_give_up_the_revoked_partitions_only_and_count_them() -> None:
    scene = under_way(delivery=Delivery(revoke_budget=3.0))
    scene.sink.fate = lambda: SendFate(appends=10.0, answers=10.0)
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["given_up"] == 1)
    assert scene.journal.all("given_up")[0].detail == (2,)
    assert scene.committed(P0) == 0
    scene.sink.fate = SendFate
    scene.until(lambda: scene.journal.count("published") == 1)
    scene.stop()
    assert (scene.committed(P0), scene.committed(P1)) == (0, 2)


def test_a_failed_send_that_waits_for_its_repeat_is_given_up_and_not_fatal() -> None:
    scene = under_way(delivery=Delivery(revoke_budget=3.0), depth=3)
    scene.sink.fate = lambda: SendFate(unwritten=1.0)
    scene.until(lambda: scene.observer.counts["send_failed"] == 3)
    scene.fill(P0, 4)  # launched and scored while the repeat is awaited
    scene.until(lambda: scene.journal.count("launched") == 2)
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["given_up"] == 1)
    assert scene.journal.all("given_up")[0].detail == (6,)


def test_a_device_that_does_not_finish_within_the_revoke_budget_is_fatal_without_commit() -> None:
    scene = under_way(delivery=Delivery(revoke_budget=3.0))
    scene.device.duration = lambda: NEVER
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("launched") == 2)
    scene.rebalance(("revoked", [P0]))
    with pytest.raises(Fatal, match=r"delivery\.revoke_budget"):
        scene.break_down()
    assert scene.journal.count("commit_now") == 0
    assert scene.committed(P0) == 0


def test_a_refused_commit_at_a_revoke_is_swallowed_and_counted() -> None:
    scene = under_way()
    scene.source.commit_now_fate = lambda: CommitFate(accepted=False)
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["rebalanced"] == 2)
    assert scene.observer.counts["commit_refused"] == 1
    assert scene.committed(P0) == 0


def test_what_was_lost_is_neither_published_nor_committed() -> None:
    scene = under_way()
    scene.rebalance(("lost", [P0]))
    scene.until(lambda: scene.journal.count("published") == 1)
    scene.stop()
    assert (scene.written(P0), scene.committed(P0)) == ([], 0)
    assert (scene.written(P1), scene.committed(P1)) == ([0, 1], 2)


def test_a_lost_partition_that_was_sent_already_does_not_touch_its_next_assignment() -> None:
    scene = under_way()
    scene.sink.fate = lambda: SendFate(answers=5.0)
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.rebalance(("lost", [P0]), ("assigned", [P0]))
    scene.step(2)
    assert scene.pipeline.uncommitted == 2  # what is left of P1
    scene.sink.fate = SendFate
    scene.until(lambda: scene.written(P0) == [0, 1, 0, 1])
    scene.stop()
    assert scene.committed(P0) == 2


def test_lost_then_assigned_in_the_poll_that_returns_records_of_the_same_partition() -> None:
    scene = under_way()
    scene.fill(P0, 6)
    scene.until(lambda: scene.journal.count("launched") == 2)
    scene.broker.commit({P0: 1})  # by the member that owned it in between
    scene.rebalance(("lost", [P0]), ("assigned", [P0]))
    scene.until(lambda: scene.written(P0)[-1:] == [7])
    scene.stop()
    assert scene.written(P0) == list(range(1, 8))
    assert scene.committed(P0) == 8


def test_a_partition_that_comes_back_starts_where_the_group_is_now() -> None:
    scene = under_way()
    scene.rebalance(("revoked", [P0]))
    scene.until(lambda: scene.observer.counts["rebalanced"] == 2)
    scene.fill(P0, 3)
    for offset in (2, 3):
        scene.broker.acknowledge(P0, offset)
    scene.broker.commit({P0: 4})
    scene.rebalance(("assigned", [P0]))
    scene.until(lambda: scene.written(P0)[-1] == 4)
    assert scene.written(P0) == [0, 1, 4]


def test_what_is_assigned_during_a_pause_is_read_once_the_device_is_free() -> None:
    scene = under_way(count=2, depth=1, max_poll_interval=3.0)
    scene.device.duration = lambda: 2.5
    scene.fill(P0, 8)
    scene.until(lambda: scene.source.paused)
    scene.broker.produce(P2, b"x")
    scene.broker.commit({P2: 0})
    scene.rebalance(("assigned", [P2]))
    scene.device.duration = lambda: 0.01
    scene.until(lambda: scene.written(P2) == [0])
    assert not scene.source.paused

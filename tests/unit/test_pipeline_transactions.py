"""The loop with a sink that commits what it was sent by itself."""

from __future__ import annotations

from consumer.settings import Delivery, Processing, Transaction

from .world.scene import P0, P1, Scene, settings
from .world.source import CommitFate
from .world.transactions import CommitCallFate, FakeTransactions


def in_transactions(
    max_time: float = 0.1, max_records: int = 1_000, max_bytes: int = 1_000_000, **options: object
) -> Scene:
    return Scene(
        settings(
            processing=Processing(guarantee="exactly-once"),
            transaction=Transaction(max_time=max_time, max_records=max_records, max_bytes=max_bytes),
            **options,  # type: ignore[arg-type]
        )
    )


def sink_of(scene: Scene) -> FakeTransactions:
    assert isinstance(scene.sink, FakeTransactions)
    return scene.sink


def test_offsets_travel_with_the_results_and_no_other_commit_is_asked_for() -> None:
    scene = in_transactions()
    scene.join(P0)
    scene.fill(P0, 20)
    scene.until(scene.settled)
    assert scene.written(P0) == list(range(20))
    assert scene.journal.count("commit") == scene.journal.count("commit_now") == 0
    assert scene.pipeline.uncommitted == 0


def test_more_batches_than_the_depth_share_a_transaction() -> None:
    scene = in_transactions(max_time=10.0, count=2, depth=2)
    scene.join(P0)
    scene.fill(P0, 12)
    scene.until(lambda: scene.journal.count("sent") == 6)
    assert scene.written(P0) == []
    assert scene.pipeline.uncommitted == 12


def test_nothing_is_launched_beyond_the_records_of_a_transaction() -> None:
    scene = in_transactions(max_time=10.0, max_records=4, count=2, depth=1)
    sink_of(scene).fate = lambda: CommitCallFate(unknown=5.0)
    scene.join(P0)
    scene.fill(P0, 20)
    for _ in range(50):
        scene.step()
    assert scene.journal.count("launched") == 2


def test_nothing_is_launched_beyond_the_bytes_of_a_transaction() -> None:
    scene = in_transactions(max_time=10.0, max_bytes=1, count=2, depth=1)
    sink_of(scene).fate = lambda: CommitCallFate(unknown=5.0)
    scene.join(P0)
    scene.fill(P0, 20)
    for _ in range(50):
        scene.step()
    assert scene.journal.count("launched") == 1


def test_a_revoke_ends_the_transaction_before_the_callback_returns() -> None:
    scene = in_transactions(max_time=10.0, delivery=Delivery(revoke_budget=5.0))
    scene.join(P0, P1)
    scene.fill(P0, 3)
    scene.until(lambda: scene.journal.count("sent") == 1)
    assert scene.committed(P0) == 0
    scene.rebalance(("revoked", [P0]))
    scene.step()
    assert scene.journal.kinds("revoking", "committed", "rebalanced")[-3:] == [
        "revoking",
        "committed",
        "rebalanced",
    ]
    assert scene.committed(P0) == 3
    assert scene.observer.counts["given_up"] == 0


def test_a_loss_aborts_the_transaction_and_what_is_still_ours_is_repeated() -> None:
    scene = in_transactions(max_time=10.0)
    scene.join(P0, P1)
    scene.fill(P0, 2)
    scene.fill(P1, 2)
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.rebalance(("lost", [P0]))
    scene.until(lambda: scene.journal.count("sent") == 2)
    scene.stop()
    assert scene.written(P0) == []
    assert scene.written(P1) == [0, 1]
    assert scene.committed(P1) == 2


def test_partitions_that_cannot_be_finished_in_time_are_given_up_unseen() -> None:
    scene = in_transactions(max_time=10.0)
    sink_of(scene).fate = lambda: CommitCallFate(aborted=True)
    scene.join(P0)
    scene.fill(P0, 3)
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.rebalance(("revoked", [P0]))
    scene.step()
    assert scene.observer.counts["given_up"] == 1
    assert scene.written(P0) == []
    assert scene.committed(P0) == 0


def test_a_step_over_markers_is_not_committed_beside_a_transaction_of_its_partition() -> None:
    scene = in_transactions(max_time=10.0, interval=1.0)
    scene.source.commit_fate = lambda: CommitFate(accepted=False)
    scene.join(P0)
    scene.broker.gap(P0, 2)
    scene.until(lambda: scene.journal.count("on_refused") == 1)
    scene.fill(P0, 1)
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.clock.advance(3.0)
    scene.step(20)
    assert scene.journal.count("commit") == 1
    scene.stop()
    assert scene.committed(P0) == 3


def test_nothing_is_launched_while_a_step_over_markers_is_being_committed() -> None:
    scene = in_transactions()
    scene.source.commit_fate = lambda: CommitFate(answered=2.0)
    scene.join(P0)
    scene.broker.gap(P0, 2)
    scene.until(lambda: scene.journal.count("commit") == 1)
    scene.fill(P0, 1)
    scene.step(20)
    assert scene.journal.count("launched") == 0
    scene.until(scene.settled)
    assert scene.committed(P0) == 3


def test_a_stop_leaves_nothing_open() -> None:
    scene = in_transactions(max_time=10.0)
    scene.join(P0)
    scene.fill(P0, 3)
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.stop()
    assert scene.committed(P0) == 3
    assert scene.journal.kinds("committed", "aborted", "close")[-2:] == ["committed", "close"]

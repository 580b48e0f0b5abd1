"""The line from poll to commit, when nothing goes wrong and when it has to stop."""

from __future__ import annotations

import pytest

from consumer.errors import Fatal
from consumer.records import Position
from consumer.settings import Batch, DeadLetter, Scoring, Shutdown

from .world.device import NEVER
from .world.scene import P0, P1, Scene, settings
from .world.sink import SendFate
from .world.source import CommitFate


def started(**options: object) -> Scene:
    scene = Scene(settings(**options))  # type: ignore[arg-type]
    scene.join(P0, P1)
    return scene


def test_every_record_becomes_one_output_and_its_offset_is_committed_after_it() -> None:
    scene = started()
    scene.fill(P0, 10)
    scene.fill(P1, 3)
    scene.until(scene.settled)
    assert scene.written(P0) == list(range(10))
    assert scene.written(P1) == [0, 1, 2]
    assert (scene.committed(P0), scene.committed(P1)) == (10, 3)


def test_the_order_is_submit_send_acknowledgement_commit() -> None:
    scene = started(interval=0.01)
    scene.produce(P0, b"one")
    scene.until(scene.settled)
    told = scene.journal.kinds("submitted", "sent", "acknowledged", "published", "commit", "on_committed")
    assert told[:5] == ["submitted", "sent", "acknowledged", "published", "commit"]


def test_each_kind_of_record_has_its_own_outcome_and_keeps_its_place() -> None:
    scene = started(count=8)
    scene.produce(P0, b"text", None, b"", b"undecodable", b"oversize", b"poison", b"text")
    scene.until(scene.settled)
    by_queue = [(w.queue, w.offset) for w in scene.broker.written]
    assert by_queue == [
        ("out0", 0), ("out0", 1), ("out0", 2), ("dead", 3), ("dead", 4), ("dead", 5), ("out0", 6),
    ]  # fmt: skip


def test_a_batch_without_a_single_event_never_reaches_the_device() -> None:
    scene = started()
    scene.produce(P0, None, b"undecodable", b"")
    scene.until(scene.settled)
    assert scene.journal.count("submitted") == 0
    assert scene.written(P0) == [0, 1, 2]


def test_a_backlog_goes_in_full_batches_and_a_trickle_after_idle_wait() -> None:
    scene = started(count=4)
    scene.fill(P0, 8)
    scene.until(scene.settled)
    scene.produce(P0, b"late")
    scene.until(scene.settled)
    assert [line.detail for line in scene.journal.all("launched")] == [
        (4, "count"), (4, "count"), (1, "idle_wait"),
    ]  # fmt: skip


def test_age_counts_from_the_moment_the_poll_was_asked() -> None:
    scene = Scene(settings(batch=Batch(count=4, max_wait=0.2, idle_wait=0.05)))
    scene.join(P0)
    asked = scene.clock.now()
    scene.clock.at(asked + 0.04, lambda: scene.produce(P0, b"x"))
    scene.step()  # the poll waits 0.1 s and returns the record
    assert scene.journal.count("launched") == 0
    assert scene.clock.now() == pytest.approx(asked + 0.1)
    scene.step()  # without another wait: the time inside the poll was part of the age
    assert scene.journal.all("launched")[0].time == pytest.approx(asked + 0.1)


def test_a_busy_device_gets_a_partial_batch_only_after_max_wait() -> None:
    scene = Scene(settings(batch=Batch(count=4, max_wait=0.5, idle_wait=0.01)))
    scene.device.duration = lambda: 5.0
    scene.join(P0)
    scene.produce(P0, b"first")
    scene.until(lambda: scene.journal.count("launched") == 1)
    scene.produce(P0, b"second")
    scene.until(lambda: scene.journal.count("launched") == 2)
    first, second = scene.journal.all("launched")
    assert second.detail == (1, "max_wait")
    assert second.time - first.time >= 0.5


def test_at_most_depth_batches_lie_between_taken_and_durable() -> None:
    scene = started(count=2, depth=2)
    scene.device.duration = lambda: NEVER
    scene.fill(P0, 20)
    scene.step(50)
    assert scene.journal.count("launched") == 2


def test_later_batches_are_launched_while_earlier_ones_await_their_acknowledgements() -> None:
    scene = started(count=2, depth=3)
    scene.sink.fate = lambda: SendFate(answers=5.0)
    scene.fill(P0, 6)
    scene.step(50)
    assert scene.journal.count("sent") == 3
    assert scene.journal.count("published") == 0


def test_receipts_that_come_out_of_order_are_retired_in_order() -> None:
    scene = started(count=2, depth=3, interval=0.01)
    fates = iter([SendFate(answers=1.0), SendFate(answers=0.1)])
    scene.sink.fate = lambda: next(fates)
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("acknowledged") == 1)
    scene.step(5)
    assert scene.committed(P0) == 0
    scene.until(scene.settled)


def test_nothing_is_launched_beyond_max_uncommitted_until_commits_are_acknowledged() -> None:
    scene = started(count=2, depth=1, max_uncommitted=4, interval=1000.0, max_poll_interval=100.0)
    scene.source.commit_fate = lambda: CommitFate(arrives=60.0)
    scene.fill(P0, 40)
    scene.step(400)
    assert scene.pipeline.uncommitted == 6  # above 4 nothing is launched any more
    scene.source.commit_fate = CommitFate
    scene.clock.advance(60.0)
    scene.until(scene.settled)


def test_nothing_is_launched_before_the_first_offset_of_a_partition_is_committed() -> None:
    scene = Scene()
    scene.fill(P0, 4)
    scene.source.commit_fate = lambda: CommitFate(arrives=3.0)
    scene.join(P0, started=False)
    scene.until(lambda: scene.journal.count("launched") == 1)
    assert scene.journal.kinds("commit", "on_committed", "launched") == ["commit", "on_committed", "launched"]


def test_gaps_at_the_end_of_a_partition_leave_no_lag() -> None:
    scene = started()
    scene.fill(P0, 3)
    scene.broker.gap(P0, 2)
    scene.broker.gap(P1, 5)
    scene.until(scene.settled)
    assert (scene.committed(P0), scene.committed(P1)) == (5, 5)
    assert scene.pipeline.caught_up()


def test_positions_are_told_about_once_a_second_from_what_is_durable() -> None:
    scene = started()
    scene.fill(P0, 3)
    scene.device.duration = lambda: 5.0
    scene.until(lambda: scene.journal.count("launched") == 1)
    before = scene.clock.now()
    scene.until(lambda: scene.clock.now() > before + 1.5)
    assert scene.observer.last_positions == {P0: Position(0, 3), P1: Position(0, 0)}
    scene.until(scene.settled)
    before = scene.clock.now()
    scene.until(lambda: scene.clock.now() > before + 1.5)
    assert scene.observer.last_positions == {P0: Position(3, 3), P1: Position(0, 0)}


def test_a_member_without_partitions_has_caught_up_only_after_some_patience() -> None:
    scene = Scene()
    assert not scene.pipeline.caught_up()
    scene.join()
    assert not scene.pipeline.caught_up()
    scene.clock.advance(20.0)
    assert scene.pipeline.caught_up()


def test_too_many_bad_records_stop_the_process_before_they_are_published() -> None:
    scene = started(count=4, dead_letter=DeadLetter(max_run=3))
    scene.fill(P0, 4)
    scene.until(scene.settled)
    scene.produce(P0, *[b"undecodable"] * 4)
    with pytest.raises(Fatal, match=r"dead_letter\.max_run"):
        scene.break_down()
    assert scene.written(P0) == [0, 1, 2, 3]
    assert scene.committed(P0) == 4


def test_a_hanging_device_is_fatal_and_nothing_of_it_is_committed() -> None:
    scene = started(scoring=Scoring(stall_after=7.0))
    scene.device.duration = lambda: NEVER
    scene.fill(P0, 4)
    with pytest.raises(Fatal, match=r"7 s \(scoring\.stall_after\)"):
        scene.break_down()
    assert (scene.written(P0), scene.committed(P0)) == ([], 0)


def test_a_device_that_works_through_long_texts_is_no_hang_and_one_that_stops_in_them_is() -> None:
    scene = started(scoring=Scoring(stall_after=7.0))
    scene.device.duration = lambda: 60.0
    begin = scene.clock.now()
    scene.device.device_batches = lambda: int(min(scene.clock.now() - begin, 30.0))
    scene.fill(P0, 1)
    with pytest.raises(Fatal, match=r"anything within 7 s \(scoring\.stall_after\)"):
        scene.break_down()
    assert 35.0 < scene.clock.now() - begin < 46.0


def test_a_slow_queue_on_the_device_is_no_hang() -> None:
    scene = started(count=1, depth=3, scoring=Scoring(stall_after=7.0))
    scene.device.duration = lambda: 5.0
    scene.fill(P0, 6)  # the third batch waits 10 s for the first two
    scene.until(scene.settled, limit=10_000)


# -------------------------------------------------------------------- stopping


def test_stopping_finishes_what_was_launched_and_commits_it() -> None:
    scene = started(count=4, interval=1000.0)
    scene.device.duration = lambda: 1.0
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("launched") == 1)
    scene.stop()
    assert (scene.written(P0), scene.committed(P0)) == ([0, 1, 2, 3], 4)
    assert scene.journal.kinds("sent", "acknowledged", "commit_now", "close")[-4:] == [
        "sent", "acknowledged", "commit_now", "close",
    ]  # fmt: skip


def test_stopping_drops_what_was_polled_but_not_launched() -> None:
    scene = started(count=4)
    scene.fill(P0, 3)
    scene.step()
    assert scene.journal.count("launched") == 0
    scene.stop()
    assert (scene.written(P0), scene.committed(P0)) == ([], 0)


def test_a_stop_that_cannot_finish_in_time_says_how_many_records_are_left() -> None:
    scene = started(count=4, shutdown=Shutdown(drain_timeout=2.0))
    scene.sink.fate = lambda: SendFate(answers=60.0)
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("sent") == 1)
    before = scene.clock.now()
    with pytest.raises(Fatal, match="Stopped with 4 records uncommitted"):
        scene.stop()
    assert scene.clock.now() - before == pytest.approx(2.0, abs=0.1)
    assert scene.committed(P0) == 0
    assert scene.journal.count("close") == 1


def test_a_stop_whose_last_commit_is_refused_says_so() -> None:
    scene = started(count=4, interval=1000.0)
    scene.source.commit_fate = scene.source.commit_now_fate = lambda: CommitFate(accepted=False)
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("published") == 1)
    with pytest.raises(Fatal, match="Stopped with 4 records uncommitted"):
        scene.stop()


def test_a_device_that_hangs_at_a_stop_is_fatal_within_the_drain_timeout() -> None:
    scene = started(count=4, shutdown=Shutdown(drain_timeout=2.0))
    scene.device.duration = lambda: NEVER
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("launched") == 1)
    with pytest.raises(Fatal, match=r"shutdown\.drain_timeout"):
        scene.stop()
    assert scene.journal.kinds("commit_now") == []


def test_leaving_the_group_commits_nothing_more_and_waits_for_nothing_more() -> None:
    scene = started(count=4, shutdown=Shutdown(drain_timeout=2.0))
    scene.sink.fate = lambda: SendFate(answers=60.0)
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("sent") == 1)
    with pytest.raises(Fatal):
        scene.stop()
    kinds = [line.what for line in scene.journal.lines]
    assert "commit_now" not in kinds[kinds.index("close") :]
    assert "given_up" not in kinds


def test_after_a_fatal_error_the_callbacks_of_closing_do_nothing() -> None:
    scene = started(scoring=Scoring(stall_after=1.0))
    scene.device.duration = lambda: NEVER
    scene.fill(P0, 4)
    with pytest.raises(Fatal):
        scene.break_down()
    before = len(scene.journal)
    scene.source.close()
    assert [line.what for line in scene.journal.lines[before:]] == ["close"]

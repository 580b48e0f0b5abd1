"""How the loop waits: never in a spin, never too long for the group, never around a poll."""

from __future__ import annotations

from itertools import pairwise

import pytest

from .world.device import NEVER
from .world.scene import P0, P1, Scene, settings
from .world.sink import SendFate
from .world.source import CommitFate


def started(**options: object) -> Scene:
    scene = Scene(settings(**{"count": 2, **options}))  # type: ignore[arg-type]
    scene.join(P0)
    return scene


def steps_for(scene: Scene, seconds: float) -> int:
    """How many steps the loop takes while so much time passes."""
    before, until = scene.observer.steps, scene.clock.now() + seconds
    scene.until(lambda: scene.clock.now() >= until, limit=100_000)
    return scene.observer.steps - before


def polls(scene: Scene) -> list[tuple[float, float]]:
    """(time, timeout) of each poll."""
    return [(line.time, line.detail[1]) for line in scene.journal.all("polled")]


def test_with_nothing_to_do_it_waits_inside_polls() -> None:
    scene = started()
    assert steps_for(scene, 10.0) <= 101


def test_while_the_device_works_it_waits_for_the_device() -> None:
    scene = started()
    scene.device.duration = lambda: 20.0
    scene.fill(P0, 2)
    scene.until(lambda: scene.journal.count("launched") == 1)
    assert steps_for(scene, 10.0) <= 1_010


def test_while_acknowledgements_are_missing_it_waits_for_them() -> None:
    scene = started()
    scene.sink.fate = lambda: SendFate(answers=20.0)
    scene.fill(P0, 2)
    scene.until(lambda: scene.journal.count("sent") == 1)
    assert steps_for(scene, 10.0) <= 1_010


def test_while_the_first_commit_is_unanswered_it_waits_inside_polls() -> None:
    scene = Scene(settings(count=2))
    scene.source.commit_fate = lambda: CommitFate(arrives=50.0)
    scene.fill(P0, 20)
    scene.join(P0, started=False)
    assert steps_for(scene, 10.0) <= 2_020


def test_a_wait_ends_the_moment_the_device_is_done() -> None:
    scene = started(depth=1)
    scene.device.duration = lambda: 0.0123
    scene.fill(P0, 2)
    scene.until(lambda: scene.journal.count("sent") == 1)
    (launched,), (sent,) = scene.journal.all("launched"), scene.journal.all("sent")
    assert sent.time - launched.time == pytest.approx(0.0123, abs=1e-6)


def test_a_scored_batch_is_sent_while_an_older_one_still_awaits_its_acknowledgement() -> None:
    scene = started(depth=3)
    scene.sink.fate = lambda: SendFate(answers=0.5)
    scene.device.duration = lambda: 0.004
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("sent") == 2)
    first, second = scene.journal.all("sent")
    assert second.time - first.time == pytest.approx(0.004, abs=1e-6)


def test_waiting_for_the_device_is_not_polling_until_a_third_of_max_poll_interval() -> None:
    scene = started(depth=1, max_poll_interval=30.0)
    scene.device.duration = lambda: 25.0
    scene.fill(P0, 10)
    scene.until(lambda: scene.journal.count("launched") == 1)
    scene.until(lambda: scene.journal.count("pause") == 1)
    times = [time for time, _ in polls(scene)]
    assert times[-1] - times[-2] == pytest.approx(10.0, abs=0.05)


def test_waiting_for_acknowledgements_keeps_the_membership_just_as_well() -> None:
    scene = started(depth=1, max_poll_interval=30.0)
    scene.sink.fate = lambda: SendFate(answers=100.0)
    scene.fill(P0, 10)
    scene.until(lambda: scene.journal.count("published") == 1, limit=20_000)
    times = [time for time, _ in polls(scene)]
    assert max(b - a for a, b in pairwise(times)) <= 10.1
    assert scene.journal.count("pause") == 1


def test_keep_alive_polls_never_wait_and_let_a_rebalance_through() -> None:
    scene = started(depth=1, max_poll_interval=30.0)
    scene.device.duration = lambda: 100.0
    scene.fill(P0, 10)
    scene.until(lambda: scene.source.paused)
    scene.broker.gap(P1)
    asked = scene.clock.now()
    scene.rebalance(("assigned", [P1]))
    scene.until(lambda: P1 in scene.source.positions)
    assert scene.clock.now() - asked <= 0.2
    assert {timeout for _, timeout in polls(scene)[-3:]} == {0.0}


def test_a_record_that_comes_out_while_paused_is_kept_in_its_place() -> None:
    scene = started(depth=1, max_poll_interval=3.0)
    scene.device.duration = lambda: 2.5
    scene.source.leak = lambda: True
    scene.fill(P0, 10)
    scene.until(lambda: scene.source.paused)
    scene.device.duration = lambda: 0.001
    scene.until(scene.settled)
    assert scene.written(P0) == list(range(10))


def test_after_the_wait_everything_is_resumed() -> None:
    scene = started(depth=1, max_poll_interval=3.0)
    scene.device.duration = lambda: 2.5
    scene.fill(P0, 30)
    scene.until(lambda: scene.source.paused)
    scene.device.duration = lambda: 0.001
    scene.until(scene.settled)
    assert scene.journal.kinds("pause", "resume")[-1] == "resume"


def test_a_short_wait_for_commits_polls_for_their_answers_without_pausing() -> None:
    scene = started(count=4, depth=1, max_uncommitted=1, interval=1000.0)
    scene.source.commit_fate = lambda: CommitFate(arrives=0.02)
    scene.fill(P0, 60)
    scene.until(scene.settled)
    assert scene.journal.count("pause") == 0


def test_a_long_wait_for_commits_pauses_once_two_batches_wait() -> None:
    scene = started(count=4, depth=1, max_uncommitted=1, interval=1000.0)
    scene.source.commit_fate = lambda: CommitFate(arrives=5.0)
    scene.fill(P0, 100)
    scene.until(lambda: scene.source.paused)
    handed = scene.source.positions[P0]
    scene.step(100)
    assert scene.source.positions[P0] == handed <= 4 + 4 + 4 + 1


def test_memory_is_bounded_while_the_device_hangs() -> None:
    scene = started(count=4, depth=3, max_poll_interval=3.0)
    scene.device.duration = lambda: NEVER
    scene.source.leak = lambda: False
    scene.fill(P0, 10_000)
    began = scene.clock.now()
    scene.until(lambda: scene.clock.now() > began + 60.0, limit=100_000)
    assert scene.source.positions[P0] <= 3 * 4 + 2 * 4


def test_a_step_is_told_to_the_observer_each_time() -> None:
    scene = started()
    before = scene.observer.steps
    scene.step(7)
    assert scene.observer.steps == before + 7

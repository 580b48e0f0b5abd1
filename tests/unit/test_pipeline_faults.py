"""Sends that fail and commits that are refused or never answered."""

from __future__ import annotations

from itertools import pairwise

import pytest

from consumer.errors import Fatal
from consumer.settings import Delivery

from .world.scene import P0, Scene, settings
from .world.sink import SendFate
from .world.source import CommitFate


def started(**options: object) -> Scene:
    scene = Scene(settings(**{"count": 2, "depth": 3, **options}))  # type: ignore[arg-type]
    scene.join(P0)
    return scene


def fates(scene: Scene, *first: SendFate) -> None:
    """These for the first batches, then all is well."""
    queue = iter(first)
    scene.sink.fate = lambda: next(queue, SendFate())


def sent(scene: Scene) -> list[list[int]]:
    """The offsets of each batch that was sent."""
    return [[offset for _, offset in line.detail] for line in scene.journal.all("sent")]


def test_a_failed_batch_and_those_behind_it_are_sent_again_in_order() -> None:
    scene = started()
    fates(scene, SendFate(answers=0.5, unwritten=1.0), SendFate(), SendFate())
    scene.fill(P0, 6)
    scene.until(scene.settled)
    batches = [[0, 1], [2, 3], [4, 5]]
    assert sent(scene) == batches * 2
    assert scene.written(P0) == [2, 3, 4, 5, 0, 1, 2, 3, 4, 5]
    assert scene.observer.counts["send_failed"] == 1
    assert scene.journal.all("send_failed")[0].detail[0] == 6


def test_a_batch_whose_fate_is_unknown_is_repeated_and_may_be_there_twice() -> None:
    scene = started()
    fates(scene, SendFate(unanswered=1.0))
    scene.fill(P0, 2)
    scene.until(scene.settled)
    assert scene.written(P0) == [0, 1, 0, 1]


def test_nothing_is_repeated_while_a_later_delivery_is_outstanding() -> None:
    scene = started()
    fates(scene, SendFate(answers=0.5, unwritten=1.0), SendFate(answers=7.0))
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("failed") == 1)
    scene.until(lambda: len(sent(scene)) > 2)
    kinds = scene.journal.kinds("sent", "failed", "acknowledged")
    assert kinds[:4] == ["sent", "sent", "failed", "acknowledged"]
    assert sent(scene)[2:4] == sent(scene)[:2]


def test_nothing_new_is_sent_between_a_failure_and_its_repeat() -> None:
    scene = started()
    fates(scene, SendFate(answers=0.5, unwritten=1.0), SendFate(answers=7.0))
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("failed") == 1)
    scene.fill(P0, 2)  # scored while the second delivery is outstanding
    scene.until(lambda: len(sent(scene)) == 5)
    assert sent(scene)[2:] == [[0, 1], [2, 3], [4, 5]]


def test_nothing_behind_a_failed_batch_is_sent_before_it_is_repeated() -> None:
    scene = started()
    fates(scene, SendFate(unwritten=1.0))
    scene.fill(P0, 2)
    scene.until(lambda: scene.observer.counts["send_failed"] == 1)
    scene.fill(P0, 2)
    scene.until(lambda: scene.journal.count("launched") == 2)
    assert len(sent(scene)) == 1
    scene.until(scene.settled)
    assert sent(scene) == [[0, 1], [0, 1], [2, 3]]


def test_attempts_are_further_and_further_apart_and_the_trouble_is_told_until_it_ends() -> None:
    scene = started()
    fates(scene, *[SendFate(unwritten=1.0)] * 4)
    scene.fill(P0, 2)
    scene.until(lambda: scene.observer.counts["send_failed"] == 1)
    assert scene.observer.troubles == {"results topic": "_MSG_TIMED_OUT"}
    scene.until(scene.settled)
    times = [line.time for line in scene.journal.all("sent")]
    pauses = [b - a for a, b in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.5, abs=0.05)
    assert pauses[3] == pytest.approx(4.0, abs=0.05)
    assert scene.observer.troubles == {}


def test_failing_longer_than_give_up_after_is_fatal_without_commit() -> None:
    scene = started(delivery=Delivery(give_up_after=5.0))
    scene.sink.fate = lambda: SendFate(unwritten=1.0)
    scene.fill(P0, 2)
    with pytest.raises(Fatal, match=r"delivery\.give_up_after"):
        scene.break_down()
    assert scene.committed(P0) == 0


def test_an_outage_without_a_limit_ends_when_the_brokers_are_back() -> None:
    scene = started()
    scene.sink.fate = lambda: SendFate(unwritten=1.0)
    scene.fill(P0, 50)
    started_at = scene.clock.now()
    scene.until(lambda: scene.clock.now() > started_at + 600.0, limit=200_000)
    assert scene.journal.count("launched") == 3  # memory stays flat
    scene.sink.fate = SendFate
    scene.until(scene.settled)


def test_verdicts_are_taken_and_time_passes_while_a_repeat_is_awaited() -> None:
    scene = started()
    fates(scene, *[SendFate(unwritten=1.0)] * 3)
    scene.fill(P0, 2)
    scene.until(lambda: scene.observer.counts["send_failed"] == 3)
    scene.fill(P0, 2)
    scene.until(lambda: scene.journal.count("launched") == 2)
    steps, began = scene.observer.steps, scene.clock.now()
    scene.until(scene.settled)
    assert scene.observer.steps - steps < 60 + 110 * (scene.clock.now() - began)


def test_a_refused_commit_is_tried_again_with_what_is_finished_by_then() -> None:
    scene = started(interval=1.0)
    answers = iter([CommitFate(accepted=False)])
    scene.source.commit_fate = lambda: next(answers, CommitFate())
    scene.fill(P0, 2)
    scene.until(lambda: scene.observer.counts["commit_refused"] == 1)
    assert scene.pipeline.uncommitted == 2
    scene.fill(P0, 2)
    scene.until(scene.settled)
    first, second = scene.journal.all("commit")[:2]
    assert second.detail[0] == {P0: 4}
    assert second.time - first.time >= 1.0


def test_a_commit_that_the_client_refuses_at_once_does_not_spin() -> None:
    scene = started(max_uncommitted=2, interval=1.0)
    scene.source.commit_fate = lambda: CommitFate(arrives=float("inf"), accepted=False)
    scene.fill(P0, 20)
    began = scene.clock.now()
    scene.until(lambda: scene.clock.now() > began + 10.0)
    assert 8 <= scene.journal.count("commit") <= 12


def test_a_commit_that_is_never_answered_is_asked_for_again_in_the_end() -> None:
    scene = started()
    never = float("inf")
    answers = iter([CommitFate(arrives=never, answered=never)])
    scene.source.commit_fate = lambda: next(answers, CommitFate())
    scene.fill(P0, 2)
    scene.until(scene.settled, limit=20_000)
    first, second = scene.journal.all("commit")
    assert second.time - first.time == pytest.approx(90.0, abs=1.0)
    assert scene.observer.counts["commit_refused"] == 1

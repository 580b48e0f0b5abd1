"""Repeats of an event on their way through the loop. The first character of a text is the event's id."""

from __future__ import annotations

from consumer.settings import Dedupe

from .world.device import NEVER
from .world.scene import P0, P1, Scene, settings
from .world.sink import SendFate
from .world.source import CommitFate


def started(**options: object) -> Scene:
    scene = Scene(settings(dedupe=Dedupe(enabled=True), **options))  # type: ignore[arg-type]
    scene.join(P0, P1)
    return scene


def test_a_repeat_is_published_in_its_place_without_the_device() -> None:
    scene = started(count=4)
    scene.produce(P0, b"a")
    scene.until(scene.settled)
    scene.produce(P1, b"b", b"a", b"c")
    scene.until(scene.settled)
    assert scene.written(P1) == [0, 1, 2]
    assert [line.detail for line in scene.journal.all("submitted")] == [(1,), (2,)]
    assert scene.broker.repeats == 1


def test_a_batch_of_repeats_alone_never_reaches_the_device() -> None:
    scene = started()
    scene.produce(P0, b"a")
    scene.until(scene.settled)
    scene.produce(P1, b"a", b"a")
    scene.until(scene.settled)
    assert scene.journal.count("submitted") == 1
    assert scene.broker.repeats == 2


def test_two_copies_under_way_at_once_are_both_scored() -> None:
    scene = started(count=1)
    scene.produce(P0, b"a")
    scene.produce(P1, b"a")
    scene.until(scene.settled)
    assert (scene.broker.repeats, scene.journal.count("submitted")) == (0, 2)


def test_nothing_is_remembered_before_the_result_is_acknowledged() -> None:
    scene = started()
    scene.sink.fate = lambda: SendFate(answers=NEVER)  # type: ignore[assignment,return-value]
    scene.produce(P0, b"a")
    scene.until(lambda: scene.journal.count("sent") == 1)
    scene.step(20)
    assert scene.store.entries == {}


def test_a_batch_that_failed_is_remembered_once_it_was_sent_again() -> None:
    scene = started()
    fates = [SendFate(unwritten=1.0), SendFate()]
    scene.sink.fate = lambda: fates.pop(0)  # type: ignore[assignment,return-value]
    scene.produce(P0, b"a")
    scene.until(lambda: scene.journal.count("failed") == 1)
    assert scene.store.entries == {}
    scene.until(scene.settled)
    assert len(scene.store.entries) == 1


def test_what_a_dead_process_had_remembered_but_not_committed_is_scored_again() -> None:
    scene = started()
    scene.source.commit_fate = lambda: CommitFate(accepted=False)
    scene.produce(P0, b"a")
    scene.until(lambda: bool(scene.store.entries))
    scene.source.alive = False
    scene.broker.generation += 1
    scene.boot()
    scene.join(P0, P1, started=False)
    scene.until(lambda: scene.written(P0) == [0, 0])
    assert scene.broker.repeats == 0

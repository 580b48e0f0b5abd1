"""Replicas that stop together make one another's last commits cross a rebalance."""

from __future__ import annotations

import itertools

from .world.scene import P0, P1, Scene, settings
from .world.source import CommitFate


def test_a_last_commit_that_crosses_a_rebalance_is_tried_again() -> None:
    scene = Scene(settings(count=4, interval=1000.0))
    scene.join(P0, P1)
    scene.source.commit_fate = lambda: CommitFate(accepted=False)
    scene.fill(P0, 4)
    scene.until(lambda: scene.journal.count("published") == 1)
    attempts = itertools.count(1)
    scene.source.commit_now_fate = lambda: CommitFate(accepted=next(attempts) == 3)
    scene.stop()
    assert scene.journal.count("commit_now") == 3
    assert scene.committed(P0) == 4

"""Two replicas of a real model: what one computed, the other reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="scoring needs torch")

from consumer.records import Event, Rejection, Score
from consumer.scoring.scorer import ModelScorer, load_scorer
from consumer.settings import RedisSection
from consumer.stores.redis_store import open_scores
from tests.redis.servers import until, valkey
from tests.scoring.conftest import fitted, model, normal_events, scoring

__all__ = ["fitted", "model"]  # fixtures
pytestmark = pytest.mark.torch

_EVENTS = [
    Event("kernel panic: segfault at 7f3a in libc-2.31.so, core dumped", level="error"),
    Event("'; DROP TABLE users; --", truncated=True),
    Event("x" * 3_000),
    Event("worker handed over to user alice in 5 ms " * 40),
    *normal_events(20, seed=9),
]


def _verdicts(scorer: ModelScorer, events: Sequence[Event]) -> Sequence[Score | Rejection]:
    pending = scorer.submit(events)
    assert pending.wait(time.monotonic() + 60)
    return pending.result()


def test_a_second_replica_gives_the_same_scores_bit_by_bit_without_its_device(model: Path) -> None:
    with valkey() as server:
        settings = RedisSection(url=f"redis://127.0.0.1:{server.port}", budget=5.0, timeout=5.0)
        first = load_scorer(scoring(model), 1.0, open_scores(settings))
        computed = _verdicts(first, _EVENTS)
        misses = first.stats().cache_misses
        assert misses > 0
        until(lambda: first.stats().shared.store.written == misses)
        second = load_scorer(scoring(model), 1.0, open_scores(settings))
        warm = second.stats().device_batches
        shared = _verdicts(second, _EVENTS)
        stats = second.stats()
        strict = load_scorer(scoring(model, false_alarm_rate=0.2), 1e9, open_scores(settings))
        others = _verdicts(strict, _EVENTS)
        for scorer in (first, second, strict):
            scorer.close()
    assert msgspec.msgpack.encode(shared) == msgspec.msgpack.encode(computed)
    assert (stats.shared.hits, stats.cache_misses, stats.device_batches) == (misses, 0, warm)
    assert stats.known + stats.repeats + stats.cache_hits + stats.shared.hits == len(_EVENTS)
    # Threshold and explanation belong to the replica that reads.
    assert any(isinstance(score, Score) and score.tokens for score in shared)
    assert all(isinstance(score, Score) and not score.tokens and score.threshold < 1 for score in others)

"""A scorer that costs what every scorer costs and computes nothing: normalise, look up, answer in full.

Used through `scoring.factory`, so the service takes it for a user's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from consumer.flight import Settled
from consumer.normalize import Normalizer
from consumer.ports import ModelInfo, ScorerStats
from consumer.records import Event, Score
from consumer.scoring.cache import Cache, digest
from consumer.settings import Scoring

_SHORT = 256  # characters up to which a text is its own key, as in the real scorer
_PARTS = {"language-model": 1.25, "novelty": 0.75, "severity": 0.5}


class NullScorer:
    """Every new text gets the same score in an object of its own, kept like a real one."""

    model = ModelInfo("null", "0" * 64)

    def __init__(self, cache_size: int) -> None:
        self._normalizer = Normalizer()
        self._cache: Cache[str | bytes, Score] = Cache(cache_size)
        self._asked = self._distinct = self._missed = 0

    def submit(self, events: Sequence[Event]) -> Settled:
        items = [self._normalizer.model_input(event.level, event.message) for event in events]
        found = {item: self._look_up(item) for item in dict.fromkeys(items)}
        self._asked += len(items)
        self._distinct += len(found)
        return Settled([found[item] for item in items])

    def _look_up(self, item: str) -> Score:
        key = item if len(item) <= _SHORT else digest(item)
        known = self._cache.get(key)
        if known is None:
            self._missed += 1
            known = Score(1.25, False, 2.0, dict(_PARTS))
            self._cache.put(key, known)
        return known

    def stats(self) -> ScorerStats:
        repeats = self._asked - self._distinct
        return ScorerStats(
            repeats=repeats, cache_hits=self._distinct - self._missed, cache_misses=self._missed
        )

    def self_test(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing to let go of."""


def make_scorer(scoring: Scoring) -> NullScorer:
    return NullScorer(scoring.cache_size)

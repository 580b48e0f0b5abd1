"""A scorer that needs no model: the score is a pure function of the text, so a test can compute it too.

Marked texts misbehave: POISON makes the batch that holds it fail, as a device would; NO_NUMBER gets NaN.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Sequence

from consumer.errors import ScorerFailed
from consumer.ports import ModelInfo, Pending, Scorer, ScorerStats
from consumer.records import Event, Rejection, Score

POISON = "this text breaks the scorer"
NO_NUMBER = "this text has no score"
THRESHOLD = 2.0
VERSION = "0" * 16


def score_of(text: str) -> float:
    """In [0, 4), from the text alone."""
    return zlib.crc32(text.encode()) / 2**30


class TextScorer(Scorer):
    """`seconds` is how long a batch is on the device; it elapses without using the CPU."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._free_at = 0.0

    @property
    def model(self) -> ModelInfo:
        return ModelInfo("text-crc", VERSION)

    def submit(self, events: Sequence[Event]) -> Pending:
        self._free_at = max(time.monotonic(), self._free_at) + self._seconds
        return _Scored(events, self._free_at)

    def stats(self) -> ScorerStats:
        return ScorerStats()

    def self_test(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing is held."""


class _Scored(Pending):
    def __init__(self, events: Sequence[Event], ready_at: float) -> None:
        self._events, self._ready_at = events, ready_at

    def done(self) -> bool:
        return time.monotonic() >= self._ready_at

    def wait(self, deadline: float) -> bool:
        time.sleep(max(0.0, min(deadline, self._ready_at) - time.monotonic()))
        return self.done()

    def result(self) -> Sequence[Score | Rejection]:
        if any(POISON in event.message for event in self._events):
            raise ScorerFailed("a text broke the scorer")
        return [_score(event) for event in self._events]


def _score(event: Event) -> Score:
    score = math.nan if NO_NUMBER in event.message else score_of(event.message)
    return Score(score, score >= THRESHOLD, THRESHOLD)

"""A scorer that is one synchronous function, made into what the pipeline calls. docs/own-model.md."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from consumer.errors import ConsumerError, Fatal
from consumer.ports import ModelInfo, Pending, ScorerStats
from consumer.records import Event, Rejection, Score
from consumer.scoring.worker import Worker

REFERENCE = Event("a record like any other", level="info")
_TOLERANCE = 1e-2  # how far a score may move with the neighbours of its text in a device batch


class SimpleScorer(Protocol):
    """What a factory may return instead of a full ports.Scorer. One thread calls `score`.

    Beside these it may have `reference: Event`, scored when the device is in doubt, `device: str` for
    the metrics, and `close()`.
    """

    name: str
    version: str  # another one whenever the same text may get another score
    threshold: float  # a number from here up is an anomaly

    def score(self, events: Sequence[Event]) -> Sequence[float | Score | Rejection]:
        """One answer for each event, in order; a number is a score, bigger is odder. May block. What it
        raises fails the batch, which is then halved until the record that does it stands alone."""
        ...


class Simple:
    """A Scorer around a SimpleScorer: its work is done on a thread of its own, one batch at a time.

    Scores the reference event when it is made (blocks at most `stall_after` seconds) and raises what
    that raises, or Fatal.
    """

    def __init__(self, inner: SimpleScorer, stall_after: float) -> None:
        self._inner = inner
        self._stall_after = stall_after
        self._reference: Event = getattr(inner, "reference", REFERENCE)
        self._worker = Worker("own-scorer")
        self._texts = self._batches = 0
        self._expected = self._probe()

    @property
    def model(self) -> ModelInfo:
        return ModelInfo(self._inner.name, self._inner.version)

    def submit(self, events: Sequence[Event]) -> Pending:
        self._texts += len(events)
        return self._worker.submit(lambda: self._counted(events))

    def stats(self) -> ScorerStats:
        device = str(getattr(self._inner, "device", "cpu"))
        return ScorerStats(device=device, cache_misses=self._texts, device_batches=self._batches)

    def self_test(self) -> bool:
        try:
            return math.isclose(self._probe(), self._expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        except ConsumerError:
            return False

    def close(self) -> None:
        self._worker.close()
        close: Callable[[], Any] | None = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def _probe(self) -> float:
        """The score of the reference event, asked for twice so that a lone number is noticed."""
        task = self._worker.submit(lambda: self._verdicts([self._reference, self._reference]))
        if not task.wait(time.monotonic() + self._stall_after):
            raise Fatal(f"no score for the reference event within {self._stall_after:g} s")
        verdict = task.result()[0]
        if not isinstance(verdict, Score) or not math.isfinite(verdict.score):
            raise Fatal(f"the reference event gets {verdict!r}, not a finite score")
        return verdict.score

    def _counted(self, events: Sequence[Event]) -> list[Score | Rejection]:
        """In the worker. A batch counts once it has come back: one that hangs is no progress."""
        try:
            return self._verdicts(events)
        finally:
            self._batches += 1

    def _verdicts(self, events: Sequence[Event]) -> list[Score | Rejection]:
        """In the worker."""
        answers = self._inner.score(events)
        if len(answers) != len(events):
            raise Fatal(f"scoring.factory: score() returned {len(answers)} answers for {len(events)} events")
        return [self._verdict(event, answer) for event, answer in zip(events, answers, strict=True)]

    def _verdict(self, event: Event, answer: float | Score | Rejection) -> Score | Rejection:
        if isinstance(answer, Score | Rejection):
            return answer
        score, threshold = float(answer), self._inner.threshold
        return Score(score, score >= threshold, threshold, truncated=event.truncated)

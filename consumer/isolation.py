"""Finding the records that make a scorer fail, so that their neighbours are scored all the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from consumer.errors import Fatal, ScorerFailed
from consumer.ports import ModelInfo, Pending, Scorer, ScorerStats
from consumer.records import Event, Reason, Rejection, Score


class Isolating:
    """A Scorer around a Scorer: a batch that fails is halved until the poison records stand alone.

    A record that fails alone is a Rejection only if the reference text still gets its stored score
    right after; otherwise, or after `max_failures` poison records in a row, `result()` raises Fatal.
    """

    def __init__(self, scorer: Scorer, max_failures: int) -> None:
        self._scorer = scorer
        self._max_failures = max_failures
        self._failures = 0

    @property
    def model(self) -> ModelInfo:
        return self._scorer.model

    def submit(self, events: Sequence[Event]) -> Pending:
        return _Search(self, events)

    def self_test(self) -> bool:
        return self._scorer.self_test()

    def stats(self) -> ScorerStats:
        return self._scorer.stats()

    def close(self) -> None:
        self._scorer.close()

    def start(self, events: Sequence[Event]) -> Pending:
        return self._scorer.submit(events)

    def succeeded(self) -> None:
        self._failures = 0

    def condemn(self, why: str) -> Rejection:
        """A record failed alone. Blocks for one reference text. Raises Fatal when it is not the record."""
        self._failures += 1
        if self._failures > self._max_failures:
            raise Fatal(
                f"{self._failures} records in a row made the scorer fail (scoring.max_failures); last: {why}"
            )
        if not self._scorer.self_test():
            raise Fatal(
                "The scorer fails and the model's reference text does not get its stored score either: the "
                f"device or the model is broken, not the record ({why})."
            )
        return Rejection(Reason.POISON, f"the scorer fails on this record alone: {why}"[:300])


class _Search:
    """A Pending that works through ranges of its events: one of them is on the device at a time."""

    def __init__(self, owner: Isolating, events: Sequence[Event]) -> None:
        self._owner = owner
        self._events = events
        self._verdicts: list[Score | Rejection | None] = [None] * len(events)
        self._todo: list[tuple[int, int]] = []
        self._fatal: Fatal | None = None
        self._range = (0, len(events))
        self._pending: Pending | None = owner.start(events) if events else None

    def done(self) -> bool:
        while self._pending is not None and self._pending.done():
            self._collect(self._pending)
        return self._pending is None

    def wait(self, deadline: float) -> bool:
        while self._pending is not None and self._pending.wait(deadline):
            self._collect(self._pending)
        return self._pending is None

    def result(self) -> Sequence[Score | Rejection]:
        if self._fatal is not None:
            raise self._fatal
        assert self._pending is None
        return [v for v in self._verdicts if v is not None]

    def _collect(self, pending: Pending) -> None:
        """Take the answer for the current range, then put the next range on the device."""
        try:
            self._settle(pending)
        except Fatal as error:
            self._fatal = error
            self._todo.clear()
        self._pending = None
        if self._todo:
            start, end = self._range = self._todo.pop()
            self._pending = self._owner.start(self._events[start:end])

    def _settle(self, pending: Pending) -> None:
        start, end = self._range
        try:
            self._verdicts[start:end] = self._checked(pending.result(), end - start)
            self._owner.succeeded()
        except ScorerFailed as error:
            if end - start == 1:
                self._verdicts[start] = self._owner.condemn(str(error))
                return
            middle = (start + end) // 2
            self._todo += [(middle, end), (start, middle)]

    @staticmethod
    def _checked(verdicts: Sequence[Score | Rejection], asked: int) -> Sequence[Score | Rejection]:
        if len(verdicts) != asked:
            raise Fatal(f"The scorer returned {len(verdicts)} verdicts for {asked} events.")
        for verdict in verdicts:
            if isinstance(verdict, Score) and not math.isfinite(verdict.score):
                raise ScorerFailed(f"the score is {verdict.score}")
        return verdicts

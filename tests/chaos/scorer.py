"""A scorer for `scoring.factory` that needs no model and misbehaves when it is ordered to.

Its score is that of tests/kafka/text_scorer.py, so a checker can compute it. Marked texts always fail.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from consumer.records import Event
from consumer.settings import Scoring
from tests.chaos.orders import Orders
from tests.kafka.entry import variable
from tests.kafka.text_scorer import NO_NUMBER, POISON, THRESHOLD, VERSION, score_of

MAX_POLL_INTERVAL, SLOW, STALL_AFTER = 10.0, 11.5, 14.0
"""Seconds, in the order that each has to be longer than the one before."""

_SECONDS = 0.005
_MEMORY = 4  # records that fit while memory is short


def make(_: Scoring) -> MoodyScorer:
    return MoodyScorer(Orders(Path(variable("ARMED_BY"))))


class MoodyScorer:
    """A consumer.scoring.simple.SimpleScorer; a batch takes `seconds`."""

    name, version, threshold = "text-crc", VERSION, THRESHOLD

    def __init__(self, orders: Orders, seconds: float = _SECONDS) -> None:
        self._orders, self._seconds = orders, seconds

    def score(self, events: Sequence[Event]) -> Sequence[float]:
        time.sleep(self._seconds)
        mood = MOODS.get(self._orders.given("scorer"))
        if mood is not None:
            self._orders.obey()
            return mood(events)
        return _scores(events)


def _scores(events: Sequence[Event]) -> list[float]:
    if any(POISON in event.message for event in events):
        raise RuntimeError("a text broke the scorer")
    return [math.nan if NO_NUMBER in event.message else score_of(event.message) for event in events]


def _slow(events: Sequence[Event]) -> list[float]:
    time.sleep(SLOW)
    return _scores(events)


def _hang(events: Sequence[Event]) -> list[float]:
    time.sleep(86_400.0)
    return _scores(events)


def _out_of_memory(events: Sequence[Event]) -> list[float]:
    if len(events) > _MEMORY:
        raise MemoryError(f"no room for {len(events)} records")
    return _scores(events)


def _nan(events: Sequence[Event]) -> list[float]:
    return [math.nan] * len(events)


def _raise(events: Sequence[Event]) -> list[float]:
    raise RuntimeError(f"the device failed on {len(events)} records")


MOODS: Mapping[str, Callable[[Sequence[Event]], list[float]]] = {
    "slow": _slow,
    "hang": _hang,
    "out of memory": _out_of_memory,
    "nan": _nan,
    "raise": _raise,
}

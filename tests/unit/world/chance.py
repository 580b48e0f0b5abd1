"""What a history leaves to chance: settings, records, the fate of sends and commits, the device."""

from __future__ import annotations

import random
from collections.abc import Callable

from consumer.settings import (
    Batch,
    Commit,
    DeadLetter,
    Dedupe,
    Delivery,
    Kafka,
    PipelineSection,
    Processing,
    Scoring,
    Settings,
    Shutdown,
    Transaction,
)

from .device import NEVER
from .sink import SendFate
from .source import CommitFate
from .transactions import CommitCallFate

_VALUES = (b"a", b"b", None, b"", b"undecodable", b"oversize" + b"x" * 30, b"poison", b"a longer text")
_WEIGHTS = (30, 20, 2, 2, 3, 3, 3, 10)


def some_settings(rng: random.Random, *, exactly_once: bool) -> Settings:
    idle_wait = rng.choice((0.001, 0.01, 0.05))
    return Settings(
        kafka=Kafka(max_poll_interval=12.0),
        batch=Batch(
            count=rng.randint(1, 6),
            byte_size=rng.choice((1, 20, 60, 10_000)),
            max_wait=idle_wait * rng.choice((1, 3, 10)),
            idle_wait=idle_wait,
        ),
        pipeline=PipelineSection(depth=rng.randint(1, 4)),
        processing=Processing(guarantee="exactly-once" if exactly_once else "at-least-once"),
        transaction=Transaction(
            max_time=rng.choice((0.005, 0.05, 0.3)), max_records=rng.choice((1, 5, 40)), timeout=10.0
        ),
        commit=Commit(interval=rng.choice((0.02, 0.2, 1.0)), max_uncommitted=rng.choice((1, 3, 8, 30))),
        delivery=Delivery(revoke_budget=rng.choice((0.3, 1.5))),
        shutdown=Shutdown(drain_timeout=rng.choice((0.3, 1.5))),
        scoring=Scoring(stall_after=rng.choice((6.0, 9.0)), max_failures=10**9),
        dead_letter=DeadLetter(max_run=10**9, ratio_window=10**9),
        dedupe=Dedupe(enabled=rng.random() < 0.5),
    )


class Chance:
    """Fates, drawn from one generator. `trouble`: how often something goes wrong; `calm()` ends it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.trouble = rng.choice((0.0, 0.05, 0.3))
        self.brokers_down = False
        self.calm = False
        self.refused_now = 0  # commits that were waited for and refused

    def calm_down(self) -> None:
        self.calm, self.brokers_down = True, False

    def change_brokers(self) -> None:
        self.brokers_down = not self.brokers_down and self.rng.random() < 0.3

    def value(self) -> bytes | None:
        return self.rng.choices(_VALUES, _WEIGHTS)[0]

    def device_speed(self) -> Callable[[], float]:
        rng = self.rng
        longest = rng.choice((0.004, 0.004, 0.02, 0.2, 5.0, NEVER if rng.random() < 0.3 else 5.0))
        return lambda: longest if longest == NEVER else rng.uniform(0.0, longest)

    def send_fate(self) -> SendFate:
        rng = self.rng
        appends, answers = rng.choice((0.0, 0.002, 0.03, 0.5)), rng.choice((0.0, 0.002, 0.03, 0.5))
        if self.calm:
            return SendFate()
        if self.brokers_down:
            return SendFate(appends, answers + 0.5, unwritten=1.0)
        if rng.random() < self.trouble:
            return SendFate(appends, answers, rng.choice((0.0, 0.3, 1.0)), rng.choice((0.0, 0.3)))
        return SendFate(appends, answers)

    def commit_call_fate(self) -> CommitCallFate:
        rng = self.rng
        if self.calm:
            return CommitCallFate()
        seconds = rng.choice((0.0, 0.01, 0.1))
        if self.brokers_down or rng.random() < self.trouble:
            return CommitCallFate(seconds, rng.random() < 0.6, rng.choice((0.0, 0.05, 0.5, 3.0)))
        return CommitCallFate(seconds)

    def commit_fate(self) -> CommitFate:
        rng = self.rng
        if self.calm:
            return CommitFate()
        arrives, answered = rng.choice((0.001, 0.05, 0.4)), rng.choice((0.0, 0.001, 0.05))
        if self.brokers_down or rng.random() < self.trouble:
            never = rng.choice((arrives, arrives, arrives, NEVER))
            return CommitFate(never, rng.random() < 0.2, NEVER if rng.random() < 0.05 else answered)
        return CommitFate(arrives, True, answered)

    def commit_now_fate(self) -> CommitFate:
        accepted = self.calm or self.rng.random() >= self.trouble
        if not accepted:
            self.refused_now += 1
        return CommitFate(self.rng.choice((0.001, 0.2)), accepted, 0.001)

"""The tests' entry point, with orders that come while it runs: `python -m tests.chaos.entry run …`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from consumer import cli_run
from consumer.errors import ScorerFailed
from consumer.ports import ModelInfo, Pending, Scorer, ScorerStats
from consumer.records import Event, Rejection, Score
from consumer.settings import Settings
from tests.chaos.orders import Orders
from tests.kafka.entry import run_command, variable
from tests.kafka.eventlog import EventLog
from tests.kafka.failpoint import Boundary, Failpoint
from tests.kafka.text_scorer import NO_NUMBER, POISON

_load = cli_run._load


def main() -> None:
    log = EventLog(Path(variable("EVENT_LOG")))
    failpoint = OrderedFailpoint(Orders(Path(variable("ARMED_BY"))), log)
    run_command(log, failpoint, load)


def load(settings: Settings) -> Scorer:
    """What the command loads; a fitted model refuses the marked texts as the test scorer does."""
    scorer = _load(settings)
    return scorer if settings.scoring.factory else _Refusing(scorer)


class OrderedFailpoint(Failpoint):
    """Is set by an order."""

    def __init__(self, orders: Orders, log: EventLog) -> None:
        super().__init__("", None, log)
        self._orders = orders

    def passed(self, boundary: Boundary, delay: float = 0.0) -> None:
        self.set(self._orders.given("failpoint"))
        super().passed(boundary, delay)


class _Refusing(Scorer):
    """Fails on marked texts; else the scorer inside."""

    def __init__(self, inner: Scorer) -> None:
        self._inner = inner

    @property
    def model(self) -> ModelInfo:
        return self._inner.model

    def submit(self, events: Sequence[Event]) -> Pending:
        marked = any(mark in event.message for event in events for mark in (POISON, NO_NUMBER))
        pending = self._inner.submit(events)
        return _Refused(pending) if marked else pending

    def stats(self) -> ScorerStats:
        return self._inner.stats()

    def self_test(self) -> bool:
        return self._inner.self_test()

    def close(self) -> None:
        self._inner.close()


class _Refused(Pending):
    def __init__(self, inner: Pending) -> None:
        self._inner = inner

    def done(self) -> bool:
        return self._inner.done()

    def wait(self, deadline: float) -> bool:
        return self._inner.wait(deadline)

    def result(self) -> Sequence[Score | Rejection]:
        raise ScorerFailed("a text broke the scorer")


if __name__ == "__main__":
    main()

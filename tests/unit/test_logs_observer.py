"""What the loop tells becomes log lines: few, with an action, and without payload; and the fan-out."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from consumer.ops.fan_out import EVENTS, FanOut
from consumer.ops.limiter import Limiter
from consumer.ops.log_observer import LogObserver
from consumer.ports import Observer
from consumer.records import ClosedBy, Entry, Event, MicroBatch, Output, Record, Score, TopicPartition

P0 = TopicPartition("events", 0)
PAYLOAD = "payload-canary"
ENTRY = Entry(Record("events", 0, 7, PAYLOAD.encode(), key=PAYLOAD.encode()), Event(PAYLOAD))
BATCH = MicroBatch((ENTRY,), ClosedBy.COUNT, 0.0)


@pytest.fixture
def observer(caplog: pytest.LogCaptureFixture) -> LogObserver:
    caplog.set_level(logging.DEBUG, "consumer")
    return LogObserver(Limiter())


EVERYTHING: dict[str, Callable[[Observer], None]] = {
    "launched": lambda o: o.launched(BATCH, 1.0),
    "scored": lambda o: o.scored(BATCH, 0.1),
    "published": lambda o: o.published([Output(ENTRY, Score(1.0, False, 2.0))], 0.1),
    "committed": lambda o: o.committed(2),
    "rebalanced": lambda o: o.rebalanced("assigned", [P0]),
    "send_failed": lambda o: o.send_failed(1, "_MSG_TIMED_OUT"),
    "commit_refused": lambda o: o.commit_refused(1, "ILLEGAL_GENERATION"),
    "given_up": lambda o: o.given_up([P0], 3),
    "skipped": lambda o: o.skipped(P0, 3),
    "trouble": lambda o: o.trouble("brokers", "all brokers down"),
}


@pytest.mark.parametrize("event", EVERYTHING)
def test_each_event_is_one_line_with_an_action_a_constant_message_and_no_payload(
    event: str, observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    EVERYTHING[event](observer)
    (line,) = caplog.records
    assert vars(line)["action"]
    assert line.args == ()
    assert PAYLOAD not in str(vars(line))


def test_steps_polls_and_positions_are_silent(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    observer.stepped(1.0)
    observer.polled(1_000, 0.1, 1.0)
    observer.positions({}, 1.0)
    observer.entered_call("commit", 1.0)
    observer.left_call(1.0)
    assert caplog.records == []


def test_batches_are_debug_rebalances_info_and_failures_warnings(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    for tell in EVERYTHING.values():
        tell(observer)
    levels = {vars(r)["action"]: r.levelname for r in caplog.records}
    assert levels == {
        "batch_launched": "DEBUG",
        "batch_scored": "DEBUG",
        "batch_published": "DEBUG",
        "committed": "DEBUG",
        "partitions_assigned": "INFO",
        "send_failed": "WARNING",
        "commit_refused": "WARNING",
        "given_up": "WARNING",
        "offsets_skipped": "WARNING",
        "trouble": "WARNING",
    }


def test_failures_in_a_row_are_one_line_in_ten_seconds_with_the_number_held_back(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(25):
        observer.stepped(float(second))
        observer.send_failed(1, "_MSG_TIMED_OUT")
    assert [vars(r).get("held_back") for r in caplog.records] == [None, 9, 9]


def test_kinds_are_limited_apart_from_each_other(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    observer.trouble("brokers", "down")
    observer.trouble("results topic", "missing")
    observer.commit_refused(1, "no")
    observer.trouble("brokers", "down")
    assert len(caplog.records) == 3


def test_recovery_is_told_once_and_only_after_a_trouble_that_was_told(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    observer.trouble("brokers", None)
    assert caplog.records == []
    for _ in range(5):
        observer.trouble("brokers", "down")
        observer.trouble("brokers", None)
    assert [vars(r)["action"] for r in caplog.records] == ["trouble", "recovered"]


def test_a_rebalance_of_a_thousand_partitions_is_a_short_line(
    observer: LogObserver, caplog: pytest.LogCaptureFixture
) -> None:
    observer.rebalanced("lost", [TopicPartition("events", i) for i in range(1_000)])
    (line,) = caplog.records
    assert vars(line)["count"] == 1_000
    assert vars(line)["partitions"].endswith("and 980 more")
    assert line.levelname == "WARNING"


class Noting(Observer):
    """Notes every event that reaches it; made by the loop below for all of them."""

    def __init__(self) -> None:
        self.told: list[str] = []


def _noting(event: str) -> Callable[..., None]:
    return lambda self, *args, **kwargs: self.told.append(event)


for _event in EVENTS:
    setattr(Noting, _event, _noting(_event))


class Failing(Observer):
    def stepped(self, now: float) -> None:
        raise RuntimeError("broken")

    def committed(self, partitions: int) -> None:
        raise RuntimeError("broken too")


def test_the_fan_out_tells_everything_to_everybody_in_order() -> None:
    first, second = Noting(), Noting()
    both = FanOut([first, second])
    for tell in EVERYTHING.values():
        tell(both)
    both.stepped(now=1.0)
    assert first.told == second.told == [*EVERYTHING, "stepped"]


def test_every_event_of_the_observer_is_forwarded() -> None:
    events = {name for name in vars(Observer) if not name.startswith("_")}
    assert set(EVENTS) == events
    assert all(vars(FanOut).get(event) for event in events)


def test_an_observer_that_fails_neither_raises_nor_hides_the_event_from_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    after = Noting()
    both = FanOut([Failing(), after])
    for second in range(100):
        both.stepped(float(second))
    both.committed(1)
    assert after.told == ["stepped"] * 100 + ["committed"]
    assert [vars(r)["event"] for r in caplog.records] == ["stepped", "committed"]

"""When the process must stop, and when it must go at once: with a clock of the test's own."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from consumer.ops.watch import Limits, StopSignals, System, Watch

LIMITS = Limits(drain_timeout=25.0, max_poll_interval=300.0)


def watch(uncommitted: int = 7) -> Watch:
    return Watch(LIMITS, lambda: uncommitted)


def test_without_a_signal_and_without_a_call_it_never_goes() -> None:
    w = watch()
    assert not w.requested
    assert w.must_go(1e9) is None


def test_the_first_signal_asks_to_stop_and_leaves_the_drain_its_time() -> None:
    w = watch()
    w.signalled(100.0)
    assert w.requested
    assert w.must_go(124.9) is None
    line = w.must_go(125.0)
    assert line is not None
    assert "shutdown.drain_timeout" in line
    assert "7 records uncommitted" in line
    assert "\n" not in line


def test_the_second_signal_goes_at_once_and_says_how_much_is_uncommitted() -> None:
    w = watch(uncommitted=41)
    w.signalled(100.0)
    w.signalled(100.1)
    line = w.must_go(100.1)
    assert line is not None
    assert line.startswith("second signal")
    assert "41 records uncommitted" in line


def test_a_third_signal_changes_nothing() -> None:
    w = watch()
    for at in (100.0, 100.1, 100.2):
        w.signalled(at)
    assert w.must_go(100.2) is not None


def test_a_call_within_the_poll_interval_is_left_alone_and_beyond_it_ends_the_process() -> None:
    w = watch()
    w.entered_call("commit", 10.0)
    assert w.must_go(309.9) is None
    line = w.must_go(310.0)
    assert line is not None
    assert line.startswith("`commit` has not returned for 300 s (kafka.max_poll_interval)")


def test_a_call_that_returned_is_forgotten() -> None:
    w = watch()
    w.entered_call("commit", 10.0)
    w.left_call(20.0)
    assert w.must_go(1_000.0) is None
    w.entered_call("close", 900.0)
    assert w.must_go(1_000.0) is None


def test_a_blocking_call_does_not_lengthen_the_drain_deadline() -> None:
    w = watch()
    w.entered_call("commit", 10.0)
    w.signalled(20.0)
    line = w.must_go(45.0)
    assert line is not None
    assert "drain_timeout" in line


def test_a_count_that_cannot_be_had_does_not_keep_the_process() -> None:
    def broken() -> int:
        raise RuntimeError("deque mutated during iteration")

    w = Watch(LIMITS, broken)
    w.signalled(0.0)
    w.signalled(0.0)
    assert "an unknown number of records" in (w.must_go(0.0) or "")


class Recorder:
    """Stands in for the process: its clock is set by the test, its end is only noted."""

    def __init__(self) -> None:
        self.time = 0.0
        self.exits: list[str] = []
        self.armed: list[float] = []

    @property
    def system(self) -> System:
        return System(lambda: self.time, self.exits.append, self.armed.append)


def send(stop: StopSignals, number: signal.Signals) -> None:
    """What the C-level handler does the moment a signal arrives."""
    stop.wakeup.send(bytes([number]))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def stop(recorder: Recorder) -> Iterator[StopSignals]:
    signals = StopSignals(LIMITS, lambda: 3, recorder.system)
    yield signals
    signals.close()


def test_signals_reach_the_thread_through_the_socket_in_order(recorder: Recorder, stop: StopSignals) -> None:
    stop.tick(0.0)
    assert not stop.requested
    send(stop, signal.SIGTERM)
    stop.tick(0.0)
    assert stop.requested
    assert recorder.exits == []
    send(stop, signal.SIGINT)
    stop.tick(0.0)
    assert len(recorder.exits) == 1
    assert "second signal" in recorder.exits[0]


def test_the_last_resort_is_armed_once_and_lies_behind_the_drain_deadline(
    recorder: Recorder, stop: StopSignals
) -> None:
    send(stop, signal.SIGTERM)
    send(stop, signal.SIGTERM)
    stop.tick(0.0)
    (armed,) = recorder.armed
    assert armed > LIMITS.drain_timeout


def test_other_signals_are_not_counted(stop: StopSignals) -> None:
    send(stop, signal.SIGCHLD)
    stop.tick(0.0)
    assert not stop.requested


def test_the_deadline_is_noticed_without_any_further_signal(recorder: Recorder, stop: StopSignals) -> None:
    send(stop, signal.SIGTERM)
    stop.tick(0.0)
    recorder.time = 25.0
    stop.tick(0.0)
    assert "drain_timeout" in recorder.exits[0]

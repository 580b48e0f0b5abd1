"""Signals and deadlines with real processes: one that runs Python, one that hangs in C, one that hangs in C
and holds the interpreter's lock, one that had threads before it took over its signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

Child = subprocess.Popen[str]
Start = Callable[[str], Child]

HEAD = """
import ctypes, sys, threading, time
idle = threading.Thread(target=threading.Event().wait, daemon=True)
idle.start()  # as numpy's: started before, with all signals open
from consumer.ops import watch
watch._LAST_RESORT = 0.5
stop = watch.StopSignals(watch.Limits({drain}, {poll}), lambda: 42)
stop.start()
def hang(libc):
    mutex = ctypes.create_string_buffer(128)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)  # for ever; no signal interrupts it
print("ready", flush=True)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    children: list[Child] = []

    def begin(body: str, drain: float = 60.0, poll: float = 60.0) -> Child:
        text = HEAD.format(drain=drain, poll=poll) + textwrap.dedent(body)
        child = subprocess.Popen(
            [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    yield begin
    for child in children:
        child.kill()
        child.communicate()


def end(child: Child) -> tuple[int, str, str]:
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


LOOP = """
while not stop.requested:
    time.sleep(0.01)
print("drained", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_loop_finish_and_the_process_exit_with_0(
    start: Start, number: signal.Signals
) -> None:
    child = start(LOOP)
    child.send_signal(number)
    assert end(child) == (0, "drained\n", "")


def test_a_second_signal_ends_a_process_that_is_still_draining(start: Start) -> None:
    child = start(LOOP + "print(flush=True)\ntime.sleep(600)\n")
    child.send_signal(signal.SIGTERM)
    assert child.stdout is not None
    assert child.stdout.readline() == "drained\n"
    child.send_signal(signal.SIGINT)
    code, _, err = end(child)
    assert code == 1
    assert err.startswith("consumer: second signal")
    assert "42 records uncommitted" in err
    assert err.count("\n") == 1


def test_a_main_thread_that_hangs_in_c_is_ended_at_the_drain_deadline(start: Start) -> None:
    child = start("hang(ctypes.CDLL(None))", drain=0.3)
    child.send_signal(signal.SIGTERM)
    code, _, err = end(child)
    assert code == 1
    assert "shutdown.drain_timeout" in err
    assert err.count("\n") == 1


def test_a_second_signal_ends_a_main_thread_that_hangs_in_c(start: Start) -> None:
    child = start(
        """
        def tell():
            while not stop.requested:
                time.sleep(0.01)
            print("noted", flush=True)
        threading.Thread(target=tell, daemon=True).start()
        hang(ctypes.CDLL(None))
        """
    )
    child.send_signal(signal.SIGTERM)
    assert child.stdout is not None
    assert child.stdout.readline() == "noted\n"
    child.send_signal(signal.SIGTERM)
    code, _, err = end(child)
    assert code == 1
    assert "second signal" in err


def test_a_drain_that_hangs_and_holds_the_interpreters_lock_is_ended_by_the_last_resort(start: Start) -> None:
    child = start(LOOP + "time.sleep(0.3)\nhang(ctypes.PyDLL(None))\n", drain=0.5)
    child.send_signal(signal.SIGTERM)
    code, out, err = end(child)
    assert (code, out) == (1, "drained\n")
    assert "Timeout" in err  # with the stack of every thread: this one is worth a bug report


def test_a_blocking_call_beyond_the_poll_interval_ends_the_process_by_itself(start: Start) -> None:
    child = start("stop.entered_call('commit', time.monotonic())\nhang(ctypes.CDLL(None))", poll=0.3)
    code, _, err = end(child)
    assert code == 1
    assert err.startswith("consumer: `commit` has not returned")


def test_a_standard_error_that_nobody_reads_does_not_delay_the_exit() -> None:
    reader, blocked = os.pipe()
    text = HEAD.format(drain=0.3, poll=60) + textwrap.dedent(
        """
        import os
        os.set_blocking(2, False)
        try:
            while True:
                os.write(2, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(2, True)
        print("full", flush=True)
        hang(ctypes.CDLL(None))
        """
    )
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=blocked, text=True)
    try:
        assert child.stdout is not None
        assert [child.stdout.readline() for _ in range(2)] == ["ready\n", "full\n"]
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=60) == 1
    finally:
        child.kill()
        child.communicate()
        os.close(reader)
        os.close(blocked)


def test_closing_gives_the_signals_back(start: Start) -> None:
    child = start("stop.close()\nprint('closed', flush=True)\ntime.sleep(600)")
    assert child.stdout is not None
    assert child.stdout.readline() == "closed\n"
    child.send_signal(signal.SIGTERM)
    assert end(child)[0] == -signal.SIGTERM

"""One daemon thread that computes, one job after another.

A job should be one long operation that releases the interpreter's lock; many short ones would take
turns with the caller's thread and slow both down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import Generic, TypeVar

from consumer.errors import ConsumerError, ScorerFailed

Result = TypeVar("Result")
_LEAVE = 2.0  # seconds


class Task(Generic[Result]):
    """A job on its way; asked by one thread, answered by the worker."""

    def __init__(self, job: Callable[[], Result]) -> None:
        self._job = job
        self._finished = Event()
        self._result: list[Result] = []
        self._error: Exception | None = None

    def done(self) -> bool:
        return self._finished.is_set()

    def wait(self, deadline: float) -> bool:
        """Block until done or `deadline` (time.monotonic); returns done()."""
        return self._finished.wait(max(0.0, deadline - time.monotonic()))

    def result(self) -> Result:
        """Only after done(). Raises ScorerFailed for whatever the job raised."""
        if self._error is not None:
            raise failure(self._error)
        return self._result[0]

    def run(self) -> None:
        """In the worker."""
        try:
            self._result.append(self._job())
        except Exception as error:  # whatever it is, it belongs to this batch
            self._error = error
        self._finished.set()


def failure(error: Exception) -> ConsumerError:
    """What a scorer raises for an exception of whatever kind."""
    if isinstance(error, ConsumerError):
        return error
    failed = ScorerFailed(f"the model failed on this batch with {type(error).__name__}: {error}"[:500])
    failed.__cause__ = error
    return failed


class Worker:
    """Starts with the first job and ends with the process, or with close()."""

    def __init__(self, name: str) -> None:
        self._queue: SimpleQueue[Task[object] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], Result]) -> Task[Result]:
        """Queue a job; never blocks."""
        task = Task(job)
        self._queue.put(task)  # type: ignore[arg-type] # nobody reads a result through the queue
        return task

    def close(self) -> None:
        """End after the jobs queued so far. Waits for that, but not long: a job may hang, and a process
        whose thread is inside the device's library cannot end in an orderly way."""
        self._queue.put(None)
        self._thread.join(_LEAVE)

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            task.run()

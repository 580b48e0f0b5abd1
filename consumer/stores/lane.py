"""One daemon thread that talks to a store, so that no other thread ever waits on a socket."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Errand(Generic[Result]):
    """One call on its way. Whoever waits in vain gives it up, and it is skipped if it did not begin."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._finished = Event()
        self._result: Result | None = None
        self.given_up = False
        self.error: Exception | None = None

    def run(self) -> None:
        """In the lane's thread. Keeps whatever the call raised."""
        if self.given_up:
            return
        try:
            self._result = self._call()
        except Exception as error:  # a store may fail in any way; none of them is ours to die of
            self.error = error
        self._finished.set()

    def wait(self, seconds: float) -> bool:
        """Block at most so long; False when it is given up."""
        self.given_up = not self._finished.wait(seconds)
        return not self.given_up

    def result(self) -> Result:
        """After `wait` returned True. Raises what the call raised."""
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value] # the call's own, None included


class Lane:
    """Runs errands one after the other. `offer` never blocks; the thread dies with the process."""

    def __init__(self, name: str, places: int, at_end: Callable[[], None]) -> None:
        """`places`: errands that may wait. `at_end` runs in the thread, after the last errand."""
        self._at_end = at_end
        self._queue: Queue[Errand[object] | None] = Queue(places)
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def offer(self, errand: Errand[Result]) -> bool:
        """False when there is no place."""
        try:
            self._queue.put_nowait(errand)  # type: ignore[arg-type] # no result is read through the queue
        except Full:
            return False
        return True

    def close(self) -> None:
        """Forget what waits and end after the errand under way. Does not wait for it."""
        while True:
            try:
                self._queue.get_nowait()
            except Empty:
                break
        self._queue.put_nowait(None)

    def _work(self) -> None:
        while (errand := self._queue.get()) is not None:
            errand.run()
        with contextlib.suppress(Exception):  # nobody is left to be told
            self._at_end()

"""Asks replicas for their metrics while they work, without being in anybody's way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Final

from consumer.demo.figures import Figures, Reading, Readings, figures_of

_EVERY: Final = 1.0  # seconds from the end of one round to the next
_AGAIN: Final = 0.1  # seconds until the next round where the last one is not final yet
_PATIENCE: Final = 0.5  # seconds that a replica may take to connect, and again to answer


class Scraper:
    """Knows what the replicas on these ports of loopback counted. Never raises because of a replica: one
    that is slow, gone or not understood has no part in a round."""

    def __init__(self, ports: Sequence[int], patience: float = _PATIENCE) -> None:
        self._ports = ports
        self._patience = patience
        self._readings = Readings(len(ports))
        self.latest = Reading(asked=len(ports))

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Keeps `latest` new from a thread of its own. Leaving blocks until the round under way has ended."""
        stop = threading.Event()
        thread = threading.Thread(target=self._poll, args=(stop,), name="scraper", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def look(self) -> None:
        """One round: all are asked at once, so that none waits for another. Not while polling."""
        with ThreadPoolExecutor(len(self._ports), "scrape") as pool:
            answers = list(pool.map(self._ask, self._ports))
        self.latest = self._readings.add(time.monotonic(), answers)

    def settle(self, seconds: float) -> None:
        """Rounds until all have answered and no lag is left, which they tell only once a second; for at
        most `seconds` and the round under way then. Not while polling."""
        deadline = time.monotonic() + seconds
        self.look()
        while not self.latest.settled and time.monotonic() < deadline:
            time.sleep(_AGAIN)
            self.look()

    def _ask(self, port: int) -> Figures | None:
        return asked(port, self._patience)

    def _poll(self, stop: threading.Event) -> None:
        self.look()
        while not stop.wait(_EVERY):
            self.look()


def asked(port: int, patience: float) -> Figures | None:
    """What the replica at that port of loopback tells; None when it does not, or not in time: `patience`
    seconds for each step."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=patience)) as connection:
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            return figures_of(answer.read().decode()) if answer.status == 200 else None
        except (OSError, HTTPException, ValueError):
            return None

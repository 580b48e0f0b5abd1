"""Input that must never come out: records of transactions that are aborted."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

_UNHEARD = logging.getLogger(__name__)
"""For the client's lines: a producer that is fenced says so even where no log is asked for."""
_UNHEARD.addHandler(logging.NullHandler())
_UNHEARD.propagate = False

_EVERY = 3.0  # seconds
_RECORDS = 20
_TIMEOUT_MS = 5_000  # a transaction that cannot be aborted now holds readers up for no longer


class Aborter(threading.Thread):
    """Writes records to `topic` and takes them back, again and again; `records` were written so far."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="aborter", daemon=True)
        self._config = {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"aborter of {topic}",
            "transaction.timeout.ms": _TIMEOUT_MS,
            "message.timeout.ms": _TIMEOUT_MS,
            "log_level": 0,
        }
        self._topic = topic
        self._stopping = threading.Event()
        self.records = 0

    def run(self) -> None:
        while not self._stopping.is_set():
            with suppress(KafkaException):  # brokers are away or changed places: with a new producer again
                self._work(Producer(self._config, logger=_UNHEARD))

    def finish(self) -> None:
        """Blocks until nothing of it is open any more, or cannot be closed now."""
        self._stopping.set()
        self.join()

    def _work(self, producer: Producer) -> None:
        producer.init_transactions(10)
        while not self._stopping.wait(_EVERY):
            producer.begin_transaction()
            for number in range(_RECORDS):
                producer.produce(self._topic, f"taken back: {number}", f"host-{number}")
            left = producer.flush(_TIMEOUT_MS / 1_000)
            self.records += _RECORDS - left
            producer.abort_transaction(_TIMEOUT_MS / 1_000)

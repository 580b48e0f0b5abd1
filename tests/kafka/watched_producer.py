"""The producer of a replica under watch: it tells what its transactions are and where a process may die in
one. Each record of a transaction carries the transaction's name in a header."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Producer, TopicPartition

from tests.kafka.eventlog import EventLog, by_partition
from tests.kafka.failpoint import ON_ITS_WAY, Boundary, Failpoint
from tests.kafka.history import Action

TAG = "consumer.test.transaction"
"""The name of the header. Headers that begin with `consumer.` are none of the input record's."""


class WatchedProducer(Producer):
    """Behaves as the real one, which it is. Outside of transactions it adds nothing."""

    def __init__(self, log: EventLog, failpoint: Failpoint, config: Any, **options: Any) -> None:
        super().__init__(config, **options)
        self._log, self._failpoint = log, failpoint
        self._name, self._number = secrets.token_hex(4), 0
        self._tag: list[tuple[str, bytes]] = []
        self._offsets: Sequence[TopicPartition] = ()

    def begin_transaction(self) -> None:
        super().begin_transaction()
        self._number += 1
        self._tag = [(TAG, f"{self._name}-{self._number}".encode())]

    def produce(self, *args: Any, headers: Any = (), **named: Any) -> None:
        super().produce(*args, headers=[*(headers or ()), *self._tag], **named)

    def send_offsets_to_transaction(self, positions: Any, *args: Any) -> None:
        self._failpoint.passed(Boundary.IN_TRANSACTION, delay=ON_ITS_WAY)
        self._log.write(Action.ASKED, by_partition({p: p.offset for p in positions}))
        super().send_offsets_to_transaction(positions, *args)
        self._offsets = tuple(positions)

    def commit_transaction(self, *args: Any) -> None:
        self._failpoint.passed(Boundary.BEFORE_COMMIT)
        super().commit_transaction(*args)
        self._log.write(Action.COMMITTED, by_partition({p: p.offset for p in self._offsets}))
        self._offsets = ()

    def abort_transaction(self, *args: Any) -> None:
        super().abort_transaction(*args)
        self._log.write(Action.ABORTED)
        self._offsets = ()

"""The Observer that writes log lines: DEBUG per batch, INFO per rebalance, WARNING for what failed."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from consumer.ops.limiter import Limiter
from consumer.ports import Observer
from consumer.records import MicroBatch, Output, TopicPartition

__all__ = ["Limiter", "LogObserver"]

_log = logging.getLogger("consumer.pipeline")
_NAMED = 20  # partitions that one line names


class LogObserver(Observer):
    """Never logs payload or per record. Events that carry no time happen at the time of the last step."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._now = 0.0
        self._troubles: set[str] = set()

    def stepped(self, now: float) -> None:
        self._now = now

    def launched(self, batch: MicroBatch, now: float) -> None:  # noqa: ARG002 - the signature
        fields = {"records": len(batch.entries), "closed_by": batch.closed_by.value}
        _log.debug("batch launched", extra={"action": "batch_launched", **fields})

    def scored(self, batch: MicroBatch, seconds: float) -> None:
        fields = {"records": len(batch.entries), "seconds": round(seconds, 4)}
        _log.debug("batch scored", extra={"action": "batch_scored", **fields})

    def published(self, outputs: Sequence[Output], seconds: float) -> None:
        fields = {"records": len(outputs), "seconds": round(seconds, 4)}
        _log.debug("batch published", extra={"action": "batch_published", **fields})

    def committed(self, partitions: int) -> None:
        _log.debug("offsets committed", extra={"action": "committed", "partitions": partitions})

    def rebalanced(self, kind: str, partitions: Collection[TopicPartition]) -> None:
        fields = {"count": len(partitions), "partitions": _named(partitions)}
        level = logging.WARNING if kind == "lost" else logging.INFO
        _log.log(level, "the group rebalanced", extra={"action": f"partitions_{kind}", **fields})

    def send_failed(self, records: int, why: str) -> None:
        self._warn("batch not acknowledged, it is sent again", "send_failed", records=records, why=why)

    def commit_refused(self, partitions: int, why: str) -> None:
        self._warn("commit refused, it is tried again", "commit_refused", partitions=partitions, why=why)

    def given_up(self, partitions: Collection[TopicPartition], records: int) -> None:
        fields = {"records": records, "partitions": _named(partitions)}
        text = "partitions taken away before their acknowledgements came, the next owner repeats the records"
        _log.warning(text, extra={"action": "given_up", **fields})

    def skipped(self, partition: TopicPartition, records: int) -> None:
        fields = {"topic": partition.topic, "partition": partition.partition, "offsets": records}
        text = "offsets skipped, retention removed them before they were read"
        _log.warning(text, extra={"action": "offsets_skipped", **fields})

    def trouble(self, what: str, why: str | None) -> None:
        """A line when a dependency starts to fail, a few while it does, one when it is well again."""
        if why is not None:
            if self._warn("a dependency fails", f"trouble {what}", dependency=what, why=why):
                self._troubles.add(what)
        elif what in self._troubles:
            self._troubles.remove(what)
            _log.info("a dependency is well again", extra={"action": "recovered", "dependency": what})

    def _warn(self, text: str, kind: str, **fields: object) -> bool:
        held_back = self._limiter.passes(kind, self._now)
        if held_back is None:
            return False
        told = {"action": kind.partition(" ")[0], **fields}
        _log.warning(text, extra=told | ({"held_back": held_back} if held_back else {}))
        return True


def _named(partitions: Collection[TopicPartition]) -> str:
    names = [str(p) for p in sorted(partitions)]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")

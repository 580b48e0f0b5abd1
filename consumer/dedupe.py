"""Events that come again under the id of an earlier record: published as `duplicate`, not scored again.

Marks are written only for results that are acknowledged (committed, in transactions), so nothing that is
still under way suppresses anything; what each mark may suppress, consumer/marks.py says.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from consumer.marks import Keys, decode, digest, encode, mark_of
from consumer.records import Duplicate, Entry, Event, MicroBatch, Output, Score
from consumer.sharing import MarkStats, SharedStore, TopicId
from consumer.templates import LARGE_KEY

_log = logging.getLogger(__name__)


class NoMarks:
    """Nothing is remembered: every event is scored."""

    def renew(self) -> None:
        return

    def sift(self, batch: MicroBatch) -> MicroBatch:
        return batch

    def keep(self, batch: MicroBatch, outputs: Sequence[Output]) -> None:  # noqa: ARG002 - the Protocol's
        return

    def stats(self) -> MarkStats:
        return MarkStats()

    def close(self) -> None:
        return


class SharedMarks:
    """Marks that the replicas of `group` share by way of a store. One thread calls all but `stats`."""

    def __init__(self, group: str, store: SharedStore, topic: TopicId) -> None:
        self._group, self._store, self._topic = group, store, topic
        self._counts = MarkStats()

    def renew(self) -> None:
        self._topic.renew()

    def sift(self, batch: MicroBatch) -> MicroBatch:
        named = [n for n, entry in enumerate(batch.entries) if _id_of(entry) is not None]
        topic_id = self._topic.known() if named else None
        if topic_id is None:
            return batch
        entries = list(batch.entries)
        for n, repeat in zip(named, self._looked_up([entries[n] for n in named], topic_id), strict=True):
            entries[n] = repeat
        return replace(batch, entries=tuple(entries), topic_id=topic_id)

    def keep(self, batch: MicroBatch, outputs: Sequence[Output]) -> None:
        if batch.topic_id is None:
            return
        keys = Keys(self._group, batch.topic_id)
        entries: dict[bytes, bytes] = {}
        for entry, event_id in _scored(outputs):
            key = keys.of(event_id)
            entries.setdefault(key, encode(mark_of(entry.record), key))
        self._store.put_many(entries)

    def stats(self) -> MarkStats:
        return self._counts._replace(store=self._store.stats())

    def close(self) -> None:
        self._store.close()

    def _looked_up(self, entries: Sequence[Entry], topic_id: str) -> list[Entry]:
        """The same entries, those that repeat an earlier record as a Duplicate. One call of the store."""
        keyring = Keys(self._group, topic_id)
        keys = [keyring.of(_id_of(entry) or "") for entry in entries]
        found = self._store.get_many(keys)
        self._count(asked=len(keys))
        return [
            entry if data is None else self._judged(entry, key, data)
            for entry, key, data in zip(entries, keys, found, strict=True)
        ]

    def _judged(self, entry: Entry, key: bytes, data: bytes) -> Entry:
        mark = decode(data, key)
        if mark is None:
            self._refused()
            return entry
        if mark.suppresses(entry.record):
            return Entry(entry.record, Duplicate(_id_of(entry) or "", mark.partition, mark.offset))
        if mark.digest != digest(entry.record.value):
            self._count(reused=1)
        return entry

    def _refused(self) -> None:
        if not self._counts.refused:
            _log.warning(
                "the store of marks holds entries that no replica wrote; they are ignored",
                extra={"action": "mark_refused"},
            )
        self._count(refused=1)

    def _count(self, asked: int = 0, refused: int = 0, reused: int = 0) -> None:
        c = self._counts
        self._counts = c._replace(
            asked=c.asked + asked, refused=c.refused + refused, reused=c.reused + reused
        )


def _id_of(entry: Entry) -> str | None:
    return entry.decoded.id if isinstance(entry.decoded, Event) else None


def _scored(outputs: Sequence[Output]) -> Iterable[tuple[Entry, str]]:
    """Records whose result says a score, with their event's id. The result of a record with a huge key may
    have become a dead letter on its way; it gets no mark."""
    for output in outputs:
        entry, event_id = output.entry, _id_of(output.entry)
        fits = len(entry.record.key or b"") <= LARGE_KEY
        if event_id is not None and fits and isinstance(output.verdict, Score):
            yield entry, event_id

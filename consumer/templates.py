"""Plain results, which are nearly all, from prepared pieces: byte for byte what encoding a Result gives.

A result repeats much: what stands around its numbers is the same for a partition, and what the scorer says
is the same for every record that got the same Score object. Only the rest is encoded per record.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from consumer.records import Event, Record, Score
from consumer.results import SCHEMA_VERSION, check_finite

LARGE_KEY = 1_024
"""Bytes up to which a key is written whole, whatever its characters."""

_MOST_VERDICTS = 10_000


class _Verdict(msgspec.Struct, frozen=True, gc=False):
    """The fields of results.Result that come from a Score without tokens, in their order."""

    score: float
    is_anomaly: bool
    threshold: float
    parts: dict[str, float | None]
    extrapolated: bool
    truncated: bool


class _Said(msgspec.Struct, frozen=True, gc=False):
    """Those that come from an Event which is all there."""

    message: str | UnsetType
    event_id: str | UnsetType
    event_timestamp: str | int | float | UnsetType
    event_source: str | UnsetType
    level: str | UnsetType


class Templates:
    """Belongs to one thread. What is remembered is bounded."""

    def __init__(self, id_prefix: str, group: str, model: bytes, *, with_message: bool) -> None:
        """`model`: the model's description as JSON."""
        self._id_prefix, self._with_message = id_prefix, with_message
        self._write = msgspec.json.Encoder().encode
        self._signature = b'},"group":%b,"model":%b,"scored_at":"' % (self._write(group), model)
        self._forms: dict[tuple[str, int], bytes] = {}
        # By identity, together with the score, so that no other object can get its identity meanwhile.
        self._verdicts: dict[int, tuple[Score, bytes]] = {}

    def fill(self, record: Record, event: Event, score: Score, scored_at: str) -> bytes:
        """The result of a scored record. Wants an event without cut, replacement or document, a score
        without tokens, and a key of at most LARGE_KEY bytes. Raises UnicodeDecodeError for a key that is
        no text; ValueError for a number that is not finite."""
        key, timestamp = record.key, record.timestamp
        form = self._forms.get((record.topic, record.partition)) or self._form(record)
        known = self._verdicts.get(id(score))
        return form % (
            record.offset,
            record.offset,
            b"null" if timestamp is None else b"%d" % timestamp,
            b"null" if key is None else self._write(key.decode()),
            scored_at.encode(),
            self._verdict(score) if known is None else known[1],
            self._said(event),
        )

    def _form(self, record: Record) -> bytes:
        """What stands around the seven things that `fill` puts in, the same for a whole partition."""
        topic, partition = record.topic, record.partition
        begin = self._write(f"{self._id_prefix}{topic}|{partition}|")[:-1]
        around = (
            b'{"schema_version":%d,"id":%b' % (SCHEMA_VERSION, begin),
            b'","outcome":"scored","input":{"topic":%b,"partition":%d,"offset":'
            % (self._write(topic), partition),
            b',"timestamp":',
            b',"key":',
            self._signature,
            b'",',
            b"",
            b"}",
        )
        fixed = [piece.replace(b"%", b"%%") for piece in around]
        form = b"%d".join(fixed[:3]) + b"%b" + b"%b".join(fixed[3:])
        self._forms[topic, partition] = form
        return form

    def _verdict(self, score: Score) -> bytes:
        """The fields of a score, remembered: a scorer gives one object to all records of a text."""
        check_finite(score)
        fields = _Verdict(
            score.score, score.is_anomaly, score.threshold, score.parts, score.extrapolated, score.truncated
        )
        if len(self._verdicts) >= _MOST_VERDICTS:
            self._verdicts.clear()
        written = self._write(fields)[1:-1]
        self._verdicts[id(score)] = score, written
        return written

    def _said(self, event: Event) -> bytes:
        """What the event said, with the comma before it; empty when nothing of it is repeated."""
        if event.level is event.id is event.timestamp is event.source is None:
            return b',"message":' + self._write(event.message) if self._with_message else b""
        fields = _Said(
            event.message if self._with_message else UNSET,
            UNSET if event.id is None else event.id,
            UNSET if event.timestamp is None else event.timestamp,
            UNSET if event.source is None else event.source,
            UNSET if event.level is None else event.level,
        )
        return b"," + self._write(fields)[1:-1]

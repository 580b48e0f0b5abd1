"""Verdicts to bytes: the results, within `output.max_bytes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from consumer.errors import BadRecord
from consumer.headers import fit, headers_size
from consumer.ports import ModelInfo
from consumer.records import Duplicate, Event, Headers, Output, Reason, Record, Rejection, Score
from consumer.results import (
    SCHEMA_VERSION,
    FirstRecord,
    Result,
    check_finite,
    input_of,
    result_id,
    rfc3339,
    tokens_of,
)
from consumer.settings import Results
from consumer.templates import LARGE_KEY, Templates

ANOMALY_HEADER = "is_anomaly"

_OWN_HEADERS = 64
_RESERVED = frozenset({ANOMALY_HEADER})
_ANOMALY: Headers = ((ANOMALY_HEADER, b"true"),)
_NORMAL: Headers = ((ANOMALY_HEADER, b"false"),)


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """One record to produce, without a timestamp: it is that of producing."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]

    def size(self) -> int:
        """Bytes that count against `output.max_bytes`."""
        return len(self.key or b"") + len(self.value or b"") + headers_size(self.headers)


class ResultEncoder:
    """Encodes what was scored, what is empty, and what came before. A repeat differs in `scored_at` alone."""

    def __init__(self, settings: Results, group: str, model: ModelInfo) -> None:
        self._settings = settings
        # Values up to here fit without a look at the key's and the headers' sizes.
        self._certain = settings.max_bytes - settings.max_header_bytes - LARGE_KEY - _OWN_HEADERS
        self._group = group
        self._model = Raw(msgspec.json.encode(model))
        self._templates = Templates(
            settings.id_prefix, group, bytes(self._model), with_message=settings.include != "none"
        )
        self._write = msgspec.json.Encoder().encode

    def encode(self, output: Output, scored_at_ms: int) -> Encoded:
        """A record of at most `output.max_bytes`: where it would be larger, the event, the message, the
        tokens, what the event said of itself and the input's headers are left out, in this order.

        Raises BadRecord(UNPUBLISHABLE) when the key alone is too large, because a result keeps its
        input's key; ValueError for a number that is not finite, because JSON has no word for it;
        TypeError for a Rejection, which is a dead letter.
        """
        scored_at = rfc3339(scored_at_ms)
        return self._plain(output, scored_at) or self._any(output, scored_at)

    def _plain(self, output: Output, scored_at: str) -> Encoded | None:
        """The short way for a result that surely fits; None where it is no such."""
        record, event, score = output.entry.record, output.entry.decoded, output.verdict
        if type(event) is not Event or type(score) is not Score or not self._is_plain(record, event, score):
            return None
        try:
            value = self._templates.fill(record, event, score, scored_at)
        except UnicodeDecodeError:  # of the key
            return None
        if len(value) > self._certain:
            return None
        own = _ANOMALY if score.is_anomaly else _NORMAL
        return Encoded(record.key, value, [*self._passed(record), *own] if record.headers else [*own])

    def _is_plain(self, record: Record, event: Event, score: Score) -> bool:
        return (
            not (score.tokens or event.truncated or event.replaced)
            and event.document is None
            and len(event.message) <= self._settings.max_message_chars
            and (record.key is None or len(record.key) <= LARGE_KEY)
        )

    def _passed(self, record: Record) -> Headers:
        return fit(record.headers or (), self._settings.max_header_bytes, _RESERVED)

    def _any(self, output: Output, scored_at: str) -> Encoded:
        """The long way."""
        record = output.entry.record
        result, own = self._result(output, scored_at)
        value = self._write(result)
        encoded = Encoded(record.key, value, [*self._passed(record), *own])
        if encoded.size() <= self._settings.max_bytes:
            return encoded
        return self._smaller(encoded, output, result, own)

    def _smaller(self, encoded: Encoded, output: Output, result: Result, own: Headers) -> Encoded:
        limit = self._settings.max_bytes
        for less in self._ever_less(result, output.entry.decoded):
            encoded = replace(encoded, value=self._write(less))
            if encoded.size() <= limit:
                return encoded
        encoded = replace(encoded, headers=list(own))
        if encoded.size() <= limit:
            return encoded
        size = len(encoded.key or b"")
        raise BadRecord(Reason.UNPUBLISHABLE, f"a key of {size} bytes, output.max_bytes is {limit}")

    def _result(self, output: Output, scored_at: str) -> tuple[Result, Headers]:
        record, event, verdict = output.entry.record, output.entry.decoded, output.verdict
        if isinstance(verdict, Rejection):
            raise TypeError("a rejection is a dead letter, not a result")
        if isinstance(verdict, Score) and isinstance(event, Event):
            scored = self._scored(record, event, verdict, scored_at)
            return scored, _ANOMALY if verdict.is_anomaly else _NORMAL
        if isinstance(verdict, Duplicate):
            return self._duplicate(record, verdict, scored_at), ()
        return self._unscored("empty", record, scored_at), ()

    def _duplicate(self, record: Record, verdict: Duplicate, scored_at: str) -> Result:
        first = FirstRecord(record.topic, verdict.partition, verdict.offset)
        return replace(self._unscored("duplicate", record, scored_at), first=first, event_id=verdict.event_id)

    def _unscored(self, outcome: Literal["empty", "duplicate"], record: Record, scored_at: str) -> Result:
        name = result_id(record, self._settings.id_prefix)
        return Result(SCHEMA_VERSION, name, outcome, input_of(record), self._group, self._model, scored_at)

    def _scored(self, record: Record, event: Event, score: Score, scored_at: str) -> Result:
        check_finite(score)
        include = self._settings.include
        document = Raw(event.document) if include == "event" and event.document is not None else UNSET
        message: str | UnsetType = UNSET
        if include != "none" and document is UNSET:
            message = event.message[: self._shown(event)]
        return Result(
            schema_version=SCHEMA_VERSION,
            id=result_id(record, self._settings.id_prefix),
            outcome="scored",
            input=input_of(record),
            group=self._group,
            model=self._model,
            scored_at=scored_at,
            score=score.score,
            is_anomaly=score.is_anomaly,
            threshold=score.threshold,
            parts=score.parts,
            extrapolated=score.extrapolated,
            truncated=event.truncated or score.truncated,
            replaced=event.replaced or UNSET,
            message=message,
            message_truncated=(message is not UNSET and self._is_part(event)) or UNSET,
            event=document,
            event_id=UNSET if event.id is None else event.id,
            event_timestamp=UNSET if event.timestamp is None else event.timestamp,
            event_source=UNSET if event.source is None else event.source,
            level=UNSET if event.level is None else event.level,
            tokens=tokens_of(score, event, with_text=include != "none") if score.tokens else UNSET,
        )

    def _ever_less(self, result: Result, event: object) -> Iterator[Result]:
        """The result with ever less of the input in it, down to its coordinates and its verdict."""
        if result.event is not UNSET and isinstance(event, Event):
            message, part = event.message[: self._shown(event)], self._is_part(event)
            result = replace(result, event=UNSET, message=message, message_truncated=part or UNSET)
            yield result
        while result.message is not UNSET and result.message:
            shorter = result.message[: len(result.message) // 4]
            result = replace(result, message=shorter, message_truncated=True)
            yield result
        result = replace(result, tokens=UNSET)
        yield result
        yield _bare(result)

    def _shown(self, event: Event) -> int:
        """How many characters a result repeats: a prefix of the original text, never its tail, so that
        the tokens' spans fit both."""
        limit = self._settings.max_message_chars
        return limit if event.cut is None else min(limit, event.cut[0])

    def _is_part(self, event: Event) -> bool:
        return event.truncated or len(event.message) > self._settings.max_message_chars


def _bare(result: Result) -> Result:
    keyless = result.input.key is None
    coordinates = replace(result.input, key=None if keyless else "", key_truncated=UNSET if keyless else True)
    return replace(
        result,
        input=coordinates,
        event_id=UNSET,
        event_timestamp=UNSET,
        event_source=UNSET,
        level=UNSET,
    )

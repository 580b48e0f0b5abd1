"""The fields of a result, and how they come from a record, an event and a score.

Format: schemas/result.schema.json.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from consumer.records import Event, Record, Score, Token

SCHEMA_VERSION = 1
MAX_KEY_CHARS = 1_024

_MAX_KEY_BYTES = MAX_KEY_CHARS // 4 * 3  # base64 makes MAX_KEY_CHARS of them


class InputRecord(msgspec.Struct, frozen=True, gc=False):
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: str | None = None
    key_encoding: Literal["base64"] | UnsetType = UNSET
    key_truncated: bool | UnsetType = UNSET


class ResultToken(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    surprisal: float
    text: str | UnsetType


class FirstRecord(msgspec.Struct, frozen=True, gc=False):
    topic: str
    partition: int
    offset: int


class Result(msgspec.Struct, frozen=True, gc=False):
    """What is UNSET is not written."""

    schema_version: int
    id: str
    outcome: Literal["scored", "empty", "duplicate"]
    input: InputRecord
    group: str
    model: Raw
    scored_at: str
    first: FirstRecord | UnsetType = UNSET
    score: float | UnsetType = UNSET
    is_anomaly: bool | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    parts: dict[str, float | None] | UnsetType = UNSET
    extrapolated: bool | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    replaced: bool | UnsetType = UNSET
    message: str | UnsetType = UNSET
    message_truncated: bool | UnsetType = UNSET
    event: Raw | UnsetType = UNSET
    event_id: str | UnsetType = UNSET
    event_timestamp: str | int | float | UnsetType = UNSET
    event_source: str | UnsetType = UNSET
    level: str | UnsetType = UNSET
    tokens: tuple[ResultToken, ...] | UnsetType = UNSET


def result_id(record: Record, prefix: str) -> str:
    """The same for every delivery of a record, whatever scored it."""
    return f"{prefix}{record.topic}|{record.partition}|{record.offset}"


@lru_cache(maxsize=64)
def rfc3339(milliseconds: int) -> str:
    """`2026-11-30T15:40:07.123Z` of milliseconds since the epoch. A batch shares one, so it is cached."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def input_of(record: Record) -> InputRecord:
    topic, partition, offset, timestamp = record.topic, record.partition, record.offset, record.timestamp
    key = record.key
    if key is None:
        return InputRecord(topic, partition, offset, timestamp)
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text, cut = base64.b64encode(key[:_MAX_KEY_BYTES]).decode(), len(key) > _MAX_KEY_BYTES
        return InputRecord(topic, partition, offset, timestamp, text, "base64", cut or UNSET)
    cut = len(text) > MAX_KEY_CHARS
    return InputRecord(topic, partition, offset, timestamp, text[:MAX_KEY_CHARS], UNSET, cut or UNSET)


def check_finite(score: Score) -> None:
    """Raises ValueError: JSON has no word for infinity, and the encoder would write null."""
    if not (isfinite(score.score) and isfinite(score.threshold)):
        raise ValueError("score or threshold is not finite")
    for part in score.parts.values():
        if part is not None and not isfinite(part):
            raise ValueError("a part of the score is not finite")
    for token in score.tokens:
        if not isfinite(token.surprisal):
            raise ValueError("the surprisal of a token is not finite")


def tokens_of(score: Score, event: Event, *, with_text: bool) -> tuple[ResultToken, ...]:
    return tuple(_token(token, event.cut, with_text) for token in score.tokens)


def _token(token: Token, cut: tuple[int, int] | None, with_text: bool) -> ResultToken:
    """Its span in the original text; one that touches both sides of a cut covers it."""
    start, end = token.start, token.end
    if cut is not None:
        missing = cut[1] - cut[0]
        start += missing if start >= cut[0] else 0
        end += missing if end > cut[0] else 0
    return ResultToken(start, end, token.surprisal, token.text if with_text else UNSET)

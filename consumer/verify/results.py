"""Reads results by schemas/result.schema.json, with a parser of its own."""

from __future__ import annotations

import base64
import json
import re
from functools import lru_cache
from math import isfinite
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from consumer.masking import shown
from consumer.verify.findings import Kind
from consumer.verify.outputs import Faults, Output, hashed

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_SOME = Annotated[str, Meta(min_length=1)]
_Place = Annotated[int, Meta(ge=0)]


class _Input(msgspec.Struct, gc=False):
    topic: str
    partition: _Place
    offset: _Place
    timestamp: int | None
    key: Annotated[str, Meta(max_length=1_024)] | None
    key_encoding: Literal["base64"] | UnsetType = UNSET
    key_truncated: Literal[True] | UnsetType = UNSET


class _Model(msgspec.Struct, gc=False):
    name: str
    version: _SOME


class _First(msgspec.Struct, gc=False):
    topic: str
    partition: _Place
    offset: _Place


class _Token(msgspec.Struct, gc=False):
    start: _Place
    end: _Place
    surprisal: float
    text: str | UnsetType = UNSET


class _Result(msgspec.Struct, tag_field="outcome", gc=False, kw_only=True):
    schema_version: Literal[1]
    id: str
    input: _Input
    group: str
    model: _Model
    scored_at: str
    first: _First | UnsetType = UNSET
    message: str | UnsetType = UNSET
    message_truncated: Literal[True] | UnsetType = UNSET
    replaced: Literal[True] | UnsetType = UNSET
    event: Raw | UnsetType = UNSET
    event_id: str | UnsetType = UNSET
    event_timestamp: str | int | float | UnsetType = UNSET
    event_source: str | UnsetType = UNSET
    level: str | UnsetType = UNSET
    tokens: list[_Token] | UnsetType = UNSET


class _Scored(_Result, tag="scored", gc=False, kw_only=True):
    score: float
    is_anomaly: bool
    threshold: float
    parts: dict[str, float | None]
    extrapolated: bool
    truncated: bool


class _Unscored(_Result, gc=False, kw_only=True):
    score: Raw | UnsetType = UNSET
    is_anomaly: Raw | UnsetType = UNSET
    threshold: Raw | UnsetType = UNSET
    parts: Raw | UnsetType = UNSET
    extrapolated: Raw | UnsetType = UNSET
    truncated: Raw | UnsetType = UNSET


class _Empty(_Unscored, tag="empty", gc=False, kw_only=True):
    pass


class _Duplicate(_Unscored, tag="duplicate", gc=False, kw_only=True):
    first: _First


_OF_SCORES = tuple({*_Unscored.__struct_fields__} - {*_Result.__struct_fields__})
_OUTCOMES: dict[type, str] = {_Scored: "scored", _Empty: "empty", _Duplicate: "duplicate"}
_decode = msgspec.json.Decoder(_Scored | _Empty | _Duplicate).decode


def read_result(message: Any) -> Output:
    """Never raises: what is wrong with the result is among its faults."""
    key = message.key()
    try:
        result = _decode(message.value() or b"")
    except (msgspec.DecodeError, RecursionError) as error:
        return _unreadable(message, error)
    told = result.input
    scored = type(result) is _Scored
    return Output(
        place=message.partition(),
        at=message.offset(),
        dead=False,
        group=result.group,
        topic=told.topic,
        partition=told.partition,
        offset=told.offset,
        id=result.id,
        outcome=_OUTCOMES[type(result)],
        key=hashed(key),
        fingerprint=_fingerprint(result, key),
        score=result.score if scored else 0.0,
        model=result.model.version,
        first=(result.first.partition, result.first.offset) if type(result) is _Duplicate else None,
        faults=_faults(result, key),
    )


def _fingerprint(result: Any, key: bytes | None) -> int:
    """All but the measurements, which may move a little, and the moment of the writing."""
    event = result.event
    return hashed(
        (
            key,
            type(result),
            result.input.timestamp,
            result.message,
            result.event_id,
            result.event_timestamp,
            result.event_source,
            result.level,
            event if event is UNSET else bytes(event),
            result.threshold,
            result.truncated is True,
        )
    )


def _faults(result: Any, key: bytes | None) -> Faults:
    """What the types alone do not say."""
    good_key = result.input.key is None if key is None else _tells(result.input, key)
    fits = result.first is UNSET if type(result) is _Scored else _fits_its_outcome(result)
    if good_key and fits and _is_moment(result.scored_at):
        return ()
    found = []
    if not good_key:
        found.append((Kind.WRONG_KEY, "input.key does not tell the record's key"))
    if not fits:
        found.append((Kind.WRONG_OUTCOME, f"{_OUTCOMES[type(result)]}, with fields of another outcome"))
    if not _is_moment(result.scored_at):
        found.append((Kind.MALFORMED, f"scored_at is {shown(result.scored_at)}"))
    return tuple(found)


def _fits_its_outcome(result: Any) -> bool:
    """Of one that was not scored: it has no score; a duplicate names another record as the first."""
    if any(getattr(result, name) is not UNSET for name in _OF_SCORES):
        return False
    if type(result) is _Empty:
        return bool(result.first is UNSET)
    told, first = result.input, result.first
    return bool((first.partition, first.offset) != (told.partition, told.offset))


@lru_cache(maxsize=64)
def _is_moment(text: str) -> bool:
    """A micro-batch shares one, so it is cached."""
    return _MOMENT.fullmatch(text) is not None


def _tells(told: _Input, key: bytes) -> bool:
    """Whether `input.key` and its flags describe this key."""
    if told.key is None:
        return False
    if told.key_encoding is UNSET:
        claimed = told.key.encode()
    else:
        try:
            claimed = base64.b64decode(told.key, validate=True)
        except ValueError:
            return False
    return claimed == key if told.key_truncated is UNSET else key.startswith(claimed)


def _unreadable(message: Any, error: Exception) -> Output:
    """As much as can be told of a result that breaks the schema."""
    document = _leniently(message.value())
    odd = _not_finite(document)
    fault = (
        (Kind.MALFORMED, shown(str(error)))
        if odd is None
        else (Kind.NON_FINITE, f"{odd} is no finite number")
    )
    told = _typed(document, "input", dict) or {}
    model = _typed(document, "model", dict) or {}
    return Output(
        place=message.partition(),
        at=message.offset(),
        dead=False,
        group=_typed(document, "group", str),
        topic=_typed(told, "topic", str),
        partition=_typed(told, "partition", int),
        offset=_typed(told, "offset", int),
        id=_typed(document, "id", str),
        outcome="malformed",
        key=hashed(message.key()),
        fingerprint=0,
        model=_typed(model, "version", str),
        faults=(fault,),
    )


def _leniently(value: bytes | None) -> dict[str, Any]:
    """What Python's own parser makes of it, which takes NaN, Infinity and bytes that are not UTF-8."""
    try:
        document = json.loads((value or b"").decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _typed(table: dict[str, Any], name: str, kind: type) -> Any:
    """A field if it is of this type, else None; True is no number."""
    value = table.get(name)
    return value if type(value) is kind else None


def _not_finite(document: dict[str, Any]) -> str | None:
    """The first measurement that is null, NaN or infinite: serialisers write NaN as null, too."""
    if document.get("outcome") != "scored":
        return None
    for name in ("score", "threshold"):
        if name in document and not _is_finite(document[name]):
            return name
    parts = _typed(document, "parts", dict) or {}
    odd = (
        shown(f"parts.{name}") for name, part in parts.items() if part is not None and not _is_finite(part)
    )
    tokens = _typed(document, "tokens", list) or []
    surprisals = (token["surprisal"] for token in tokens if isinstance(token, dict) and "surprisal" in token)
    of_tokens = ("tokens.surprisal" for value in surprisals if not _is_finite(value))
    return next(odd, None) or next(of_tokens, None)


def _is_finite(value: object) -> bool:
    """Whether it may stand for a measurement; a text is another fault."""
    return value is not None and not (isinstance(value, float) and not isfinite(value))

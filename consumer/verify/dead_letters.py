"""Reads dead letters by schemas/dead-letter.md, with a parser of its own."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from consumer.masking import shown
from consumer.verify.findings import Kind
from consumer.verify.outputs import Output, hashed

REASONS = frozenset(
    {"undecodable", "invalid", "oversize", "too_complex", "bad_headers", "poison", "unpublishable"}
)

_CONNECT = (
    "topic",
    "partition",
    "offset",
    "connector.name",
    "task.id",
    "stage",
    "class.name",
    "exception.class.name",
    "exception.message",
)
_OWN = (
    "schema.version",
    "reason",
    "detail",
    "group",
    "result.id",
    "rejected.at",
    "original.timestamp",
    "original.timestamp.type",
    "value.bytes",
    "value.sha256",
    "value.cut",
    "key.bytes",
    "key.sha256",
    "key.cut",
    "headers.cut",
)
HEADERS = (*(f"__connect.errors.{name}" for name in _CONNECT), *(f"consumer.{name}" for name in _OWN))
"""All that a dead letter has behind the headers of its input record."""

_Headers = Mapping[str, bytes | None]


def read_dead_letter(message: Any) -> Output:
    """Never raises: what is wrong with the dead letter is among its faults. Its group is None where it has
    no header `consumer.group`: then somebody else wrote it."""
    headers = _headers(message)
    key, value = message.key(), message.value()
    reason = _text(headers, "consumer.reason") or ""
    cut = headers.get("consumer.key.cut") == b"true"
    return Output(
        place=message.partition(),
        at=message.offset(),
        dead=True,
        group=_text(headers, "consumer.group"),
        topic=_text(headers, "__connect.errors.topic"),
        partition=_number(headers, "__connect.errors.partition"),
        offset=_number(headers, "__connect.errors.offset"),
        id=_text(headers, "consumer.result.id"),
        outcome=reason if reason in REASONS else "unknown",
        key=None if cut else hashed(key),
        fingerprint=hashed((reason, key, headers.get("consumer.value.sha256"))),
        faults=tuple(_faults(headers, key, value)),
    )


# For a name that is not UTF-8 the client returns a list and leaves an exception behind. A call from C looks
# for that; a warmed-up interpreter does not, and the exception would come up anywhere.
_ask = operator.methodcaller("headers")


def _headers(message: Any) -> dict[str, bytes | None]:
    """The last of each name counts; nothing where names are not UTF-8."""
    try:
        return dict(_ask(message) or ())
    except Exception:  # SystemError over UnicodeDecodeError today; whatever it is, it is this record's
        return {}


def _text(headers: _Headers, name: str) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode(errors="replace")


def _number(headers: _Headers, name: str) -> int | None:
    """Decimal digits, as many as an offset may have."""
    text = headers.get(name) or b""
    return int(text) if text.isdigit() and len(text) < 20 else None


def _faults(headers: _Headers, key: bytes | None, value: bytes | None) -> Iterator[tuple[Kind, str]]:
    if missing := [name for name in HEADERS if name not in headers]:
        yield Kind.MALFORMED, f"header {missing[0]} is missing"
        return
    if headers["consumer.schema.version"] != b"1":
        yield Kind.MALFORMED, f"consumer.schema.version is {shown(_text(headers, 'consumer.schema.version'))}"
    if _text(headers, "consumer.reason") not in REASONS:
        yield Kind.MALFORMED, f"consumer.reason is {shown(_text(headers, 'consumer.reason'))}"
    for name in ("__connect.errors.partition", "__connect.errors.offset"):
        if _number(headers, name) is None:
            yield Kind.MALFORMED, f"{name} is {shown(_text(headers, name))}"
    for name, data in (("value", value), ("key", key)):
        if not _is_original(headers, name, data):
            yield Kind.ALTERED, f"its {name} is not the one that its headers describe"


def _is_original(headers: _Headers, name: str, data: bytes | None) -> bool:
    """Whether these are the bytes that size and hash in the headers are of, as far as they are all here."""
    size, digest = headers[f"consumer.{name}.bytes"], headers[f"consumer.{name}.sha256"]
    if headers[f"consumer.{name}.cut"] == b"true":
        return size is not None and size.isdigit() and len(data or b"") < int(size)
    if data is None:
        return size is None and digest is None
    return size == b"%d" % len(data) and digest == sha256(data).hexdigest().encode()

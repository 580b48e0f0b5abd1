"""Bytes to values: what a record says, or why it cannot be read. Formats: schemas/event.schema.json."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Annotated

import msgspec
from msgspec import Meta

from consumer.records import Decoded, Empty, Event, Reason, Record, Rejection
from consumer.settings import Input

MAX_ID_CHARS = 512
MAX_SOURCE_CHARS = 512
MAX_LEVEL_CHARS = 64
MAX_LEVEL_NUMBER = 1_000
MAX_NUMERIC_ID = 2**64 - 1
# The range of nanoseconds in 64 bits, so seconds to nanoseconds of any clock's date fit.
MAX_EPOCH = 2**63 - 1
# RFC 3339 with what loggers add to it: a blank for the T, a comma, nine digits, no offset.
TIMESTAMP_PATTERN = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ]"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?$"
)
# RFC 5424, section 6.2.1.
SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")

_BOM = b"\xef\xbb\xbf"
_BRACE = 0x7B
_MIN_MEMBER_BYTES = 5  # `"":0,` is the shortest member of an object
_EMPTY = Empty()


class _Fields(msgspec.Struct, gc=False):
    """What is read of a JSON event; all else in it is only checked for grammar."""

    message: str
    level: (
        Annotated[str, Meta(max_length=MAX_LEVEL_CHARS)]
        | Annotated[int, Meta(ge=0, le=MAX_LEVEL_NUMBER)]
        | None
    ) = None
    id: Annotated[str, Meta(max_length=MAX_ID_CHARS)] | int | None = None
    timestamp: (
        str
        | Annotated[int, Meta(ge=-MAX_EPOCH, le=MAX_EPOCH)]
        | Annotated[float, Meta(ge=-float(MAX_EPOCH), le=float(MAX_EPOCH))]
        | None
    ) = None
    source: Annotated[str, Meta(max_length=MAX_SOURCE_CHARS)] | None = None


_parse = msgspec.json.Decoder(_Fields).decode
_parse_any = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode
_is_timestamp = re.compile(TIMESTAMP_PATTERN).fullmatch


class EventCodec:
    """Decodes records under the limits of `Input`.

    With `keep_document` an event carries its whole JSON text, rewritten in one line with the last of
    duplicate keys; without one when it holds a number that no double can hold.
    """

    def __init__(self, settings: Input, *, keep_document: bool = False) -> None:
        self._settings = settings
        self._max_bytes, self._max_depth = settings.max_bytes, settings.max_depth
        self._wide_from = _MIN_MEMBER_BYTES * settings.max_fields
        self._keep_document = keep_document

    def decode(self, record: Record) -> Decoded:
        """Never raises. Checked in this order, the first problem met counts: headers, emptiness, size,
        JSON and the fields in it, complexity, a blank message, length of the text."""
        try:
            return self._decode(record)
        except Exception as error:
            return Rejection(Reason.UNDECODABLE, f"the decoder failed with {type(error).__name__}")

    def _decode(self, record: Record) -> Decoded:
        if record.headers is None:
            return Rejection(Reason.BAD_HEADERS, "a header name is not UTF-8")
        value = record.value
        if not value:
            return _EMPTY
        if len(value) > self._max_bytes:
            return _oversize(f"value has {len(value)} bytes", "input.max_bytes", self._max_bytes)
        return self._json(value) if self._is_json(value) else self._text(value)

    def _is_json(self, value: bytes) -> bool:
        wanted = self._settings.format
        if wanted == "auto":
            return value[0] == _BRACE or value.startswith(_BOM + b"{")
        return wanted == "json"

    def _json(self, value: bytes) -> Event | Rejection:
        try:
            fields = _parse(value)
            if not value.isascii():
                value.decode()  # the parser does not look into strings that it skips
        except RecursionError:
            return self._too_deep()
        except ValueError as error:
            return _explain(error, value)
        # Upper bounds that are cheap and settle nearly every event; the exact count is not.
        if value.count(b"{") + value.count(b"[") > self._max_depth or (
            len(value) > self._wide_from and value.count(b":") > self._settings.max_fields
        ):
            rejection = self._check_complexity(value)
            if rejection is not None:
                return rejection
        return self._event(fields, value)

    def _event(self, fields: _Fields, value: bytes) -> Event | Rejection:
        message = fields.message
        if not message or message.isspace():
            return Rejection(Reason.INVALID, "`message`: is blank")
        if type(fields.timestamp) is str and _is_timestamp(fields.timestamp) is None:
            return Rejection(Reason.INVALID, "`timestamp`: neither RFC 3339 nor a number since the epoch")
        level, name = fields.level, fields.id
        if type(level) is int:
            level = SEVERITIES[level] if level < len(SEVERITIES) else str(level)
        if type(name) is int:
            if abs(name) > MAX_NUMERIC_ID:
                return Rejection(Reason.INVALID, "`id`: an integer beyond 64 bits")
            name = str(name)
        event = Event(message, level or None, name or None, fields.timestamp, fields.source or None)  # type: ignore[arg-type]
        if self._keep_document:
            event = msgspec.structs.replace(event, document=_compact(value))
        return self._bounded(event)

    def _text(self, value: bytes) -> Decoded:
        """Text in UTF-8 without its byte order mark and its trailing line ends."""
        replaced = False
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text, replaced = value.decode(errors="replace"), True
        text = text.removeprefix("\ufeff").rstrip("\r\n")
        if not text or text.isspace():
            return _EMPTY
        return self._bounded(Event(text, replaced=replaced))

    def _bounded(self, event: Event) -> Event | Rejection:
        length, limit = len(event.message), self._settings.max_text_chars
        if length <= limit:
            return event
        if self._settings.long_text == "reject":
            return _oversize(f"text has {length} characters", "input.max_text_chars", limit)
        head, tail = limit - limit // 2, length - limit // 2
        message = event.message[:head] + event.message[tail:]
        return msgspec.structs.replace(event, message=message, truncated=True, cut=(head, tail))

    def _check_complexity(self, value: bytes) -> Rejection | None:
        """The exact limits. Wants valid JSON."""
        skeleton = _skeleton(value)
        if _depth(skeleton) > self._max_depth:
            return self._too_deep()
        members, limit = skeleton.count(b":"), self._settings.max_fields
        if members > limit:
            return Rejection(Reason.TOO_COMPLEX, f"{members} fields, input.max_fields is {limit}")
        return None

    def _too_deep(self) -> Rejection:
        limit = self._settings.max_depth
        return Rejection(Reason.TOO_COMPLEX, f"nested deeper than input.max_depth, which is {limit}")


_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}:"'))


def _skeleton(value: bytes) -> bytes:
    """The brackets and colons of valid JSON that stand outside its strings, at the speed of C.

    Without escaped backslashes and then escaped quotes, every quote left begins or ends a string;
    taking out two neighbours leaves the parity of all others as it was.
    """
    if b"\\" in value:
        value = value.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = value.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    return b"".join(bare.split(b'"')[::2])


def _depth(skeleton: bytes) -> int:
    """How deep it nests: the highest sum of steps, one up at an opening bracket, one down at a closing."""
    steps = memoryview(skeleton.translate(_STEPS, b":")).cast("b")
    return max(accumulate(steps), default=0)


def _compact(value: bytes) -> bytes | None:
    try:
        return _write(_parse_any(value))
    except (ValueError, RecursionError):
        return None


def _oversize(what: str, setting: str, limit: int) -> Rejection:
    return Rejection(Reason.OVERSIZE, f"{what}, {setting} is {limit}")


def _explain(error: ValueError, value: bytes) -> Rejection:
    """The parser's complaint, which names types, fields of ours and byte offsets, never content."""
    if isinstance(error, UnicodeDecodeError):
        return Rejection(Reason.UNDECODABLE, f"JSON is not UTF-8 (byte {error.start})")
    what, _, field = str(error).partition(" - at `$.")
    if isinstance(error, msgspec.ValidationError):
        return _explain_invalid(what, field.rstrip("`"))
    if value.startswith(_BOM):
        return Rejection(Reason.UNDECODABLE, "JSON begins with a byte order mark (byte 0)")
    if "UTF-8" in what:
        return Rejection(Reason.UNDECODABLE, f"JSON is not UTF-8 (byte {_first_bad_byte(value)})")
    if "truncated" in what:
        what = _half_a_pair_near_the_end(value) or f"JSON ends too early (byte {len(value)})"
    if _tells_half_a_pair(what):
        what = f"JSON has half of a surrogate pair {what[what.rindex('(') :]}"
    return Rejection(Reason.UNDECODABLE, what)


def _half_a_pair_near_the_end(value: bytes) -> str | None:
    """The parser wants six bytes behind the first half of a surrogate pair and calls it truncation when
    there are fewer, whatever they are: with blanks behind them it looks at what they are."""
    try:
        _parse(value + b" " * 6)
    except ValueError as error:
        return str(error) if _tells_half_a_pair(str(error)) else None
    return None


def _tells_half_a_pair(what: str) -> bool:
    """Whether it is the parser's complaint about one: in a string that it reads, or in one that it skips."""
    return "surrogate pair" in what or "unexpected end of hex escape" in what


def _explain_invalid(what: str, field: str) -> Rejection:
    """Without a field's name it is about the whole document: one is missing, or it is no object."""
    if field:
        return Rejection(Reason.INVALID, f"`{field}`: {what}")
    if what.startswith("Object missing"):
        return Rejection(Reason.INVALID, what)
    return Rejection(Reason.UNDECODABLE, f"JSON is not an object: {what}")


def _first_bad_byte(value: bytes) -> int:
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0

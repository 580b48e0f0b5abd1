"""Payloads that break parsers, each with the outcome that we promise for it.

Outcomes: `event`, `empty`, or a Reason; `detail` must be in the rejection's detail. They were written
by hand from the contract, not taken from the code: a change here is a change of the contract. Limits are
the defaults of `Input`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from consumer.records import Headers, Reason, Record

SECRET = "hunter2-canary"
"""Stands in many payloads: it must never be seen in a rejection's detail."""


class Hostile(NamedTuple):
    name: str
    value: bytes | None
    outcome: str
    detail: str = ""
    format: Literal["auto", "json", "text"] = "auto"
    key: bytes | None = None
    headers: Headers | None = ()

    def record(self, offset: int = 0) -> Record:
        return Record("events", 0, offset, self.value, self.key, 1_764_512_345_678, self.headers)


def _event(more: str = "", message: str = f'"{SECRET}"') -> bytes:
    return f'{{"message":{message}{more}}}'.encode()


def _nested(depth: int, opening: str, closing: str) -> bytes:
    """An event that nests `depth` levels, itself included."""
    return _event(f',"x":{opening * (depth - 1)}{closing * (depth - 1)}')


def corpus() -> tuple[Hostile, ...]:
    return (
        *_nothing(),
        *_not_json(),
        *_not_objects(),
        *_bad_encodings(),
        *_bad_numbers(),
        *_bad_fields(),
        *_accepted_json(),
        *_too_complex(),
        *_texts(),
        *_sizes(),
        *_keys_and_headers(),
    )


def _nothing() -> Iterator[Hostile]:
    yield Hostile("tombstone", None, "empty")
    yield Hostile("empty value", b"", "empty")
    yield Hostile("tombstone where JSON is asked", None, "empty", format="json")
    yield Hostile("blank text", b" \t\r\n ", "empty")
    yield Hostile("byte order mark alone", b"\xef\xbb\xbf", "empty")
    yield Hostile("line end alone", b"\n", "empty")
    yield Hostile("blank where JSON is asked", b"   ", Reason.UNDECODABLE, "ends too early", "json")


def _not_json() -> Iterator[Hostile]:
    bad = Reason.UNDECODABLE
    yield Hostile("a brace alone", b"{", bad, "ends too early (byte 1)")
    yield Hostile("cut in a string", b'{"message":"hunter2-canary', bad, "ends too early (byte 26)")
    yield Hostile("cut after a value", _event()[:-1], bad, "ends too early")
    yield Hostile("a second document", _event() + b"{}", bad, "trailing characters (byte")
    yield Hostile("text behind it", _event() + SECRET.encode(), bad, "trailing characters")
    yield Hostile("single quotes", b"{'message':'hunter2-canary'}", bad, "(byte 1)")
    yield Hostile("trailing comma", _event(","), bad, "(byte 28)")
    yield Hostile("comment", b'{/*hunter2-canary*/"message":"a"}', bad, "(byte 1)")
    yield Hostile("raw line end in a string", b'{"message":"hunter2\ncanary"}', bad, "(byte 19)")
    yield Hostile("raw NUL in a string", b'{"message":"hunter2\x00canary"}', bad, "(byte 19)")
    yield Hostile("unknown escape", b'{"message":"\\xhunter2-canary"}', bad, "escape")
    yield Hostile("leading zero", _event(',"x":01'), bad, "(byte 33)")
    yield Hostile("text that looks like a template", b"{{user}} hunter2-canary", bad, "(byte 1)")
    yield Hostile("text where JSON is asked", b"hunter2-canary", bad, "(byte 0)", "json")
    yield Hostile("a thousand braces", b"{" * 1_000, bad, "(byte 1)")


def _not_objects() -> Iterator[Hostile]:
    for name, value in (
        ("null", b"null"),
        ("number", b"42"),
        ("string", b'"hunter2-canary"'),
        ("array", b'[{"message":"hunter2-canary"}]'),
        ("true", b"true"),
    ):
        yield Hostile(f"{name} where JSON is asked", value, Reason.UNDECODABLE, "not an object", "json")


def _bad_encodings() -> Iterator[Hostile]:
    bad, utf8 = Reason.UNDECODABLE, "not UTF-8 (byte"
    yield Hostile("byte order mark before JSON", b"\xef\xbb\xbf" + _event(), bad, "byte order mark (byte 0)")
    yield Hostile(
        "the same with its mark where JSON is asked", b"\xef\xbb\xbf" + _event(), bad, "mark (byte 0)", "json"
    )
    yield Hostile("bad UTF-8 in the message", b'{"message":"hunter2\xff"}', bad, f"{utf8} 19)")
    yield Hostile("bad UTF-8 in an unknown field", b'{"message":"a","x":"\xff"}', bad, f"{utf8} 20)")
    yield Hostile("bad UTF-8 in an unknown name", b'{"message":"a","\xff":1}', bad, f"{utf8} 16)")
    yield Hostile("bad UTF-8 deep in attributes", b'{"message":"a","attributes":[["\xc3"]]}', bad, utf8)
    yield Hostile("UTF-8 cut at the end", b'{"message":"\xe2\x82"}', bad, utf8)
    yield Hostile("overlong slash", b'{"message":"\xc0\xaf"}', bad, utf8)
    yield Hostile("surrogate in UTF-8", b'{"message":"\xed\xa0\x80"}', bad, utf8)
    yield Hostile("Latin-1", '{"message":"Grüße"}'.encode("latin-1"), bad, utf8)
    yield Hostile("UTF-16 JSON", b"{\x00" + _event().decode().encode("utf-16-le")[2:], bad, "(byte 1)")
    yield Hostile("lone high surrogate at the end", _event(message='"\\ud800"'), bad, "(byte")
    yield Hostile("lone high surrogate", _event(message='"\\ud800 and on and on"'), bad, "surrogate")
    yield Hostile("lone low surrogate", _event(message='"\\udc00 and on and on"'), bad, "surrogate")
    yield Hostile("surrogates swapped", _event(message='"\\udc00\\ud800 and on"'), bad, "surrogate")
    yield Hostile("lone surrogate in an unknown field", _event(',"x":"\\ud800 and on"'), bad, "(byte")
    yield Hostile("lone surrogate in a name", _event(',"\\udfff and on":1'), bad, "surrogate")


def _bad_numbers() -> Iterator[Hostile]:
    bad, invalid = Reason.UNDECODABLE, Reason.INVALID
    huge = "9" * 5_000
    for word in ("NaN", "Infinity", "-Infinity", "nan", "undefined"):
        yield Hostile(f"{word} in an unknown field", _event(f',"x":{word}'), bad, "(byte")
        yield Hostile(f"{word} as timestamp", _event(f',"timestamp":{word}'), bad, "(byte")
    yield Hostile("1e999 as timestamp", _event(',"timestamp":1e999'), invalid, "`timestamp`")
    yield Hostile("1e300 as timestamp", _event(',"timestamp":1e300'), invalid, "`timestamp`")
    yield Hostile("-1e300 as timestamp", _event(',"timestamp":-1e300'), invalid, "`timestamp`")
    yield Hostile("2**63 as timestamp", _event(f',"timestamp":{2**63}'), invalid, "`timestamp`")
    yield Hostile("2**64 as timestamp", _event(f',"timestamp":{2**64}'), invalid, "`timestamp`")
    yield Hostile("5,000 digits as timestamp", _event(f',"timestamp":{huge}'), invalid, "`timestamp`")
    yield Hostile("5,000 digits as id", _event(f',"id":{huge}'), invalid, "`id`")
    yield Hostile("400 digits as id", _event(f',"id":{huge[:400]}'), invalid, "`id`")
    yield Hostile("2**64 as id", _event(f',"id":{2**64}'), invalid, "`id`")
    yield Hostile("2**64 - 1 as id", _event(f',"id":{2**64 - 1}'), "event")
    yield Hostile("1.0 as id", _event(',"id":1.0'), invalid, "`id`")
    yield Hostile("5,000 digits as level", _event(f',"level":{huge}'), invalid, "`level`")
    yield Hostile("minus one as level", _event(',"level":-1'), invalid, "`level`")
    yield Hostile("3.5 as level", _event(',"level":3.5'), invalid, "`level`")


def _bad_fields() -> Iterator[Hostile]:
    bad = Reason.INVALID
    yield Hostile("no message", b'{"msg":"hunter2-canary"}', bad, "`message`")
    yield Hostile("no field at all", b"{}", bad, "`message`")
    yield Hostile("blank message", _event(message='" \\t\\n"'), bad, "`message`: is blank")
    yield Hostile("empty message", _event(message='""'), bad, "`message`: is blank")
    for name, value in (("null", "null"), ("number", "1"), ("object", "{}"), ("array", '["hunter2-canary"]')):
        yield Hostile(f"{name} as message", _event(message=value), bad, "`message`")
        if name != "null":
            yield Hostile(f"{name} as source", _event(f',"source":{value}'), bad, "`source`")
    yield Hostile("true as level", _event(',"level":true'), bad, "`level`")
    yield Hostile("object as id", _event(f',"id":{{"{SECRET}":1}}'), bad, "`id`")
    yield Hostile("array as timestamp", _event(f',"timestamp":["{SECRET}"]'), bad, "`timestamp`")
    yield Hostile("a month as timestamp", _event(f',"timestamp":"{SECRET}"'), bad, "`timestamp`")
    yield Hostile("13th month", _event(',"timestamp":"2026-13-01T00:00:00Z"'), bad, "`timestamp`")
    yield Hostile("a date alone", _event(',"timestamp":"2026-11-30"'), bad, "`timestamp`")
    yield Hostile("line end behind it", _event(',"timestamp":"2026-11-30T00:00:00Z\\n"'), bad, "`timestamp`")
    yield Hostile("1 MB timestamp", _event(f',"timestamp":"{"9" * 1_000_000}"'), bad, "`timestamp`")
    yield Hostile("long level", _event(f',"level":"{SECRET * 10}"'), bad, "`level`")
    yield Hostile("long id", _event(f',"id":"{SECRET * 40}"'), bad, "`id`")
    yield Hostile("long source", _event(f',"source":"{SECRET * 40}"'), bad, "`source`")
    yield Hostile("first of two messages bad", b'{"message":1,"message":"a"}', bad, "`message`")


def _accepted_json() -> Iterator[Hostile]:
    yield Hostile("duplicate keys", b'{"message":"a","message":"b"}', "event")
    yield Hostile("huge integer in an unknown field", _event(f',"x":{"9" * 5_000}'), "event")
    yield Hostile("1e999 in attributes", _event(',"attributes":{"x":1e999}'), "event")
    yield Hostile("NUL escape", _event(message='"a\\u0000b"'), "event")
    yield Hostile("surrogate pair", _event(message='"\\ud83d\\ude00"'), "event")
    yield Hostile("escape characters", _event(message='"\\u001b[31mERROR\\u001b[0m\\nERROR forged"'), "event")
    yield Hostile("bidi override", _event(message='"\\u202egnp.exe"'), "event")
    yield Hostile("noncharacters", _event(message='"\\uffff\\ufffe"'), "event")
    yield Hostile("control tokens", _event(message='"[SEP]</s><|endoftext|>[CLS]"'), "event")
    yield Hostile("script", _event(message='"<script>alert(1)</script>"'), "event")
    yield Hostile("names of ours", _event(',"__proto__":{},"schema_version":9,"is_anomaly":false'), "event")
    yield Hostile(
        "all optional null", _event(',"id":null,"timestamp":null,"level":null,"source":null'), "event"
    )
    for stamp in ("-1", "0", "4102444800", "1764512345678901234", "-62135596800", "1e9", "1764512345.678"):
        yield Hostile(f"timestamp {stamp}", _event(f',"timestamp":{stamp}'), "event")
    for stamp in ("1970-01-01T00:00:00Z", "2100-12-31 23:59:60,999+0530", "0000-01-01t00:00:00.123456789z"):
        yield Hostile(f"timestamp {stamp}", _event(f',"timestamp":"{stamp}"'), "event")


def _too_complex() -> Iterator[Hostile]:
    bad, deep = Reason.TOO_COMPLEX, "input.max_depth"
    for depth in (33, 500, 1_500, 100_000):
        yield Hostile(f"{depth} arrays", _nested(depth, "[", "]"), bad, deep)
        yield Hostile(f"{depth} objects", _nested(depth, '{"a":', "}").replace(b":}", b":0}"), bad, deep)
    yield Hostile("32 arrays", _nested(32, "[", "]"), "event")
    yield Hostile("100,000 arrays that never end", _event(f',"x":{"[" * 100_000}'), bad, deep)
    yield Hostile("100,000 brackets in a string", _event(f',"x":"{"[{" * 50_000}"'), "event")
    yield Hostile(
        "brackets behind escaped quotes", _event(f',"x":"{chr(92)}"{"[" * 99}{chr(92) * 2}"'), "event"
    )
    yield Hostile("10,000 flat arrays", _event(f',"x":[{",".join(["[]"] * 10_000)}]'), "event")
    yield Hostile("5,000 fields", _event("".join(f',"{i}":0' for i in range(5_000))), bad, "input.max_fields")
    yield Hostile("1,000 fields", _event("".join(f',"{i}":0' for i in range(999))), "event")
    yield Hostile("1,001 fields", _event("".join(f',"{i}":0' for i in range(1_000))), bad, "1001 fields")
    yield Hostile("10,000 colons in a string", _event(f',"x":"{":" * 10_000}"'), "event")
    yield Hostile("600 times the same field", _event(',"x":{"y":1}' * 600), bad, "1201 fields")


def _texts() -> Iterator[Hostile]:
    yield Hostile("random bytes", bytes(range(255, -1, -1)) * 4, "event")
    yield Hostile("NUL bytes", b"\x00" * 64, "event")
    yield Hostile("bad UTF-8 text", b"caf\xe9 closed\r\n", "event")
    yield Hostile("UTF-16 text with its mark", "closed".encode("utf-16"), "event")
    yield Hostile("byte order mark before text", b"\xef\xbb\xbfclosed", "event")
    yield Hostile("wire format of a schema registry", b"\x00\x00\x00\x00\x07\x02\x0aabcde", "event")
    yield Hostile(
        "the same where JSON is asked", b"\x00\x00\x00\x00\x07\x02", Reason.UNDECODABLE, "(byte 0)", "json"
    )
    yield Hostile("gzip", bytes.fromhex("1f8b0800000000000003cb48cdc9c9070086a6103605000000"), "event")
    yield Hostile("JSON behind a blank", b" " + _event(), "event")
    yield Hostile("an array is text", b'[1,2,"hunter2-canary"]', "event")
    yield Hostile("JSON where text is asked", b'{"message":', "event", format="text")
    yield Hostile("combining marks", "e\u0301\u0300".encode() * 1_000, "event")
    yield Hostile("escape sequences", b"\x1b[2J\x1b]0;title\x07 ok", "event")
    yield Hostile("format strings", b"%s %n ${jndi:ldap://x/a} {0} $(reboot)", "event")


def _sizes() -> Iterator[Hostile]:
    limit = 1_048_576
    yield Hostile("largest text", b"x" * limit, "event")
    yield Hostile("one byte too many", b"x" * (limit + 1), Reason.OVERSIZE, "input.max_bytes is 1048576")
    yield Hostile("5 MB of JSON", _event(f',"x":"{SECRET * 400_000}"'), Reason.OVERSIZE, "input.max_bytes")
    yield Hostile("1 MB in one message", _event(message=f'"{"y" * 1_000_000}"'), "event")
    yield Hostile("1 MB of bad bytes", b"\xff" * 1_000_000, "event")
    yield Hostile(
        "1 MB of escapes",
        _event(message=f'"{chr(92)}u0001{"u0001".join([chr(92)] * 100_000)}u0001"'),
        "event",
    )


def _keys_and_headers() -> Iterator[Hostile]:
    yield Hostile("header names that nobody can read", b"closed", Reason.BAD_HEADERS, "header", headers=None)
    yield Hostile("the same on a tombstone", None, Reason.BAD_HEADERS, "header", headers=None)
    yield Hostile("binary key", b"closed", "event", key=b"\xff\x00\xfe")
    yield Hostile("empty key", b"closed", "event", key=b"")
    yield Hostile("100 KB key", b"closed", "event", key=b"k" * 100_000)
    yield Hostile("forged verdict", b"closed", "event", headers=(("is_anomaly", b"true"), ("a", None)))
    yield Hostile("forged dead letter", b"{", Reason.UNDECODABLE, headers=(("consumer.reason", b"poison"),))
    yield Hostile("1 MB of headers", b"closed", "event", headers=(("h", b"v" * 100),) * 10_000)
    yield Hostile("the same on a bad record", b"{", Reason.UNDECODABLE, headers=(("h", b"v" * 100),) * 10_000)
    yield Hostile("empty header name", b"closed", "event", headers=(("", b""), ("\u202e", b"\x00")))

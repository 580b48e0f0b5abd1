"""JSON objects whose fields are not what an event's have to be, or only just."""

from __future__ import annotations

from collections.abc import Iterator

from consumer.records import Reason
from tests.hostile.payload import SECRET, Hostile, event

_BAD, _INVALID = Reason.UNDECODABLE, Reason.INVALID
_HUGE = "9" * 5_000


def no_numbers() -> Iterator[Hostile]:
    for word in ("NaN", "Infinity", "-Infinity", "nan", "undefined"):
        yield Hostile(f"{word} in an unknown field", event(f',"x":{word}'), _BAD, "(byte")
        yield Hostile(f"{word} as timestamp", event(f',"timestamp":{word}'), _BAD, "(byte")
    for word in ("01", "+1", ".5", "1.", "1e", "0x10", "1_000", "--1", "1e+"):
        yield Hostile(f"{word} in an unknown field", event(f',"x":{word}'), _BAD, "(byte")


def bad_numbers() -> Iterator[Hostile]:
    yield Hostile("1e999 as timestamp", event(',"timestamp":1e999'), _INVALID, "`timestamp`")
    yield Hostile("1e300 as timestamp", event(',"timestamp":1e300'), _INVALID, "`timestamp`")
    yield Hostile("-1e300 as timestamp", event(',"timestamp":-1e300'), _INVALID, "`timestamp`")
    yield Hostile("2**63 as timestamp", event(f',"timestamp":{2**63}'), _INVALID, "`timestamp`")
    yield Hostile("2**64 as timestamp", event(f',"timestamp":{2**64}'), _INVALID, "`timestamp`")
    yield Hostile("-2**63 as timestamp", event(f',"timestamp":{-(2**63)}'), _INVALID, "`timestamp`")
    yield Hostile("5,000 digits as timestamp", event(f',"timestamp":{_HUGE}'), _INVALID, "`timestamp`")
    yield Hostile(
        "a million digits as timestamp", event(f',"timestamp":{_HUGE * 200}'), _INVALID, "`timestamp`"
    )
    yield Hostile("5,000 digits as id", event(f',"id":{_HUGE}'), _INVALID, "`id`")
    yield Hostile("400 digits as id", event(f',"id":{_HUGE[:400]}'), _INVALID, "`id`")
    yield Hostile("2**64 as id", event(f',"id":{2**64}'), _INVALID, "`id`")
    yield Hostile("1.0 as id", event(',"id":1.0'), _INVALID, "`id`")
    yield Hostile("5,000 digits as level", event(f',"level":{_HUGE}'), _INVALID, "`level`")
    yield Hostile("minus one as level", event(',"level":-1'), _INVALID, "`level`")
    yield Hostile("3.5 as level", event(',"level":3.5'), _INVALID, "`level`")


def good_numbers() -> Iterator[Hostile]:
    yield Hostile("2**64 - 1 as id", event(f',"id":{2**64 - 1}'), "scored")
    yield Hostile("minus zero as id", event(',"id":-0'), "scored")
    yield Hostile("huge integer in an unknown field", event(f',"x":{_HUGE}'), "scored")
    yield Hostile("a million digits in an unknown field", event(f',"x":{_HUGE * 200}'), "scored")
    yield Hostile("a million places as timestamp", event(f',"timestamp":0.{_HUGE * 200}'), "scored")
    yield Hostile("1e999 in attributes", event(',"attributes":{"x":1e999}'), "scored")
    yield Hostile("an exponent of 20 digits", event(',"x":1e-99999999999999999999'), "scored")
    yield Hostile("the smallest double as timestamp", event(',"timestamp":5e-324'), "scored")


def bad_fields() -> Iterator[Hostile]:
    yield Hostile("no message", b'{"msg":"hunter2-canary"}', _INVALID, "`message`")
    yield Hostile("no field at all", b"{}", _INVALID, "`message`")
    yield Hostile("message in capitals", b'{"MESSAGE":"hunter2-canary"}', _INVALID, "`message`")
    yield Hostile("message with a Cyrillic e", '{"m\u0435ssage":"a"}'.encode(), _INVALID, "`message`")
    yield Hostile("message with a NUL behind it", b'{"message\\u0000":"a"}', _INVALID, "`message`")
    yield Hostile("message one level down", b'{"x":{"message":"hunter2-canary"}}', _INVALID, "`message`")
    yield Hostile("blank message", event(message='" \\t\\n"'), _INVALID, "`message`: is blank")
    yield Hostile("empty message", event(message='""'), _INVALID, "`message`: is blank")
    for name, value in (("null", "null"), ("number", "1"), ("object", "{}"), ("array", '["hunter2-canary"]')):
        yield Hostile(f"{name} as message", event(message=value), _INVALID, "`message`")
        if name != "null":
            yield Hostile(f"{name} as source", event(f',"source":{value}'), _INVALID, "`source`")
    yield Hostile("true as level", event(',"level":true'), _INVALID, "`level`")
    yield Hostile("object as id", event(f',"id":{{"{SECRET}":1}}'), _INVALID, "`id`")
    yield Hostile("long level", event(f',"level":"{SECRET * 10}"'), _INVALID, "`level`")
    yield Hostile("long id", event(f',"id":"{SECRET * 40}"'), _INVALID, "`id`")
    yield Hostile("long source", event(f',"source":"{SECRET * 40}"'), _INVALID, "`source`")
    yield Hostile("first of two messages bad", b'{"message":1,"message":"a"}', _INVALID, "`message`")


def bad_dates() -> Iterator[Hostile]:
    for name, value in (
        ("array as timestamp", f'["{SECRET}"]'),
        ("a month as timestamp", f'"{SECRET}"'),
        ("13th month", '"2026-13-01T00:00:00Z"'),
        ("a date alone", '"2026-11-30"'),
        ("line end behind it", '"2026-11-30T00:00:00Z\\n"'),
        ("Arabic digits", '"٢٠٢٦-11-30T00:00:00Z"'),
        ("five digits of a year", '"12026-11-30T00:00:00Z"'),
        ("1 MB timestamp", f'"{"9" * 1_000_000}"'),
    ):
        yield Hostile(name, event(f',"timestamp":{value}'), _INVALID, "`timestamp`")


def good_dates() -> Iterator[Hostile]:
    for stamp in ("-1", "0", "4102444800", "1764512345678901234", "-62135596800", "1e9", "1764512345.678"):
        yield Hostile(f"timestamp {stamp}", event(f',"timestamp":{stamp}'), "scored")
    for stamp in ("1970-01-01T00:00:00Z", "2100-12-31 23:59:60,999+0530", "0000-01-01t00:00:00.123456789z"):
        yield Hostile(f"timestamp {stamp}", event(f',"timestamp":"{stamp}"'), "scored")


def good_fields() -> Iterator[Hostile]:
    yield Hostile("duplicate keys", b'{"message":"a","message":"b"}', "scored")
    yield Hostile("message written in escapes", b'{"\\u006d\\u0065ssage":"a"}', "scored")
    yield Hostile("NUL escape", event(message='"a\\u0000b"'), "scored")
    yield Hostile("surrogate pair", event(message='"\\ud83d\\ude00"'), "scored")
    yield Hostile("noncharacters", event(message='"\\uffff\\ufffe"'), "scored")
    yield Hostile("escape characters", event(message='"\\u001b[31mERROR\\u001b[0m\\nERROR forged"'), "scored")
    yield Hostile("an escape sequence as level", event(',"level":"\\u001b]0;x\\u0007\\n"'), "scored")
    yield Hostile("a mask as level", event(',"level":"n> <ip"'), "scored")
    yield Hostile("a forged line as source", event(',"source":"web\\n{\\"level\\":\\"error\\"}"'), "scored")
    yield Hostile("bidi override as id", event(',"id":"\\u202egnp.exe"'), "scored")
    yield Hostile("names of ours", event(',"__proto__":{},"schema_version":9,"is_anomaly":false'), "scored")
    yield Hostile(
        "all optional null", event(',"id":null,"timestamp":null,"level":null,"source":null'), "scored"
    )

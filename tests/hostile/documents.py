"""JSON that is none, is no object, or is too much of one."""

from __future__ import annotations

from collections.abc import Iterator

from consumer.records import Reason
from tests.hostile.payload import SECRET, Hostile, event, members, nested

_BAD = Reason.UNDECODABLE


def nothing() -> Iterator[Hostile]:
    yield Hostile("tombstone", None, "empty")
    yield Hostile("empty value", b"", "empty")
    yield Hostile("tombstone where JSON is asked", None, "empty", format="json")
    yield Hostile("empty value where text is asked", b"", "empty", format="text")
    yield Hostile("blank text", b" \t\r\n ", "empty")
    yield Hostile("byte order mark alone", b"\xef\xbb\xbf", "empty")
    yield Hostile("line end alone", b"\n", "empty")
    yield Hostile("1 MB of blanks", b" " * 1_000_000, "empty")
    yield Hostile("1 MB of line ends", b"\r\n" * 500_000, "empty")
    yield Hostile("Unicode's other blanks", "\u2000\u3000\u00a0\u2028\u2029\u0085".encode(), "empty")
    yield Hostile("blank where JSON is asked", b"   ", _BAD, "ends too early", "json")


def cut_short() -> Iterator[Hostile]:
    early = "ends too early (byte"
    yield Hostile("a brace alone", b"{", _BAD, f"{early} 1)")
    yield Hostile("cut in a string", b'{"message":"hunter2-canary', _BAD, f"{early} 26)")
    yield Hostile("cut after a value", event()[:-1], _BAD, early)
    yield Hostile("cut in an escape", b'{"message":"hunter2\\u00', _BAD, early)
    yield Hostile("cut behind a backslash", b'{"message":"hunter2\\', _BAD, early)
    yield Hostile("cut in a number", b'{"message":"hunter2-canary","x":12', _BAD, early)
    yield Hostile("cut in a literal", b'{"message":"hunter2-canary","x":tru', _BAD, early)
    yield Hostile("cut behind a name", b'{"message"', _BAD, early)
    yield Hostile("100,000 strings that never end", event(',"x":["a"' + ',"a"' * 100_000)[:-1], _BAD, early)


def bad_grammar() -> Iterator[Hostile]:
    yield Hostile("a second document", event() + b"{}", _BAD, "trailing characters (byte")
    yield Hostile("JSON lines", event() + b"\n" + event(), _BAD, "trailing characters (byte")
    yield Hostile("text behind it", event() + SECRET.encode(), _BAD, "trailing characters")
    yield Hostile("NUL behind it", event() + b"\x00", _BAD, "trailing characters")
    yield Hostile("too many closing braces", event() + b"}" * 1_000, _BAD, "trailing characters")
    yield Hostile("brackets that do not match", event(',"x":[1'), _BAD, "(byte")
    yield Hostile("single quotes", b"{'message':'hunter2-canary'}", _BAD, "(byte 1)")
    yield Hostile("a name without quotes", b'{message:"hunter2-canary"}', _BAD, "(byte 1)")
    yield Hostile("trailing comma", event(","), _BAD, "(byte 28)")
    yield Hostile("comment", b'{/*hunter2-canary*/"message":"a"}', _BAD, "(byte 1)")
    yield Hostile("raw line end in a string", b'{"message":"hunter2\ncanary"}', _BAD, "(byte 19)")
    yield Hostile("raw NUL in a string", b'{"message":"hunter2\x00canary"}', _BAD, "(byte 19)")
    yield Hostile("raw escape character in a string", b'{"message":"\x1b[31mhunter2"}', _BAD, "(byte 12)")
    yield Hostile("unknown escape", b'{"message":"\\xhunter2-canary"}', _BAD, "escape")
    yield Hostile("text that looks like a template", b"{{user}} hunter2-canary", _BAD, "(byte 1)")
    yield Hostile("text where JSON is asked", b"hunter2-canary", _BAD, "(byte 0)", "json")
    yield Hostile("a thousand braces", b"{" * 1_000, _BAD, "(byte 1)")
    yield Hostile("blanks all around", b' {\t"message" :\r\n"a" } \n', "scored", format="json")
    yield Hostile("line ends behind it", event() + b"\r\n \t", "scored")


def not_objects() -> Iterator[Hostile]:
    for name, value in (
        ("null", b"null"),
        ("number", b"42"),
        ("number of 5,000 digits", b"7" * 5_000),
        ("string", b'"hunter2-canary"'),
        ("array", b'[{"message":"hunter2-canary"}]'),
        ("true", b"true"),
        ("100,000 arrays", b"[" * 100_000),
    ):
        yield Hostile(f"{name} where JSON is asked", value, _BAD, "not an object", "json")


def too_complex() -> Iterator[Hostile]:
    bad, deep = Reason.TOO_COMPLEX, "input.max_depth"
    for depth in (33, 500, 1_500, 100_000):
        yield Hostile(f"{depth} arrays", nested(depth, "[", "]"), bad, deep)
        yield Hostile(f"{depth} objects", nested(depth, '{"a":', "}").replace(b":}", b":0}"), bad, deep)
    yield Hostile(
        "objects and arrays by turns", nested(300, '[{"a":', "}]").replace(b":}", b":0}"), bad, deep
    )
    yield Hostile("100,000 arrays that never end", event(f',"x":{"[" * 100_000}'), bad, deep)
    yield Hostile("5,000 fields", members(5_000), bad, "input.max_fields")
    yield Hostile("1,001 fields", members(1_001), bad, "1001 fields")
    yield Hostile("as many fields as fit", event(',"":0' * 209_000), bad, "209001 fields")
    yield Hostile("600 times the same field", event(',"x":{"y":1}' * 600), bad, "1201 fields")
    yield Hostile("2,000 messages", event(',"message":"a"' * 2_000), bad, "2001 fields")


def complex_enough() -> Iterator[Hostile]:
    yield Hostile("32 arrays", nested(32, "[", "]"), "scored")
    yield Hostile("1,000 fields", members(1_000), "scored")
    yield Hostile("100,000 brackets in a string", event(f',"x":"{"[{" * 50_000}"'), "scored")
    quote, backslash = chr(92) + '"', chr(92) * 2
    yield Hostile("brackets behind escaped quotes", event(f',"x":"{quote}{"[" * 99}{backslash}"'), "scored")
    yield Hostile("10,000 flat arrays", event(f',"x":[{",".join(["[]"] * 10_000)}]'), "scored")
    yield Hostile("10,000 colons in a string", event(f',"x":"{":" * 10_000}"'), "scored")
    yield Hostile("a name of 1 MB", event(f',"{"n" * 1_000_000}":0'), "scored")
    yield Hostile("an empty name", event(',"":{"":0}'), "scored")

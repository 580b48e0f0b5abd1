"""Every way in which bytes fail to be UTF-8, in JSON and in text, and what only looks like a failure."""

from __future__ import annotations

from collections.abc import Iterator

from consumer.records import Reason
from tests.hostile.payload import Hostile, event

_BAD = Reason.UNDECODABLE
_MARK = b"\xef\xbb\xbf"

# After Markus Kuhn's stress test and Unicode, table 3-7.
_FAULTS = (
    ("first continuation byte", b"\x80"),
    ("last continuation byte", b"\xbf"),
    ("64 continuation bytes", bytes(range(0x80, 0xC0))),
    ("lead bytes of two alone", bytes(range(0xC2, 0xE0))),
    ("lead bytes of three alone", bytes(range(0xE0, 0xF0))),
    ("lead bytes of four alone", bytes(range(0xF0, 0xF5))),
    ("two of three bytes", b"\xe2\x82"),
    ("three of four bytes", b"\xf0\x9f\x98"),
    ("impossible bytes", b"\xfe\xff"),
    ("overlong NUL", b"\xc0\x80"),
    ("overlong slash", b"\xc0\xaf"),
    ("overlong slash in three", b"\xe0\x80\xaf"),
    ("overlong slash in four", b"\xf0\x80\x80\xaf"),
    ("five bytes", b"\xf8\x88\x80\x80\x80"),
    ("six bytes", b"\xfc\x84\x80\x80\x80\x80"),
    ("high surrogate", b"\xed\xa0\x80"),
    ("low surrogate", b"\xed\xbf\xbf"),
    ("surrogate pair as CESU-8", b"\xed\xa0\xbd\xed\xb8\x80"),
    ("beyond the last character", b"\xf4\x90\x80\x80"),
    ("beyond the last plane", b"\xf5\x80\x80\x80"),
)


def not_utf8() -> Iterator[Hostile]:
    for name, fault in _FAULTS:
        value = b'{"message":"hunter2' + fault + b'"}'
        yield Hostile(f"{name} in JSON", value, _BAD, "not UTF-8 (byte 19)")
        yield Hostile(f"{name} in text", b"disk " + fault + b" closed", "scored")
    yield Hostile("bad UTF-8 in an unknown field", b'{"message":"a","x":"\xff"}', _BAD, "not UTF-8 (byte 20)")
    yield Hostile("bad UTF-8 in an unknown name", b'{"message":"a","\xff":1}', _BAD, "not UTF-8 (byte 16)")
    yield Hostile("bad UTF-8 deep inside", b'{"message":"a","x":[["\xc3"]]}', _BAD, "not UTF-8 (byte")
    yield Hostile("Latin-1", '{"message":"Grüße"}'.encode("latin-1"), _BAD, "not UTF-8 (byte")


def lone_surrogates() -> Iterator[Hostile]:
    for name, message in (
        ("lone high surrogate at the end", '"\\ud800"'),
        ("lone high surrogate and an escape at the end", '"\\ud800\\n"'),
        ("lone high surrogate and a letter at the end", '"\\uDBFFa"'),
        ("lone high surrogate", '"\\ud800 and on and on"'),
        ("two high surrogates", '"\\ud800\\ud800 and on"'),
        ("lone low surrogate", '"\\udc00 and on and on"'),
        ("lone low surrogate at the end", '"\\udfff"'),
        ("surrogates swapped", '"\\udc00\\ud800 and on"'),
    ):
        yield Hostile(name, event(message=message), _BAD, "half of a surrogate pair (byte")
    yield Hostile(
        "lone surrogate in an unknown field", event(',"x":"\\ud800"'), _BAD, "half of a surrogate pair (byte"
    )
    yield Hostile(
        "lone surrogate in a name", event(',"\\udfff and on":1'), _BAD, "half of a surrogate pair (byte"
    )
    cut = b'{"message":"hunter2 \\\\ud800"'
    yield Hostile("cut behind what is no surrogate", cut, _BAD, "ends too early")
    yield Hostile("cut in the second half of a pair", b'{"message":"\\ud83d\\ude', _BAD, "ends too early")


def marks() -> Iterator[Hostile]:
    yield Hostile("byte order mark before JSON", _MARK + event(), _BAD, "byte order mark (byte 0)")
    yield Hostile("the same where JSON is asked", _MARK + event(), _BAD, "mark (byte 0)", "json")
    yield Hostile("byte order mark before text", _MARK + b"closed", "scored")
    yield Hostile("two byte order marks before text", _MARK * 2 + b"closed", "scored")
    yield Hostile("byte order mark inside", b"disk " + _MARK + b"closed", "scored")
    yield Hostile("UTF-16 JSON", event().decode().encode("utf-16-le"), _BAD, "(byte 1)")
    yield Hostile("UTF-32 JSON", event().decode().encode("utf-32-le"), _BAD, "(byte 1)")


def other_encodings() -> Iterator[Hostile]:
    for encoding in ("utf-16", "utf-16-be", "utf-32", "utf-7", "cp500", "shift_jis", "gb18030", "koi8-r"):
        text = "disk 7 closed \u0444" if encoding == "koi8-r" else "disk 7 closed"
        yield Hostile(f"text in {encoding}", text.encode(encoding), "scored")
    yield Hostile("noncharacters in UTF-8", b"\xef\xbf\xbe \xef\xbf\xbf \xf4\x8f\xbf\xbf", "scored")
    yield Hostile("all bytes backwards", bytes(range(255, -1, -1)) * 4, "scored")
    yield Hostile("1 MB of bad bytes", b"\xff" * 1_000_000, "scored")

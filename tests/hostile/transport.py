"""What a record carries beside its value: size, key, headers, timestamp."""

from __future__ import annotations

from collections.abc import Iterator

from consumer.records import Reason
from tests.hostile.payload import NO_TIMESTAMP, SECRET, Hostile, event

_BAD, _TOO_LARGE = Reason.UNDECODABLE, Reason.UNPUBLISHABLE
_HUGE_KEY = b"k" * 1_500_000


def oversize() -> Iterator[Hostile]:
    bytes_, limit = Reason.OVERSIZE, "input.max_bytes is 1048576"
    yield Hostile("one byte too many", b"x" * 1_048_577, bytes_, limit)
    yield Hostile("5 MB of text", SECRET.encode() * 360_000, bytes_, limit)
    yield Hostile("5 MB of JSON", event(f',"x":"{SECRET * 360_000}"'), bytes_, limit)
    yield Hostile("2 MB of opening brackets", b'{"message":' + b"[" * 2_000_000, bytes_, limit)


def keys() -> Iterator[Hostile]:
    for name, key in (
        ("binary key", b"\xff\x00\xfe"),
        ("empty key", b""),
        ("100 KB key", b"k" * 100_000),
        ("100 KB binary key", b"\xff" * 100_000),
        ("key of a lone surrogate", b"\xed\xa0\x80"),
        ("key of controls", b"\x1b[2J\n\x00\r"),
        ("key of quotes", b'"\\"},{"a":"'),
        ("key that ends a template", b"%d%s%b%%"),
        ("key of 2,000 emoji", "\U0001f600".encode() * 2_000),
        ("bidi override as key", "\u202eyek".encode()),
    ):
        yield Hostile(name, b"disk closed", "scored", key=key)
    yield Hostile("binary key of a bad record", b"{", _BAD, key=b"\xff\x00\xfe")
    yield Hostile("1.5 MB key", b"disk closed", _TOO_LARGE, "a key of 1500000 bytes", key=_HUGE_KEY)
    yield Hostile("1.5 MB key of a tombstone", None, _TOO_LARGE, "a key of", key=_HUGE_KEY)
    yield Hostile("1.5 MB key of a bad record", b"{", _BAD, key=_HUGE_KEY)


def unreadable_headers() -> Iterator[Hostile]:
    bad, detail, unreadable = Reason.BAD_HEADERS, "header", ((b"\xff\xfe", b"v"),)
    yield Hostile("header names that nobody can read", b"closed", bad, detail, headers=unreadable)
    yield Hostile("the same on a tombstone", None, bad, detail, headers=unreadable)
    yield Hostile("the same on a bad record", b"{", bad, detail, headers=unreadable)
    some = ((b"a", b"1"), (b"caf\xe9", b"2"), (b"b", b"3"))
    yield Hostile("one such name among others", b"closed", bad, detail, headers=some)
    yield Hostile("a surrogate as header name", b"closed", bad, detail, headers=((b"\xed\xa0\x80", None),))


def headers() -> Iterator[Hostile]:
    large, tiny = ((b"h", b"v" * 100),) * 10_000, ((b"h", None),) * 50_000
    for name, several in (
        ("header values that are not text", ((b"a", b"\xff\x00"), (b"b", None), (b"c", b""))),
        ("empty header name", ((b"", b""), ("\u202e".encode(), b"\x00"))),
        ("controls in a header name", ((b"\x1b[2J\r\nSet-Cookie: a", b"\r\n"),)),
        ("a header name of 500 KB", ((b"n" * 500_000, b"v"),)),
        ("forged verdict", ((b"is_anomaly", b"true"), (b"a", None))),
        ("1 MB of headers", large),
        ("50,000 headers", tiny),
        ("traces that are none", ((b"traceparent", b"\xff" * 55), (b"tracestate", b"x" * 100_000))),
    ):
        yield Hostile(name, b"closed", "scored", headers=several)
    yield Hostile("1 MB of headers of a bad record", b"{", _BAD, headers=large)
    yield Hostile("50,000 headers of a bad record", b"{", _BAD, headers=tiny)
    yield Hostile("50,000 headers of a tombstone", None, "empty", headers=tiny)
    forged = ((b"consumer.reason", b"poison"), (b"__connect.errors.offset", b"-1"))
    yield Hostile("forged dead letter", b"{", _BAD, headers=forged)
    yield Hostile("the same header twice", b"{", _BAD, headers=((b"a", b"1"), (b"a", b"2"), (b"a", None)))


def timestamps() -> Iterator[Hostile]:
    for name, milliseconds in (
        ("no timestamp", NO_TIMESTAMP),
        ("the year 1", -62_135_596_800_000),
        ("the millisecond before 1970", -2),
        ("1970", 0),
        ("the first millisecond", 1),
        ("2100", 4_102_444_800_000),
        ("the year 10000", 253_402_300_800_000),
        ("the end of time", 2**63 - 1),
        ("seconds", 1_764_512_345),
        ("nanoseconds", 1_764_512_345_678_901_234),
    ):
        yield Hostile(f"record of {name}", b"disk closed", "scored", timestamp=milliseconds)
        yield Hostile(f"bad record of {name}", b"{", _BAD, timestamp=milliseconds)

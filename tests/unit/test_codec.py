"""What the codec makes of a record."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from consumer import codec
from consumer.codec import EventCodec
from consumer.records import Decoded, Empty, Event, Headers, Reason, Record, Rejection
from consumer.settings import Input


def decode(
    value: bytes | None, *, keep_document: bool = False, headers: Headers | None = (), **settings: Any
) -> Decoded:
    record = Record("events", 0, 0, value, headers=headers)
    return EventCodec(Input(**settings), keep_document=keep_document).decode(record)


def event(value: bytes, **settings: Any) -> Event:
    decoded = decode(value, **settings)
    assert isinstance(decoded, Event), decoded
    return decoded


def rejected(value: bytes | None, **settings: Any) -> Rejection:
    decoded = decode(value, **settings)
    assert isinstance(decoded, Rejection), decoded
    return decoded


def test_every_field_of_a_json_event_is_carried() -> None:
    value = b"""{"message": "user 7 logged in", "id": "e-1", "timestamp": "2026-11-30T15:40:07.123Z",
        "source": "web-1", "level": "WARN", "attributes": {"a": [1, 2]}, "unknown": {"b": null}}"""
    assert event(value) == Event("user 7 logged in", "WARN", "e-1", "2026-11-30T15:40:07.123Z", "web-1")


def test_only_the_message_is_required() -> None:
    assert event(b'{"message":"a"}') == Event("a")


def test_null_and_empty_optional_fields_are_absent_ones() -> None:
    value = b'{"message":"a","id":"","level":null,"source":"","timestamp":null}'
    assert event(value) == Event("a")


@pytest.mark.parametrize(
    ("level", "name"),
    [(0, "emergency"), (3, "error"), (4, "warning"), (7, "debug"), (8, "8"), (30, "30"), (1000, "1000")],
)
def test_a_number_of_syslog_is_its_severity_and_any_other_its_digits(level: int, name: str) -> None:
    assert event(b'{"message":"a","level":%d}' % level).level == name


def test_an_integer_id_is_carried_as_its_digits() -> None:
    assert event(b'{"message":"a","id":18446744073709551615}').id == "18446744073709551615"
    assert event(b'{"message":"a","id":0}').id == "0"


@pytest.mark.parametrize("stamp", [-1, 0, 1764512345, 1764512345678, 1764512345678901234, 1764512345.5])
def test_a_timestamp_in_numbers_is_carried_verbatim(stamp: float) -> None:
    assert event(json.dumps({"message": "a", "timestamp": stamp}).encode()).timestamp == stamp


def test_the_last_of_duplicate_keys_wins() -> None:
    assert event(b'{"message":"a","level":"x","message":"b","level":"y"}') == Event("b", "y")


def test_a_json_message_keeps_its_blanks_and_line_ends() -> None:
    assert event(b'{"message":" a\\r\\n"}').message == " a\r\n"


def test_auto_reads_what_starts_with_a_brace_as_json_and_all_else_as_text() -> None:
    assert event(b'{"message":"a"}').message == "a"
    assert event(b' {"message":"a"}').message == ' {"message":"a"}'
    assert rejected(b"{a").reason is Reason.UNDECODABLE


def test_a_fixed_format_does_not_look_at_the_first_byte() -> None:
    assert event(b'{"message":"a"}', format="text").message == '{"message":"a"}'
    assert rejected(b"plain", format="json").reason is Reason.UNDECODABLE
    assert event(b'  {"message":"a"}', format="json").message == "a"


def test_text_loses_its_byte_order_mark_and_trailing_line_ends_alone() -> None:
    assert event(b"\xef\xbb\xbf  a\nb \r\n\n").message == "  a\nb "


def test_bytes_that_are_not_utf8_are_replaced_in_text_and_flagged() -> None:
    decoded = event(b"caf\xe9 closed")
    assert (decoded.message, decoded.replaced) == ("caf\ufffd closed", True)
    assert not event("café".encode()).replaced


def test_levels_in_plain_text_are_not_read() -> None:
    assert event(b"ERROR disk full").level is None


def test_a_tombstone_and_an_empty_value_are_empty_before_their_format_matters() -> None:
    for value in (None, b""):
        for form in ("auto", "json", "text"):
            assert decode(value, format=form) == Empty()


def test_blank_text_is_empty_and_a_blank_json_message_is_invalid() -> None:
    assert decode(b" \t\n") == Empty()
    assert rejected(b'{"message":" \\t"}') == Rejection(Reason.INVALID, "`message`: is blank")


def test_unreadable_header_names_come_before_everything_else() -> None:
    assert rejected(None, headers=None).reason is Reason.BAD_HEADERS
    assert rejected(b"x" * 100, headers=None, max_bytes=10).reason is Reason.BAD_HEADERS


def test_the_size_is_checked_before_anything_is_parsed() -> None:
    assert rejected(b'{"mess', max_bytes=5).detail == "value has 6 bytes, input.max_bytes is 5"
    assert event(b"abcde", max_bytes=5).message == "abcde"


def test_a_long_text_is_cut_in_the_middle_and_the_cut_is_named() -> None:
    decoded = event(b"abcdefghij", max_text_chars=5)
    assert (decoded.message, decoded.truncated, decoded.cut) == ("abcij", True, (3, 8))
    assert event(b"abcde", max_text_chars=5) == Event("abcde")


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_cut_text_and_what_is_missing_make_up_the_original(limit: int) -> None:
    text = "0123456789ab"
    decoded = event(text.encode(), max_text_chars=limit)
    assert decoded.cut is not None
    start, end = decoded.cut
    assert decoded.message == text[:start] + text[end:]
    assert len(decoded.message) == limit


def test_a_long_text_is_rejected_on_request_in_json_too() -> None:
    for value in (b"abcdef", b'{"message":"abcdef"}'):
        rejection = rejected(value, max_text_chars=5, long_text="reject")
        assert rejection == Rejection(Reason.OVERSIZE, "text has 6 characters, input.max_text_chars is 5")


def test_length_counts_characters_not_bytes() -> None:
    assert event("€€€".encode(), max_text_chars=3).message == "€€€"


def test_depth_counts_the_event_itself() -> None:
    assert event(b'{"message":"a","x":[[]]}', max_depth=3)
    assert rejected(b'{"message":"a","x":[[]]}', max_depth=2).reason is Reason.TOO_COMPLEX
    assert event(b'{"message":"a","x":[],"y":[],"z":"[[[["}', max_depth=2)


def test_fields_are_counted_at_every_level_and_not_in_strings() -> None:
    value = b'{"message":"a:b:c","x":[{"y":1},{"y":2}]}'
    assert event(value, max_fields=4)
    assert rejected(value, max_fields=3) == Rejection(Reason.TOO_COMPLEX, "4 fields, input.max_fields is 3")


def test_the_document_is_kept_on_request_in_one_line_with_the_last_of_duplicate_keys() -> None:
    value = b'{"message": "a",\n "x": 1, "x": {"y": 18446744073709551616}}'
    assert event(value, keep_document=True).document == b'{"message":"a","x":{"y":18446744073709551616}}'
    assert event(value).document is None
    assert event(b"text", keep_document=True).document is None


def test_a_document_with_a_number_beyond_a_double_is_scored_but_not_repeated() -> None:
    decoded = event(b'{"message":"a","x":1e999}', keep_document=True)
    assert (decoded.message, decoded.document) == ("a", None)


def test_a_cut_event_keeps_its_document_and_the_document_its_whole_text() -> None:
    decoded = event(b'{"message":"abcdef"}', keep_document=True, max_text_chars=4)
    assert (decoded.message, decoded.document) == ("abef", b'{"message":"abcdef"}')


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("hunter2"), KeyError("hunter2")])
def test_whatever_the_parser_raises_becomes_a_rejection_without_its_words(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(_: bytes) -> None:
        raise error

    monkeypatch.setattr(codec, "_parse", explode)
    rejection = rejected(b'{"message":"a"}')
    assert rejection.reason is Reason.UNDECODABLE
    assert rejection.detail == f"the decoder failed with {type(error).__name__}"


def test_a_rejection_names_the_field_that_is_wrong() -> None:
    assert rejected(b'{"message":1}').detail == "`message`: Expected `str`, got `int`"
    assert "`level`" in rejected(b'{"message":"a","level":1001}').detail
    assert rejected(b'{"x":1}').detail == "Object missing required field `message`"


def test_the_parser_still_says_what_our_explanations_look_for() -> None:
    """The details are made from msgspec's sentences; a new version may word them anew."""
    with pytest.raises(msgspec.DecodeError, match="truncated"):
        msgspec.json.decode(b'{"a')
    with pytest.raises(msgspec.DecodeError, match="UTF-8"):
        msgspec.json.decode(b'"\xff"')
    with pytest.raises(msgspec.DecodeError, match="surrogate pair"):
        msgspec.json.decode(b'"\\ud800 and on"')
    with pytest.raises(msgspec.DecodeError, match="unexpected end of hex escape"):
        msgspec.json.decode(b'{"x":"\\ud800 and on"}', type=msgspec.defstruct("_", []))
    with pytest.raises(msgspec.ValidationError, match=r"^Object missing"):
        msgspec.json.decode(b"{}", type=msgspec.defstruct("_", [("a", str)]))
    with pytest.raises(msgspec.ValidationError, match=r" - at `\$.a`"):
        msgspec.json.decode(b'{"a":1}', type=msgspec.defstruct("_", [("a", str)]))

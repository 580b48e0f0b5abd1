"""The codec against random input: it never raises, never leaks, and counts as a slow walk would."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from consumer.codec import EventCodec, _skeleton
from consumer.codec import _depth as depth_of
from consumer.records import Empty, Event, Record, Rejection
from consumer.settings import Input

_CODECS = [EventCodec(Input(format=form), keep_document=True) for form in ("auto", "json", "text")]
_ODD = st.sampled_from([chr(34), chr(92), chr(92) + chr(34), "[{", ":}]", ""])
_TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | _ODD
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=30,
)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _members(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_members, value.values()))
    return sum(map(_members, value)) if isinstance(value, list) else 0


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: b'{"message":' + tail))
def test_any_bytes_have_an_outcome(value: bytes) -> None:
    for codec in _CODECS:
        decoded = codec.decode(Record("events", 0, 0, value))
        assert isinstance(decoded, Event | Empty | Rejection)


@given(_JSON, st.sampled_from(["message", "id", "level", "timestamp", "source", "x"]))
def test_any_json_under_any_field_has_an_outcome(value: Any, field: str) -> None:
    document = {"message": "text", field: value}
    decoded = _CODECS[0].decode(Record("events", 0, 0, json.dumps(document).encode()))
    if isinstance(decoded, Event):
        assert decoded.message == document["message"]
        assert decoded.document is not None
        assert json.loads(decoded.document) == document
    else:
        assert isinstance(decoded, Rejection)
        assert field in decoded.detail


@given(st.text(st.characters(codec="ascii", categories=["Lu"]), min_size=6, max_size=20), st.data())
def test_no_rejection_repeats_what_was_in_the_value(canary: str, data: st.DataObject) -> None:
    whole = json.dumps({"message": canary, canary: canary, "level": [canary], "id": {"x": canary}}).encode()
    value = whole[: data.draw(st.integers(1, len(whole)))]
    decoded = _CODECS[1].decode(Record("events", 0, 0, value))
    assert isinstance(decoded, Rejection)
    assert canary not in decoded.detail


@given(_JSON, st.booleans())
def test_depth_and_fields_are_counted_as_a_walk_over_the_document_does(value: Any, ascii_only: bool) -> None:
    skeleton = _skeleton(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert depth_of(skeleton) == _depth(value)
    assert skeleton.count(b":") == _members(value)


@given(_JSON)
def test_the_limits_hold_exactly(value: Any) -> None:
    document = {"message": "a", "x": value}
    record = Record("events", 0, 0, json.dumps(document).encode())
    depth, members = _depth(document), _members(document)
    assert isinstance(EventCodec(Input(max_depth=depth, max_fields=members)).decode(record), Event)
    assert isinstance(EventCodec(Input(max_depth=depth, max_fields=members - 1)).decode(record), Rejection)
    if depth > 1:
        assert isinstance(EventCodec(Input(max_depth=depth - 1)).decode(record), Rejection)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=50))
def test_text_survives_unless_it_is_blank(text: str) -> None:
    decoded = EventCodec(Input(format="text")).decode(Record("events", 0, 0, text.encode()))
    kept = text.removeprefix("\ufeff").rstrip("\r\n")
    assert decoded == (Event(kept) if kept.strip() else Empty())

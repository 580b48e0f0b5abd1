"""What a result says, and that it always fits."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import msgspec
import pytest

from consumer.encode import Encoded, ResultEncoder
from consumer.errors import BadRecord
from consumer.ports import ModelInfo
from consumer.records import Duplicate, Empty, Entry, Event, Output, Reason, Record, Rejection, Score, Token
from consumer.results import rfc3339
from consumer.settings import Results

AT = 1_764_512_345_999
MODEL = ModelInfo("demo", "f" * 64)
RECORD = Record("events", 3, 42, b"value", b"user-1", 1_764_512_345_678)
EVENT = Event("disk sda1 failed", "error", "e-1", "2026-11-30T15:40:07Z", "web-1")
SCORE = Score(
    4.25,
    True,
    2.5,
    {"language-model": 3.5, "novelty": None},
    extrapolated=True,
    tokens=(Token("sda1", 5, 9, 7.25),),
)
TRACE = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def encode(
    record: Record = RECORD, event: Any = EVENT, verdict: Any = SCORE, at: int = AT, **settings: Any
) -> Encoded:
    output = Output(Entry(record, event), verdict)
    return ResultEncoder(Results(**settings), "group-1", MODEL).encode(output, at)


def result(*args: Any, **kwargs: Any) -> dict[str, Any]:
    value = encode(*args, **kwargs).value
    assert value is not None
    decoded: dict[str, Any] = json.loads(value)
    return decoded


def change(struct: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(struct, **fields)


def test_a_scored_record_says_all_there_is_to_say() -> None:
    assert result() == {
        "schema_version": 1,
        "id": "events|3|42",
        "outcome": "scored",
        "input": {
            "topic": "events",
            "partition": 3,
            "offset": 42,
            "timestamp": 1_764_512_345_678,
            "key": "user-1",
        },
        "group": "group-1",
        "model": {"name": "demo", "version": "f" * 64},
        "scored_at": "2025-11-30T14:19:05.999Z",
        "score": 4.25,
        "is_anomaly": True,
        "threshold": 2.5,
        "parts": {"language-model": 3.5, "novelty": None},
        "extrapolated": True,
        "truncated": False,
        "message": "disk sda1 failed",
        "event_id": "e-1",
        "event_timestamp": "2026-11-30T15:40:07Z",
        "event_source": "web-1",
        "level": "error",
        "tokens": [{"start": 5, "end": 9, "surprisal": 7.25, "text": "sda1"}],
    }


def test_an_empty_record_has_neither_score_nor_threshold_nor_verdict_header() -> None:
    encoded = encode(event=Empty(), verdict=Empty())
    assert encoded.headers == []
    assert set(json.loads(encoded.value or b"")) == {
        "schema_version",
        "id",
        "outcome",
        "input",
        "group",
        "model",
        "scored_at",
    }


def test_a_repeat_of_an_event_names_its_id_and_the_first_record_and_nothing_of_a_score() -> None:
    repeat = Duplicate("e-1", 5, 7)
    encoded = encode(event=repeat, verdict=repeat)
    written = json.loads(encoded.value or b"")
    assert encoded.headers == []
    assert (written["id"], written["outcome"], written["event_id"]) == ("events|3|42", "duplicate", "e-1")
    assert written["first"] == {"topic": "events", "partition": 5, "offset": 7}
    assert not {"score", "is_anomaly", "threshold", "message"} & written.keys()


def test_the_key_is_the_inputs_key_byte_for_byte() -> None:
    for key in (None, b"", b"user-1", b"\xff\x00", b"k" * 5_000):
        assert encode(change(RECORD, key=key)).key == key


@pytest.mark.parametrize(
    ("key", "written"),
    [
        (None, {"key": None}),
        (b"", {"key": ""}),
        ("ü".encode(), {"key": "ü"}),
        (b"\xff\x00", {"key": "/wA=", "key_encoding": "base64"}),
        (b"k" * 1_025, {"key": "k" * 1_024, "key_truncated": True}),
        (b"\xff" * 769, {"key": "/" * 1_024, "key_encoding": "base64", "key_truncated": True}),
    ],
)
def test_the_key_in_the_value_is_text_or_base64_and_bounded(
    key: bytes | None, written: dict[str, Any]
) -> None:
    shown = result(change(RECORD, key=key))["input"]
    assert {name: value for name, value in shown.items() if name.startswith("key")} == written


def test_the_id_is_the_coordinates_behind_the_prefix_and_nothing_else() -> None:
    assert result(id_prefix="v2/")["id"] == "v2/events|3|42"
    assert result(verdict=change(SCORE, score=9.0), at=AT + 1)["id"] == "events|3|42"


def test_a_repeat_differs_in_scored_at_alone() -> None:
    first, second = result(), result(at=AT + 60_000)
    assert first.pop("scored_at") != second.pop("scored_at")
    assert first == second


@pytest.mark.parametrize(("is_anomaly", "header"), [(True, b"true"), (False, b"false")])
def test_a_header_tells_the_verdict_and_cannot_be_forged(is_anomaly: bool, header: bytes) -> None:
    record = change(RECORD, headers=(("is_anomaly", b"forged"), TRACE, ("is_anomaly", None)))
    verdict = change(SCORE, is_anomaly=is_anomaly)
    assert encode(record, verdict=verdict).headers == [TRACE, ("is_anomaly", header)]
    assert encode(record, event=Empty(), verdict=Empty()).headers == [TRACE]


def test_input_headers_pass_within_their_limit_the_trace_first() -> None:
    record = change(RECORD, headers=(("a", b"x" * 90), TRACE, ("b", None)))
    assert encode(record).headers[:-1] == list(record.headers)
    assert encode(record, max_header_bytes=90).headers[:-1] == [TRACE, ("b", None)]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "broken",
    [
        lambda x: change(SCORE, score=x),
        lambda x: change(SCORE, threshold=x),
        lambda x: change(SCORE, parts={"novelty": x}),
        lambda x: change(SCORE, tokens=(Token("a", 0, 1, x),)),
    ],
    ids=["score", "threshold", "parts", "tokens"],
)
def test_a_number_that_is_not_finite_is_never_written(broken: Any, number: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        encode(verdict=broken(number))


def test_a_rejection_is_not_a_result() -> None:
    with pytest.raises(TypeError, match="dead letter"):
        encode(verdict=Rejection(Reason.POISON, "x"))


def test_include_none_repeats_no_text_not_even_that_of_tokens() -> None:
    shown = result(include="none")
    assert "message" not in shown
    assert shown["tokens"] == [{"start": 5, "end": 9, "surprisal": 7.25}]
    assert "sda1" not in json.dumps(shown)


def test_include_event_repeats_the_document_instead_of_the_message() -> None:
    shown = result(event=change(EVENT, document=b'{"message":"disk sda1 failed","x":1}'), include="event")
    assert shown["event"] == {"message": "disk sda1 failed", "x": 1}
    assert "message" not in shown


def test_include_event_repeats_the_message_where_there_is_no_document() -> None:
    shown = result(include="event")
    assert shown["message"] == EVENT.message
    assert "event" not in shown


def test_the_document_is_not_written_unless_asked_for() -> None:
    assert "event" not in result(event=change(EVENT, document=b"{}"))


def test_a_long_message_is_cut_to_its_beginning_and_flagged() -> None:
    shown = result(max_message_chars=4)
    assert (shown["message"], shown["message_truncated"]) == ("disk", True)
    assert "message_truncated" not in result(max_message_chars=len(EVENT.message))


def test_flags_of_the_text_are_carried() -> None:
    shown = result(event=change(EVENT, replaced=True))
    assert (shown["replaced"], shown["truncated"]) == (True, False)
    assert result(verdict=change(SCORE, truncated=True))["truncated"] is True


def test_spans_index_the_original_of_a_cut_text_and_its_message_is_a_prefix_of_that() -> None:
    original = "abcdefghij"
    event = Event("abcij", truncated=True, cut=(3, 8))
    tokens = (Token("b", 1, 2, 1.0), Token("i", 3, 4, 1.0), Token("j", 4, 5, 1.0), Token("c", 2, 3, 1.0))
    tokens += (Token("ci", 2, 4, 1.0),)
    shown = result(event=event, verdict=change(SCORE, tokens=tokens))
    assert original.startswith(shown["message"])
    assert (shown["message"], shown["message_truncated"], shown["truncated"]) == ("abc", True, True)
    assert [original[token["start"] : token["end"]] for token in shown["tokens"][:4]] == list("bijc")
    across = shown["tokens"][4]
    assert original[across["start"] : across["end"]] == "cdefghi"


def test_the_event_gives_way_to_the_message_where_it_does_not_fit() -> None:
    event = change(EVENT, document=b'{"message":"disk sda1 failed","x":"%s"}' % (b"y" * 16_384))
    encoded = encode(event=event, include="event", max_bytes=16_384)
    shown = json.loads(encoded.value or b"")
    assert shown["message"] == EVENT.message
    assert "event" not in shown
    assert "message_truncated" not in shown


def test_a_message_that_does_not_fit_is_cut_further_and_the_tokens_stay() -> None:
    event = Event("\x01" * 20_000)
    encoded = encode(event=event, max_message_chars=20_000, max_bytes=16_384)
    shown = json.loads(encoded.value or b"")
    assert encoded.size() <= 16_384
    assert 0 < len(shown["message"]) < 2_700
    assert shown["message_truncated"] is True
    assert shown["tokens"]


def test_tokens_that_do_not_fit_are_left_out_before_the_verdict_ever_is() -> None:
    tokens = tuple(Token("x" * 100, i, i + 1, 1.0) for i in range(1_000))
    shown = result(verdict=change(SCORE, tokens=tokens), max_bytes=16_384)
    assert "tokens" not in shown
    assert shown["score"] == SCORE.score
    assert shown["level"] == "error"


def test_headers_and_the_events_own_fields_go_last() -> None:
    event = change(EVENT, id="\x01" * 512, source="\x01" * 512, level="\x01" * 64)
    record = change(RECORD, key=b"k" * 10_000, headers=(("h", b"v" * 8_000),))
    encoded = encode(record, event, max_bytes=16_384)
    shown = json.loads(encoded.value or b"")
    assert encoded.size() <= 16_384
    assert encoded.headers == [("is_anomaly", b"true")]
    assert encoded.key == record.key
    assert shown["score"] == SCORE.score
    assert shown["input"] == {
        "topic": "events",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_764_512_345_678,
        "key": "",
        "key_truncated": True,
    }


def test_a_key_that_leaves_no_room_makes_the_record_a_dead_letter() -> None:
    with pytest.raises(BadRecord) as caught:
        encode(change(RECORD, key=b"k" * 16_384), max_bytes=16_384)
    assert caught.value.rejection.reason is Reason.UNPUBLISHABLE
    assert "output.max_bytes is 16384" in caught.value.rejection.detail


@pytest.mark.parametrize("extra", range(0, 400, 7))
def test_no_result_is_ever_larger_than_allowed(extra: int) -> None:
    event = Event("m" * (15_000 + extra * 5))
    record = change(RECORD, headers=(("h", b"v" * extra),), key=b"k" * extra)
    assert encode(record, event, max_message_chars=100_000, max_bytes=16_384).size() <= 16_384


@pytest.mark.parametrize("milliseconds", [0, 1, 999, 1000, AT, -1, 4_102_444_800_000])
def test_scored_at_is_rfc_3339_in_utc_to_the_millisecond(milliseconds: int) -> None:
    written = rfc3339(milliseconds)
    assert written.endswith("Z")
    assert round(datetime.fromisoformat(written).timestamp() * 1000) == milliseconds

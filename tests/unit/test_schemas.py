"""The schemas are valid, the examples conform, and the code says what the schemas say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer import codec
from consumer.codec import EventCodec
from consumer.encode import ResultEncoder
from consumer.ports import ModelInfo
from consumer.records import Duplicate, Empty, Entry, Event, Output, Record, Score, Token
from consumer.results import MAX_KEY_CHARS, SCHEMA_VERSION, Result
from consumer.settings import Input, Results

SCHEMAS = Path(__file__).parents[2] / "schemas"
EXAMPLES = sorted((SCHEMAS / "examples").glob("*.json"))
REQUIRED_OF_SCORED = ["score", "is_anomaly", "threshold"]


def _schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))


EVENT, RESULT = _schema("event"), _schema("result")
EVENTS, RESULTS = jsonschema.Draft202012Validator(EVENT), jsonschema.Draft202012Validator(RESULT)


def _decode(document: Any) -> Any:
    return EventCodec(Input(format="json")).decode(Record("events", 0, 0, json.dumps(document).encode()))


def _result(event: Any, verdict: Any, key: bytes | None = None, **settings: Any) -> Any:
    output = Output(Entry(Record("events", 0, 1, b"", key, None), event), verdict)
    encoder = ResultEncoder(Results(**settings), "group", ModelInfo("demo", "0"))
    return json.loads(encoder.encode(output, 1_764_512_345_999).value or b"")


@pytest.mark.parametrize("schema", [EVENT, RESULT], ids=["event", "result"])
def test_the_schemas_are_json_schema_2020_12(schema: Any) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_there_are_examples_of_both() -> None:
    assert {path.name.split("-")[0] for path in EXAMPLES} == {"event", "result"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_conforms(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    (EVENTS if path.name.startswith("event") else RESULTS).validate(document)


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.name.startswith("event")], ids=lambda p: p.stem)
def test_every_example_of_an_event_is_decoded(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    decoded = EventCodec(Input()).decode(Record("events", 0, 0, path.read_bytes()))
    assert isinstance(decoded, Event)
    assert (decoded.message, decoded.timestamp) == (document["message"], document.get("timestamp"))


_FIELD = (
    st.none()
    | st.booleans()
    | st.integers(-10, 1_010)
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != int(x))
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.integers(60, 520).map(lambda n: "x" * n)
    | st.from_regex(codec.TIMESTAMP_PATTERN.removesuffix("$"), fullmatch=True)
    | st.lists(st.integers(), max_size=2)
    | st.just({})
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message": st.sampled_from(["a", " ", "", "\t", "a\n"]) | _FIELD,
            "id": _FIELD,
            "timestamp": _FIELD,
            "source": _FIELD,
            "level": _FIELD,
            "attributes": _FIELD,
            "x": _FIELD,
        },
    )
)
def test_what_conforms_is_decoded_and_what_does_not_is_rejected(document: Any) -> None:
    assert isinstance(_decode(document), Event) == EVENTS.is_valid(document), _decode(document)


def test_the_limits_in_the_schema_are_those_in_the_code() -> None:
    fields = {name: spec.get("anyOf", [spec]) for name, spec in EVENT["properties"].items()}
    assert fields["id"][0]["maxLength"] == codec.MAX_ID_CHARS
    assert fields["id"][1]["maximum"] == codec.MAX_NUMERIC_ID
    assert fields["source"][0]["maxLength"] == codec.MAX_SOURCE_CHARS
    assert fields["level"][0]["maxLength"] == codec.MAX_LEVEL_CHARS
    assert fields["level"][1]["maximum"] == codec.MAX_LEVEL_NUMBER
    assert fields["timestamp"][0]["pattern"] == codec.TIMESTAMP_PATTERN
    assert fields["timestamp"][1]["maximum"] == codec.MAX_EPOCH
    assert RESULT["properties"]["input"]["properties"]["key"]["maxLength"] == MAX_KEY_CHARS
    assert RESULT["properties"]["schema_version"]["const"] == SCHEMA_VERSION


def test_the_fields_in_the_schema_are_those_in_the_code() -> None:
    assert set(RESULT["properties"]) == set(Result.__struct_fields__)


@pytest.mark.parametrize("missing", REQUIRED_OF_SCORED)
def test_a_scored_result_needs_each_of_its_three(missing: str) -> None:
    document = _result(Event("a"), Score(1.0, False, 2.0))
    RESULTS.validate(document)
    del document[missing]
    assert not RESULTS.is_valid(document)


UNSCORED = [Empty(), Duplicate("e-1", 3, 42)]


@pytest.mark.parametrize("verdict", UNSCORED)
@pytest.mark.parametrize("field", REQUIRED_OF_SCORED)
def test_no_other_result_may_have_any_of_them(verdict: Any, field: str) -> None:
    document = _result(verdict, verdict)
    RESULTS.validate(document)
    assert not RESULTS.is_valid(document | {field: True if field == "is_anomaly" else 1.0})


def test_a_duplicate_names_the_first_record_and_no_other_result_does() -> None:
    repeat = _result(*[UNSCORED[1]] * 2)
    first = repeat.pop("first")
    assert not RESULTS.is_valid(repeat)
    assert not RESULTS.is_valid(_result(Empty(), Empty()) | {"first": first})
    assert not RESULTS.is_valid(_result(Event("a"), Score(1.0, False, 2.0)) | {"first": first})


@given(
    event=st.builds(
        Event,
        message=st.text(st.characters(codec="utf-8"), min_size=1),
        level=st.none() | st.text(st.characters(codec="utf-8")),
        id=st.none() | st.text(st.characters(codec="utf-8")),
        timestamp=st.none() | st.integers(-(2**63), 2**63) | st.just("2026-11-30T00:00:00Z") | st.just(0.5),
        replaced=st.booleans(),
        document=st.none() | st.just(b'{"message":"a"}'),
    ),
    verdict=st.builds(
        Score,
        score=st.floats(allow_nan=False, allow_infinity=False),
        is_anomaly=st.booleans(),
        threshold=st.floats(allow_nan=False, allow_infinity=False),
        parts=st.dictionaries(st.text(max_size=3), st.none() | st.floats(-9, 9), max_size=3),
        tokens=st.lists(st.builds(Token, st.text(max_size=3), *[st.integers(0, 9)] * 2, st.floats(0, 9))).map(
            tuple
        ),
    )
    | st.just(Empty())
    | st.builds(Duplicate, st.text(st.characters(codec="utf-8")), *[st.integers(0, 2**40)] * 2),
    key=st.none() | st.binary(max_size=8),
    include=st.sampled_from(["message", "none", "event"]),
)
def test_whatever_the_encoder_writes_conforms(event: Any, verdict: Any, key: Any, include: Any) -> None:
    decoded = event if isinstance(verdict, Score) else verdict
    RESULTS.validate(_result(decoded, verdict, key, include=include))

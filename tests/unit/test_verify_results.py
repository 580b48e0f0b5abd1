"""The audit's own reading of results: it accepts what the schema accepts, and names what is wrong."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from consumer.encode import ResultEncoder
from consumer.ports import ModelInfo
from consumer.records import Empty, Entry, Event, Record, Score
from consumer.records import Output as Scored
from consumer.settings import Results
from consumer.verify.findings import Kind
from consumer.verify.outputs import Output
from consumer.verify.results import read_result

SCHEMAS = Path(__file__).parents[2] / "schemas"
EXAMPLES = sorted((SCHEMAS / "examples").glob("result-*.json"))
VALIDATOR = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "result.schema.json").read_text("utf-8")))
SCORED = json.loads((SCHEMAS / "examples" / "result-scored.json").read_text("utf-8"))


class Message:
    """A record of the results topic."""

    def __init__(self, value: bytes | None, key: bytes | None) -> None:
        self.value, self.key = (lambda: value), (lambda: key)
        self.partition, self.offset = (lambda: 2), (lambda: 77)


def key_of(document: Any) -> bytes | None:
    """The key that a result tells, as its Kafka key."""
    told = document["input"] if isinstance(document.get("input"), dict) else {}
    if not isinstance(told.get("key"), str):
        return None
    return base64.b64decode(told["key"]) if "key_encoding" in told else told["key"].encode()


def read(document: Any, **changes: Any) -> Output:
    document = deepcopy(document)
    for name, value in changes.items():
        table, _, field = name.rpartition("__")
        (document[table] if table else document)[field] = value
    return read_result(Message(json.dumps(document).encode(), key_of(document)))


def kinds(output: Output) -> list[Kind]:
    return [kind for kind, _ in output.faults]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_without_fault(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    output = read(document)
    assert output.faults == ()
    told = document["input"]
    assert (output.topic, output.partition, output.offset) == (
        told["topic"],
        told["partition"],
        told["offset"],
    )
    assert (output.place, output.at, output.dead) == (2, 77, False)
    assert (output.id, output.group, output.model) == (
        document["id"],
        document["group"],
        document["model"]["version"],
    )
    assert (output.outcome, output.score) == (document["outcome"], document.get("score", 0.0))


DROPPED = object()
ODD: tuple[Any, ...] = (None, True, -1, 1.5, 10**30, "", "x", [], {})


def paths(document: Any, into: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, value in document.items():
        found.append((*into, name))
        if isinstance(value, dict) and name in {"input", "model", "parts", "first"}:
            found += paths(value, (*into, name))
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_one_odd_field_is_a_fault_exactly_where_the_schema_says_so(path: Path) -> None:
    example = json.loads(path.read_text("utf-8"))
    for place in paths(example):
        for odd in (DROPPED, *ODD):
            document = changed(example, place, odd)
            key = b"another" if place[-1] in {"key", "key_encoding", "key_truncated"} else key_of(document)
            faults = {kind for kind, _ in read_result(Message(json.dumps(document).encode(), key)).faults}
            if not VALIDATOR.is_valid(document):
                assert faults or is_laxer(place, odd), (place, odd)
            elif faults - {Kind.WRONG_KEY}:
                assert (place, odd) == (("model", "version"), ""), "the contract wants a version, though"


def changed(example: Any, place: tuple[str, ...], odd: Any) -> Any:
    document = deepcopy(example)
    table = document
    for name in place[:-1]:
        table = table[name]
    table[place[-1]] = odd
    if odd is DROPPED:
        del table[place[-1]]
    return document


def is_laxer(path: tuple[str, ...], odd: Any) -> bool:
    """What only the schema looks at: the form of the id, which the audit compares as a whole, and fields
    that are copies of the input's and no promise of delivery."""
    return path[0] in {"id", "event"}


@pytest.mark.parametrize(
    "changes",
    [{"score": None}, {"threshold": None}, {"score": float("nan")}, {"score": float("inf")},
     {"parts": {"novelty": float("-inf")}}, {"threshold": float("nan")},
     {"tokens": [{"start": 0, "end": 1, "surprisal": None}]}],
    ids=str,
)  # fmt: skip
def test_a_measurement_that_is_no_finite_number_is_named_and_its_coordinates_are_still_read(
    changes: dict[str, Any],
) -> None:
    output = read(SCORED, **changes)
    assert kinds(output) == [Kind.NON_FINITE]
    assert output.faults[0][1].split(".")[0].strip("'").split()[0] in changes
    assert (output.partition, output.offset, output.group) == (3, 42, SCORED["group"])


def test_a_number_beyond_a_double_is_not_finite_either() -> None:
    value = json.dumps(SCORED).replace("4.25", "1e999").encode()
    assert kinds(read_result(Message(value, b"auth-2"))) == [Kind.NON_FINITE]


@pytest.mark.parametrize(
    "value",
    [None, b"", b"{", b"null", b"[]", b"12", b"\xff", b'{"id":"' + b"\xff" * 9 + b'"}', b"[" * 100_000,
     b'{"a":' * 50_000, b"9" * 6_000],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_what_is_no_result_at_all_is_malformed_and_nothing_worse(value: bytes | None) -> None:
    output = read_result(Message(value, None))
    assert kinds(output) == [Kind.MALFORMED]
    assert output.partition is output.offset is output.group is None


def test_a_fault_shows_no_control_characters_of_what_it_was_given() -> None:
    output = read(SCORED, outcome="\x1b[31m\nERROR forged")
    assert kinds(output) == [Kind.MALFORMED]
    assert output.faults[0][1].isprintable()


@pytest.mark.parametrize(
    ("key", "told"),
    [(None, {"key": None}), (b"", {"key": ""}), (b"k\xc3\xa9", {"key": "k\u00e9"}),
     (b"\xff\x00", {"key": "/wA=", "key_encoding": "base64"}),
     (b"x" * 2_000, {"key": "x" * 1_024, "key_truncated": True}),
     (b"\xff" * 2_000, {"key": base64.b64encode(b"\xff" * 768).decode(), "key_encoding": "base64",
                        "key_truncated": True})],
    ids=lambda value: str(value)[:16],
)  # fmt: skip
def test_a_key_is_told_right_or_it_is_the_wrong_one(key: bytes | None, told: dict[str, Any]) -> None:
    document = {**SCORED, "input": {**{k: v for k, v in SCORED["input"].items() if k != "key"}, **told}}
    value = json.dumps(document).encode()
    assert read_result(Message(value, key)).faults == ()
    assert kinds(read_result(Message(value, b"another"))) == [Kind.WRONG_KEY]
    if key is not None:
        assert kinds(read_result(Message(value, None))) == [Kind.WRONG_KEY]


def test_a_result_that_was_not_scored_must_not_have_a_score() -> None:
    empty = json.loads((SCHEMAS / "examples" / "result-empty.json").read_text("utf-8"))
    assert kinds(read({**empty, "score": 1.0})) == [Kind.WRONG_OUTCOME]


def test_a_duplicate_names_another_record_than_itself() -> None:
    empty = json.loads((SCHEMAS / "examples" / "result-empty.json").read_text("utf-8"))
    repeated = {**empty, "outcome": "duplicate", "event_id": "7"}
    first = {"topic": "events", "partition": 3, "offset": 12}
    assert read({**repeated, "first": first}).faults == ()
    assert kinds(read({**repeated, "first": {**first, "offset": 46}})) == [Kind.WRONG_OUTCOME]


def test_a_repeat_has_the_same_fingerprint_whatever_its_time_and_a_little_of_its_score() -> None:
    one = read(SCORED)
    assert read(SCORED, scored_at="2026-12-01T00:00:00.000Z").fingerprint == one.fingerprint
    assert read(SCORED, score=4.2500001, parts={"novelty": 2.2000001}).fingerprint == one.fingerprint


@pytest.mark.parametrize(
    "changes",
    [{"message": "another"}, {"event_id": "2"}, {"level": "warning"}, {"threshold": 3.0},
     {"input__timestamp": 1}, {"truncated": True}],
    ids=str,
)  # fmt: skip
def test_a_repeat_that_says_something_else_has_another_fingerprint(changes: dict[str, Any]) -> None:
    assert read(SCORED, **changes).fingerprint != read(SCORED).fingerprint


@pytest.mark.parametrize("key", [None, b"", b"k", b"\xff\xfe", b"long " * 1_000])
def test_what_the_service_writes_is_without_fault(key: bytes | None) -> None:
    encoder = ResultEncoder(Results(), "group", ModelInfo("demo", "0"))
    record = Record("events", 0, 1, b"text", key, 5)
    event, score = Event(message="text"), Score(1.5, False, 2.0, {"novelty": 1.0}, False)
    for entry, verdict in ((Entry(record, event), score), (Entry(record, Empty()), Empty())):
        encoded = encoder.encode(Scored(entry, verdict), 1_764_512_345_999)
        assert read_result(Message(encoded.value, encoded.key)).faults == ()

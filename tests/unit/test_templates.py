"""Results from prepared pieces are, byte for byte, what encoding each of them anew would give."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.encode import ResultEncoder
from consumer.ports import ModelInfo
from consumer.records import Entry, Event, Output, Record, Score, Token
from consumer.results import Result, rfc3339
from consumer.settings import Results

AT = 1_764_512_345_999
MODEL = ModelInfo("100 %d model", "f" * 64)
NOWHERE = Token("", 0, 0, 0.0)

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
some_name = st.none() | names.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False)
records = st.builds(
    Record,
    topic=st.sampled_from(["events", "a%b", "x%%d"]),
    partition=st.integers(0, 3),
    offset=st.integers(0, 2**63 - 1),
    value=st.just(b"{}"),
    key=st.none() | st.binary(max_size=12) | names.map(str.encode),
    timestamp=st.none() | st.integers(-1, 2**62),
)
events = st.builds(
    Event,
    message=names.filter(bool),
    level=some_name,
    id=some_name,
    timestamp=st.none() | names.filter(bool) | numbers | st.integers(-(2**62), 2**62),
    source=some_name,
)
scores = st.builds(
    Score,
    score=numbers,
    is_anomaly=st.booleans(),
    threshold=numbers,
    parts=st.dictionaries(names, st.none() | numbers, max_size=3),
    extrapolated=st.booleans(),
    truncated=st.booleans(),
)


def encoder(include: str = "message") -> ResultEncoder:
    return ResultEncoder(Results(include=include, id_prefix="5 %s "), "group-%", MODEL)  # type: ignore[arg-type]


def written(made: ResultEncoder, record: Record, event: Event, score: Score, at: int = AT) -> bytes:
    value = made.encode(Output(Entry(record, event), score), at).value
    assert value is not None
    return value


def the_long_way(made: ResultEncoder, record: Record, event: Event, score: Score) -> bytes:
    """Of the same result with a token in it, which no prepared piece can hold; then without the token."""
    with_token = msgspec.structs.replace(score, tokens=(NOWHERE,))
    found = msgspec.json.decode(written(made, record, event, with_token))
    del found["tokens"]
    return msgspec.json.encode(found)


@given(records, events, scores, st.sampled_from(["message", "none", "event"]))
def test_the_short_way_and_the_long_way_write_the_same_bytes(
    record: Record, event: Event, score: Score, include: str
) -> None:
    made = encoder(include)
    long = the_long_way(made, record, event, score)
    assert written(made, record, event, score) == long
    assert written(made, record, event, score) == long  # from memory


def test_records_of_one_text_differ_in_their_coordinates_and_the_time() -> None:
    made, score, event = encoder(), Score(1.5, False, 2.0, {"novelty": 1.0}), Event("up")
    first = msgspec.json.decode(written(made, Record("t", 0, 7, b"up"), event, score), type=Result)
    later = msgspec.json.decode(written(made, Record("t", 1, 8, b"up"), event, score, AT + 1), type=Result)
    assert (first.input.partition, first.input.offset) == (0, 7)
    assert (later.input.partition, later.input.offset) == (1, 8)
    assert (first.scored_at, later.scored_at) == (rfc3339(AT), rfc3339(AT + 1))
    assert first.parts == later.parts


def test_scores_that_come_and_go_are_never_mistaken_for_one_another() -> None:
    made = encoder()
    for number in range(30_000):  # beyond what is remembered; most of them reuse the memory of one that went
        score = Score(float(number), False, 2.0, {})
        found = msgspec.json.decode(written(made, Record("t", 0, 1, b"x"), Event("x"), score), type=Result)
        assert found.score == number


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_number_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        written(encoder(), Record("t", 0, 1, b"x"), Event("x"), Score(1.0, False, 2.0, {"novelty": bad}))

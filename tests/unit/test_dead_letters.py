"""A dead letter is the record as it came, and why it could not be scored."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.dead_letters import MAX_OWN_BYTES, DeadLetterEncoder
from consumer.encode import Encoded
from consumer.records import Headers, Reason, Record, Rejection
from consumer.settings import Results

AT = 1_764_512_345_999
SMALLEST = 16_384
RECORD = Record("events", 3, 42, b'{"mess', b"user-1", 1_764_512_345_678, (("a", b"1"), ("a", None)))
REJECTION = Rejection(Reason.UNDECODABLE, "JSON ends too early (byte 6)")


def encode(record: Record = RECORD, rejection: Rejection = REJECTION, **settings: Any) -> Encoded:
    return DeadLetterEncoder(Results(**settings), "group-1").encode(record, rejection, AT)


def last(encoded: Encoded) -> dict[str, bytes | None]:
    """What a reader sees: of several headers with one name the last."""
    return dict(encoded.headers)


def change(record: Record, **fields: Any) -> Record:
    return msgspec.structs.replace(record, **fields)


def test_key_value_and_headers_come_unchanged_and_ours_behind_them() -> None:
    encoded = encode()
    assert (encoded.key, encoded.value) == (RECORD.key, RECORD.value)
    assert encoded.headers[:2] == [("a", b"1"), ("a", None)]
    assert last(encoded) == {
        "a": None,
        "__connect.errors.topic": b"events",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"42",
        "__connect.errors.connector.name": b"group-1",
        "__connect.errors.task.id": b"0",
        "__connect.errors.stage": b"VALUE_CONVERTER",
        "__connect.errors.class.name": b"consumer.codec.EventCodec",
        "__connect.errors.exception.class.name": b"consumer.errors.BadRecord",
        "__connect.errors.exception.message": b"undecodable: JSON ends too early (byte 6)",
        "consumer.schema.version": b"1",
        "consumer.reason": b"undecodable",
        "consumer.detail": b"JSON ends too early (byte 6)",
        "consumer.group": b"group-1",
        "consumer.result.id": b"events|3|42",
        "consumer.rejected.at": b"2025-11-30T14:19:05.999Z",
        "consumer.original.timestamp": b"1764512345678",
        "consumer.original.timestamp.type": b"CreateTime",
        "consumer.value.bytes": b"6",
        "consumer.value.sha256": sha256(b'{"mess').hexdigest().encode(),
        "consumer.key.bytes": b"6",
        "consumer.key.sha256": sha256(b"user-1").hexdigest().encode(),
        "consumer.value.cut": b"false",
        "consumer.key.cut": b"false",
        "consumer.headers.cut": b"false",
    }


@pytest.mark.parametrize("value", [None, b"", b"\x00\xff" * 1_000])
def test_no_value_an_empty_one_and_any_bytes_stay_what_they_are(value: bytes | None) -> None:
    for key in (None, b"", b"\xff"):
        encoded = encode(change(RECORD, value=value, key=key))
        assert (encoded.key, encoded.value) == (key, value)


@pytest.mark.parametrize(
    ("reason", "stage"),
    [
        (Reason.BAD_HEADERS, b"HEADER_CONVERTER"),
        (Reason.INVALID, b"VALUE_CONVERTER"),
        (Reason.OVERSIZE, b"VALUE_CONVERTER"),
        (Reason.TOO_COMPLEX, b"VALUE_CONVERTER"),
        (Reason.POISON, b"TASK_PUT"),
        (Reason.UNPUBLISHABLE, b"KAFKA_PRODUCE"),
    ],
)
def test_the_stage_is_the_one_that_kafka_connect_would_name(reason: Reason, stage: bytes) -> None:
    headers = last(encode(rejection=Rejection(reason, "x")))
    assert headers["__connect.errors.stage"] == stage
    assert headers["consumer.reason"] == reason.value.encode()


@pytest.mark.parametrize(
    ("timestamp", "log_append_time", "written"),
    [
        (None, False, (None, b"NoTimestampType")),
        (-1, False, (b"-1", b"CreateTime")),
        (5, True, (b"5", b"LogAppendTime")),
    ],
)
def test_the_original_timestamp_and_its_type_are_headers(
    timestamp: int | None, log_append_time: bool, written: tuple[bytes | None, bytes]
) -> None:
    headers = last(encode(change(RECORD, timestamp=timestamp, log_append_time=log_append_time)))
    assert (headers["consumer.original.timestamp"], headers["consumer.original.timestamp.type"]) == written


def test_headers_that_the_record_brought_under_our_names_do_not_count() -> None:
    honest = encode(change(RECORD, headers=()))
    forged = tuple((name, b"forged") for name, _ in honest.headers)
    encoded = encode(change(RECORD, headers=forged))
    assert tuple(encoded.headers[: len(forged)]) == forged
    assert last(encoded) == last(honest)


def test_headers_that_nobody_could_read_are_said_to_be_missing() -> None:
    encoded = encode(change(RECORD, headers=None), Rejection(Reason.BAD_HEADERS, "x"))
    assert last(encoded)["consumer.headers.cut"] == b"true"
    assert encoded.value == RECORD.value


def test_a_value_that_does_not_fit_is_cut_and_its_hash_is_that_of_the_whole() -> None:
    value = bytes(range(256)) * 100
    encoded = encode(change(RECORD, value=value), max_bytes=SMALLEST)
    headers = last(encoded)
    assert encoded.value is not None
    assert value.startswith(encoded.value)
    assert SMALLEST - 10 < encoded.size() <= SMALLEST
    assert headers["consumer.value.cut"] == b"true"
    assert headers["consumer.value.bytes"] == b"25600"
    assert headers["consumer.value.sha256"] == sha256(value).hexdigest().encode()
    assert (encoded.key, headers["consumer.key.cut"], headers["consumer.headers.cut"]) == (
        RECORD.key,
        b"false",
        b"false",
    )


def test_whatever_fits_is_whole() -> None:
    room = SMALLEST - encode(change(RECORD, value=b"")).size()
    for size, cut in ((room - 10, b"false"), (room + 10, b"true")):
        encoded = encode(change(RECORD, value=b"v" * size), max_bytes=SMALLEST)
        assert last(encoded)["consumer.value.cut"] == cut


def test_a_small_value_stays_whole_next_to_a_huge_key_and_huge_headers() -> None:
    record = change(RECORD, key=b"k" * 100_000, headers=(("h", b"v" * 100_000), ("traceparent", b"t")))
    encoded = encode(record, max_bytes=SMALLEST)
    headers = last(encoded)
    assert encoded.value == RECORD.value
    assert encoded.key is not None
    assert record.key.startswith(encoded.key)
    assert encoded.headers[0] == ("traceparent", b"t")
    assert headers["consumer.key.sha256"] == sha256(b"k" * 100_000).hexdigest().encode()
    assert [headers[f"consumer.{what}.cut"] for what in ("value", "key", "headers")] == [
        b"false",
        b"true",
        b"true",
    ]


def test_our_own_headers_are_bounded_and_stay_utf8() -> None:
    encoded = encode(rejection=Rejection(Reason.INVALID, "ü" * 10_000))
    detail = last(encoded)["consumer.detail"]
    assert detail is not None
    assert detail.decode() == "ü" * (MAX_OWN_BYTES // 2)


_HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(st.text(st.characters(codec="utf-8"), max_size=40), st.none() | st.binary(max_size=40)),
    max_size=5,
).map(tuple)


@given(
    _HEADERS | st.none(),
    st.integers(0, 300),
    st.none() | st.integers(0, 40_000),
    st.none() | st.integers(0, 40_000),
    st.text(max_size=700),
)
def test_any_record_fits_and_says_what_is_missing(
    headers: Headers | None, copies: int, key: int | None, value: int | None, text: str
) -> None:
    record = Record(
        "t" * 249,
        2**31 - 1,
        2**63 - 1,
        None if value is None else b"v" * value,
        None if key is None else b"k" * key,
        -(2**63),
        None if headers is None else headers * copies,
    )
    letter = DeadLetterEncoder(Results(id_prefix=text[:200], max_bytes=SMALLEST), text)
    encoded = letter.encode(record, Rejection(Reason.POISON, text), AT)
    shown = last(encoded)
    assert encoded.size() <= SMALLEST
    assert (encoded.value == record.value) == (shown["consumer.value.cut"] == b"false")
    assert (encoded.key == record.key) == (shown["consumer.key.cut"] == b"false")
    assert (encoded.value is None) == (record.value is None)
    brought = tuple(encoded.headers[:-24])
    assert (brought == record.headers) == (shown["consumer.headers.cut"] == b"false")
    for name, content in encoded.headers[-24:]:
        assert content is None or content.decode() is not None, name

"""What must hold for any bytes. A target raises AssertionError for what does not."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from consumer.codec import EventCodec
from consumer.dead_letters import MAX_OWN_BYTES, DeadLetterEncoder
from consumer.encode import Encoded, ResultEncoder
from consumer.headers import fit, headers_size
from consumer.loading import effective, load
from consumer.normalize import Normalizer
from consumer.ports import ModelInfo
from consumer.records import Empty, Entry, Event, Headers, Output, Reason, Record, Rejection, Score
from consumer.settings import Input, Results
from consumer.settings_keys import SOURCES, variable
from tests.fuzz.choices import Choices

AT = 1_764_512_345_999
CANARY = "kestrel-canary"

_RESULTS = Results(max_bytes=16_384, max_header_bytes=64)
_ENCODER = ResultEncoder(_RESULTS, "group", ModelInfo("demo", "0"))
_LETTERS = DeadLetterEncoder(_RESULTS, "group")
_NORMALIZER = Normalizer(memory_chars=50_000)
_CODECS = {
    (form, keep): EventCodec(
        Input(format=form, max_depth=8, max_fields=40, max_text_chars=200), keep_document=keep
    )
    for form in ("auto", "json", "text")
    for keep in (False, True)
}


# ---------------------------------------------------------------- codec


def codec(data: bytes) -> None:
    """Every value has an outcome, the one that another parser agrees with, and it can be published."""
    choices = Choices(data)
    form = choices.one_of(("json", "auto", "text"))
    record = Record("events", 0, 7, choices.rest())
    decoded = _CODECS[form, False].decode(record)
    kept = _CODECS[form, True].decode(record)
    assert type(kept) is type(decoded)
    if isinstance(decoded, Rejection):
        assert kept == decoded
        _check_rejection(record, decoded)
    else:
        _check_published(record, decoded)
    if form == "json" and record.value:
        _check_against_json(record.value, decoded, kept)


def _check_rejection(record: Record, rejection: Rejection) -> None:
    assert "decoder failed" not in rejection.detail, rejection
    assert rejection.detail.isprintable()
    assert len(rejection.detail) < 200
    assert _LETTERS.encode(record, rejection, AT).size() <= _RESULTS.max_bytes


def _check_published(record: Record, decoded: Event | Empty) -> None:
    verdict = Score(1.0, False, 2.0, {"novelty": 1.0}) if isinstance(decoded, Event) else decoded
    encoded = _ENCODER.encode(Output(Entry(record, decoded), verdict), AT)
    assert encoded.size() <= _RESULTS.max_bytes
    written = json.loads(encoded.value or b"")
    if isinstance(decoded, Event):
        assert 0 < len(decoded.message) <= 200
        assert decoded.truncated or written["message"] == decoded.message


def _check_against_json(value: bytes, decoded: object, kept: object) -> None:
    """The standard library, made as strict as the standard, has the same opinion of a document."""
    try:
        document = strict_json(value)
    except RecursionError:
        return
    except ValueError:
        assert isinstance(decoded, Rejection), "not JSON, and accepted"
        return
    if not isinstance(document, dict):
        assert isinstance(decoded, Rejection)
        assert decoded.reason is Reason.UNDECODABLE
    elif isinstance(decoded, Event):
        assert decoded.truncated or decoded.message == document["message"]
        if isinstance(kept, Event) and kept.document is not None:
            assert strict_json(kept.document) == document
    else:
        assert isinstance(decoded, Rejection)
        assert decoded.reason in {Reason.INVALID, Reason.TOO_COMPLEX}, f"JSON, and {decoded}"


def strict_json(value: bytes) -> Any:
    """A document, every number in it 0. Raises ValueError for what is no JSON in UTF-8."""
    document = json.loads(value.decode(), parse_constant=_refuse, parse_float=_zero, parse_int=_zero)
    json.dumps(document, ensure_ascii=False).encode()  # raises for half of a surrogate pair
    return document


def _zero(_: str) -> int:
    """Parsers may write one number in different ways."""
    return 0


def _refuse(word: str) -> object:
    raise ValueError(word)


# ---------------------------------------------------------------- normaliser


def normalizer(data: bytes) -> None:
    """Any text becomes one of printable characters, each with its place, whatever came before it."""
    text = data.decode("utf-8", "surrogateescape")
    normalized = _NORMALIZER.normalize(text)
    assert not any(ch < " " or "\x7f" <= ch <= "\x9f" for ch in normalized)
    assert normalized == normalized.strip()
    normalized.encode()
    assert Normalizer(memory_chars=0).normalize(text) == normalized
    spans = _NORMALIZER.spans(text)
    assert spans.text == normalized
    assert len(spans.starts) == len(spans.ends) == len(normalized)
    for places in (spans.starts, spans.ends):
        assert all(a <= b for a, b in itertools.pairwise(places))
    assert all(0 <= start < end <= len(text) for start, end in zip(spans.starts, spans.ends, strict=True))
    assert _NORMALIZER.model_input(text, text)


# ---------------------------------------------------------------- settings


def settings(data: bytes) -> None:
    """No file, environment or command line makes loading fail; problems are lines that show no secret."""
    choices = Choices(data)
    flags = {_name(choices): _text(choices.piece()) for _ in range(choices.number(3))}
    environ = {variable(_name(choices)): _text(choices.piece()) for _ in range(choices.number(4))}
    environ |= {"CONSUMER_KAFKA_SASL_PASSWORD": CANARY, "CONSUMER_REDIS_PASWORD": CANARY}
    with tempfile.NamedTemporaryFile(prefix="fuzz-") as file:
        Path(file.name).write_bytes(choices.rest())
        loaded = load(flags, environ, Path(file.name))
    assert len(loaded.problems) >= 2
    for line in (*loaded.problems, *(" ".join(row) for row in effective(loaded))):
        assert line.isprintable(), ascii(line)
        assert CANARY not in line


def _name(choices: Choices) -> str:
    """A setting's, or one that looks like it."""
    name = choices.one_of(_NAMES)
    return name if choices.number(4) else name + _text(choices.piece(8))


# Paths of files are left out: a fuzzer that opens files of this machine finds faults of this machine.
_NAMES = tuple(name for name in SOURCES if not name.endswith(("_file", "_location")))


def _text(data: bytes) -> str:
    """As the system hands over an argument or a variable: anything but NUL."""
    return data.replace(b"\x00", b"").decode("utf-8", "surrogateescape")


# ---------------------------------------------------------------- dead letters and headers


def dead_letters(data: bytes) -> None:
    """Any record with any reason fits, says of itself what is true, and keeps or tells what it cut."""
    choices = Choices(data)
    headers = tuple((_header_name(choices), _scaled(choices)) for _ in range(choices.number(6)))
    detail = _text(choices.piece())
    key, timestamp = _scaled(choices), choices.number(65_536) - 1
    record = Record("events", 0, 7, _scaled(choices), key, timestamp, headers)
    rejection = Rejection(list(Reason)[len(data) % len(Reason)], detail)
    letter = _LETTERS.encode(record, rejection, AT)
    assert letter.size() <= _RESULTS.max_bytes
    told = dict(letter.headers)
    _check_own_headers(letter, told, record)
    assert told["consumer.reason"] == rejection.reason.encode()
    for part, original, kept in (("value", record.value, letter.value), ("key", key, letter.key)):
        _check_kept(told, part, original, kept)
    _check_passed(letter, told, headers)


def _check_own_headers(letter: Encoded, told: Mapping[str, bytes | None], record: Record) -> None:
    assert told["consumer.result.id"] == b"events|0|7"
    assert told["__connect.errors.offset"] == b"7"
    assert told["consumer.original.timestamp"] == str(record.timestamp).encode()
    for name, value in letter.headers[-OWN:]:
        assert name.startswith(("consumer.", "__connect.errors."))
        assert value is None or len(value) <= MAX_OWN_BYTES
        assert value is None or value.decode() is not None
        assert told[name] == value


OWN = 24
"""How many headers of a dead letter are ours: schemas/dead-letter.md."""


def _check_kept(
    told: Mapping[str, bytes | None], part: str, original: bytes | None, kept: bytes | None
) -> None:
    cut = told[f"consumer.{part}.cut"]
    assert cut == (b"true" if kept != original else b"false")
    digest = None if original is None else sha256(original).hexdigest().encode()
    assert told[f"consumer.{part}.sha256"] == digest
    assert (original is None) == (kept is None)
    assert original is None or original.startswith(kept or b"")


def _check_passed(letter: Encoded, told: Mapping[str, bytes | None], headers: Headers) -> None:
    passed = tuple(letter.headers[:-OWN])
    assert told["consumer.headers.cut"] == (b"false" if passed == headers else b"true")
    left = iter(headers)
    assert all(header in left for header in passed), "not in their order"
    for limit in (0, 1, 40, headers_size(headers)):
        assert headers_size(fit(headers, limit)) <= limit
    assert fit(headers, headers_size(headers)) == headers


def _header_name(choices: Choices) -> str:
    known = choices.one_of(("", "traceparent", "consumer.reason", "__connect.errors.offset", "is_anomaly"))
    return known or choices.piece(16).decode(errors="replace")


def _scaled(choices: Choices) -> bytes | None:
    """None, a few bytes, or many."""
    times = choices.one_of((1, 0, 1, 100, 1_000))
    return choices.piece() * times if times else None


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "codec": codec,
    "normalizer": normalizer,
    "settings": settings,
    "dead_letters": dead_letters,
}

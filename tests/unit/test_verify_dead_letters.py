"""The audit's own reading of dead letters: by the published page, not by the encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from consumer.dead_letters import DeadLetterEncoder
from consumer.encode import Encoded
from consumer.records import Headers, Reason, Record, Rejection
from consumer.settings import Results
from consumer.verify.dead_letters import HEADERS, REASONS, read_dead_letter
from consumer.verify.findings import Kind
from consumer.verify.outputs import Output

PAGE = (Path(__file__).parents[2] / "schemas" / "dead-letter.md").read_text("utf-8")


class Message:
    """A record of the dead-letter topic, with some headers changed."""

    def __init__(self, encoded: Encoded, changes: Mapping[str, bytes | None] | None = None) -> None:
        headers = [(name, (changes or {}).get(name, value)) for name, value in encoded.headers]
        self.key, self.value = (lambda: encoded.key), (lambda: encoded.value)
        self.partition, self.offset = (lambda: 1), (lambda: 9)
        self.headers = lambda: headers


def encoded(
    value: bytes | None = b"{",
    key: bytes | None = b"k",
    headers: Headers = (),
    reason: Reason = Reason.UNDECODABLE,
) -> Encoded:
    record = Record("events", 3, 42, value, key, 1_764_517_207_123, headers)
    return DeadLetterEncoder(Results(max_bytes=16_384, id_prefix="x-"), "group").encode(
        record, Rejection(reason, "why"), 0
    )


def kinds(output: Output) -> list[Kind]:
    return [kind for kind, _ in output.faults]


def test_the_names_are_those_of_the_page() -> None:
    headers, reasons = PAGE.split("| reason |")
    table = headers[headers.index("| header |") :]
    cells = (line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    assert set(HEADERS) == {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    assert set(re.findall(r"^\| `(\w+)`", reasons, re.MULTILINE)) == REASONS


@pytest.mark.parametrize("reason", Reason)
def test_what_the_service_writes_is_without_fault(reason: Reason) -> None:
    output = read_dead_letter(Message(encoded(reason=reason)))
    assert output.faults == ()
    assert (output.dead, output.place, output.at) == (True, 1, 9)
    assert (output.group, output.topic, output.partition, output.offset) == ("group", "events", 3, 42)
    assert (output.id, output.outcome) == ("x-events|3|42", reason)


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (None, None),
        (b"", b""),
        (b"v" * 100_000, b"k"),
        (b"v", b"k" * 100_000),
        (b"v" * 90_000, b"k" * 90_000),
    ],
    ids=lambda data: "null" if data is None else str(len(data)),
)
def test_empty_and_cut_ones_are_without_fault_and_a_cut_key_is_not_compared(
    value: bytes | None, key: bytes | None
) -> None:
    output = read_dead_letter(Message(encoded(value, key)))
    assert output.faults == ()
    assert (output.key is None) == (len(key or b"") > 16_384)


def test_headers_of_the_input_cannot_pass_for_ours() -> None:
    forged: Headers = (
        ("consumer.group", b"other"),
        ("__connect.errors.offset", b"1"),
        ("consumer.reason", b"x"),
    )
    output = read_dead_letter(Message(encoded(headers=forged)))
    assert (output.faults, output.group, output.offset) == ((), "group", 42)


@pytest.mark.parametrize("name", ["consumer.value.sha256", "consumer.key.sha256", "consumer.value.bytes"])
def test_other_bytes_than_the_headers_describe_are_altered(name: str) -> None:
    assert kinds(read_dead_letter(Message(encoded(), {name: b"7"}))) == [Kind.ALTERED]


def test_a_null_that_is_described_as_something_is_altered() -> None:
    assert kinds(read_dead_letter(Message(encoded(value=None), {"consumer.value.bytes": b"0"}))) == [
        Kind.ALTERED
    ]


def test_a_cut_value_that_is_longer_than_the_original_is_altered() -> None:
    message = Message(encoded(value=b"v" * 100_000), {"consumer.value.bytes": b"5"})
    assert kinds(read_dead_letter(message)) == [Kind.ALTERED]


def test_an_unknown_reason_and_an_unknown_version_are_malformed() -> None:
    changes = {"consumer.reason": b"odd\n", "consumer.schema.version": b"2"}
    output = read_dead_letter(Message(encoded(), changes))
    assert kinds(output) == [Kind.MALFORMED, Kind.MALFORMED]
    assert output.outcome == "unknown"
    assert all(what.isprintable() for _, what in output.faults)


@pytest.mark.parametrize("name", HEADERS)
def test_every_header_must_be_there(name: str) -> None:
    whole = encoded()
    rest = Encoded(whole.key, whole.value, [header for header in whole.headers if header[0] != name])
    output = read_dead_letter(Message(rest))
    assert kinds(output) == [Kind.MALFORMED]
    assert name in output.faults[0][1]


@pytest.mark.parametrize("number", [None, b"", b"-1", b"4.2", b"\xb2", b"9" * 50])
def test_coordinates_that_are_no_numbers_are_not_guessed(number: bytes | None) -> None:
    output = read_dead_letter(Message(encoded(), {"__connect.errors.offset": number}))
    assert output.offset is None
    assert kinds(output) == [Kind.MALFORMED]


def test_header_names_that_are_not_utf_8_are_somebody_elses() -> None:
    class Broken(Message):
        def __init__(self) -> None:
            super().__init__(encoded())
            self.headers = self._raise

        def _raise(self) -> list[tuple[str, bytes | None]]:
            raise SystemError("returned a result with an exception set")

    output = read_dead_letter(Broken())
    assert output.group is None
    assert kinds(output) == [Kind.MALFORMED]


def test_a_repeat_has_the_same_fingerprint_and_another_reason_another() -> None:
    one, again = (read_dead_letter(Message(encoded(), {"consumer.rejected.at": at})) for at in (b"1", b"2"))
    assert one.fingerprint == again.fingerprint
    assert read_dead_letter(Message(encoded(reason=Reason.POISON))).fingerprint != one.fingerprint

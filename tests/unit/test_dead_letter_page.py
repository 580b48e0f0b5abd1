"""schemas/dead-letter.md says what the code does, and its programs do what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from consumer.dead_letters import MAX_OWN_BYTES, DeadLetterEncoder
from consumer.encode import Encoded
from consumer.records import Reason, Record, Rejection
from consumer.settings import Results

PAGE = (Path(__file__).parents[2] / "schemas" / "dead-letter.md").read_text("utf-8")
READING, REPLAYING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
INPUT = (("a", b"1"), ("a", None), ("traceparent", b"t"))


def letter(value: bytes = b"{", reason: Reason = Reason.UNDECODABLE) -> Encoded:
    record = Record("events", 3, 42, value, b"k", None, INPUT)
    encoder = DeadLetterEncoder(Results(max_bytes=16_384), "group")
    return encoder.encode(record, Rejection(reason, "why"), 0)


class Message:
    """What confluent_kafka hands out, as far as the page uses it."""

    def __init__(self, encoded: Encoded) -> None:
        self.key, self.value, self.headers = (
            (lambda: encoded.key),
            (lambda: encoded.value),
            lambda: encoded.headers,
        )
        self.error = lambda: None


class FakeProducer:
    def __init__(self) -> None:
        self.produced: list[Any] = []

    def produce(self, topic: str, value: Any, key: Any, headers: Any) -> None:
        self.produced.append((topic, value, key, tuple(headers)))


def _replay(message: Message, producer: FakeProducer) -> bool:
    names: dict[str, Any] = {}
    exec(REPLAYING.replace("from confluent_kafka import Producer", "Producer = object"), names)
    done: bool = names["replay"](message, producer)
    return done


def test_the_page_lists_the_headers_in_the_order_in_which_they_are_written() -> None:
    table = PAGE.split("| header |")[1].split("\n\n")[0]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    written = [name for name, _ in letter().headers[len(INPUT) :]]
    assert sorted(listed) == sorted(written)
    assert listed[:9] == written[:9]


def test_the_page_lists_every_reason_and_no_other() -> None:
    table = PAGE.split("| reason |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == {str(reason) for reason in Reason}


def test_the_page_names_the_limit_of_a_header() -> None:
    assert f"at most {MAX_OWN_BYTES} bytes" in PAGE


def test_replaying_writes_the_record_as_it_was_without_our_headers() -> None:
    producer = FakeProducer()
    assert _replay(Message(letter()), producer)
    assert producer.produced == [("events", b"{", b"k", INPUT)]


def test_replaying_leaves_a_cut_record_alone() -> None:
    producer = FakeProducer()
    assert not _replay(Message(letter(b"{" * 20_000)), producer)
    assert producer.produced == []


def test_the_reader_counts_by_reason_and_shows_the_newest(capsys: pytest.CaptureFixture[str]) -> None:
    queue = [letter(), letter(), letter(reason=Reason.POISON)]

    class FakeConsumer:
        def __init__(self, _: Any) -> None: ...

        def subscribe(self, _: Any) -> None: ...

        def poll(self, _: float) -> Message | None:
            return Message(queue.pop(0)) if queue else None

    names: dict[str, Any] = {"Consumer": FakeConsumer}
    exec(READING.replace("from confluent_kafka import Consumer", ""), names)
    assert capsys.readouterr().out.splitlines() == [
        "2 undecodable events|3|42 why",
        "1 poison events|3|42 why",
    ]

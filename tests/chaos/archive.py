"""A trial's history as JSON lines, one value a line: `[kind, value]`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tests.chaos.outcome import Outcome
from tests.chaos.transactions import name_of, place_of
from tests.kafka.history import Sample


def keep(outcome: Outcome, path: Path) -> None:
    """Bytes become base64, a sample's output ends a list of [topic, partition, end]. An `output` is a place,
    the name of its transaction, and whether a reader of committed records got it."""
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        for kind, value in _lines(outcome):
            file.write(encode([kind, value]) + b"\n")


def _lines(outcome: Outcome) -> Iterator[tuple[str, Any]]:
    yield "plan", outcome.plan
    for struck in outcome.struck:
        yield "struck", struck
    for ended in outcome.exits:
        yield "exit", ended
    for violation in outcome.found:
        yield "found", violation
    history = outcome.history
    for sent in history.sent:
        yield "sent", sent
    for written in history.written:
        yield "written", written
    for sample in history.samples:
        yield "sample", _flat(sample)
    for happening in history.happenings:
        yield "happening", happening
    visible = {place_of(message) for message in outcome.committed}
    for message in outcome.everything:
        yield "output", [*place_of(message), name_of(message), place_of(message) in visible]


def _flat(sample: Sample) -> list[Any]:
    return [sample.at, sample.committed, [[*place, end] for place, end in sample.ends.items()]]

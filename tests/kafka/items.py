"""Input records with known outcomes, from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tests.kafka.collect import Item
from tests.kafka.history import TWIN, Sent
from tests.kafka.text_scorer import NO_NUMBER, POISON, score_of

MAX_BYTES = 4_000
"""What the scenarios set as `input.max_bytes`."""


def normal(count: int, seed: int) -> Iterator[Item]:
    """Records that are to be scored: JSON events and plain lines, most with a key, some without."""
    rng = random.Random(seed)
    for number in range(count):
        key = None if rng.random() < 0.25 else b"host-%d" % rng.randrange(60)
        text = f"request {seed}-{number} took {rng.randrange(2_000)} ms on node {rng.randrange(12)}"
        value = _event(text) if rng.random() < 0.5 else text.encode()
        yield Item(key, value, "scored", (("origin", b"%d" % number),))


def mixed(count: int, seed: int, every: int) -> Iterator[Item]:
    """The same with one bad or empty record in place of every `every`-th."""
    kinds = sorted(BAD)
    for number, item in enumerate(normal(count, seed)):
        yield _spoiled(item, kinds[(number // every) % len(kinds)], number) if number % every == 7 else item


def _event(text: str, **more: object) -> bytes:
    return msgspec.json.encode({"message": text, "level": "info", **more})


def _nested(number: int) -> bytes:
    return b'{"message":"deep %d","attributes":%s%s}' % (number, b"[" * 60, b"]" * 60)


BAD: dict[str, Callable[[int], bytes | None]] = {
    "undecodable": lambda number: b'{"message":"cut off at %d' % number,
    "invalid": lambda number: msgspec.json.encode({"text": f"no message in {number}"}),
    "oversize": lambda number: b"%d " % number + b"x" * MAX_BYTES,
    "too_complex": _nested,
    "poison": lambda number: f"{POISON if number % 2 else NO_NUMBER} ({number})".encode(),
    "empty": lambda number: None if number % 2 else b"",
}


def _spoiled(item: Item, kind: str, number: int) -> Item:
    return item._replace(value=BAD[kind](number), expected=kind)


def expected_scores(sent: Sequence[Sent]) -> dict[tuple[int, int], float]:
    """What the text scorer makes of each record that is to be scored, by source."""
    return {
        (s.partition, s.offset): score_of(text_of(s.value)) for s in sent if s.expected in {"scored", TWIN}
    }


def text_of(value: bytes | None) -> str:
    """The text of a record that is to be scored."""
    assert value is not None
    return str(msgspec.json.decode(value)["message"]) if value.startswith(b"{") else value.decode()

"""Inputs to begin with: findings, the hostile corpus, and what an ordinary user writes."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz.findings import FINDINGS
from tests.hostile.corpus import corpus

LONGEST = 8_192

_FILE = b"""
[kafka]
bootstrap_servers = "a:9092,b:9092"
consumer = { "fetch.min.bytes" = 1, client.rack = "r" }
[input]
topic = "events"
max_bytes = 1_000
[dead_letter]
max_ratio = 0.5
"""


def seeds(target: str) -> Iterator[bytes]:
    """At most LONGEST bytes each."""
    values = [h.value for h in corpus() if h.value and len(h.value) < LONGEST]
    yield from FINDINGS[target]
    if target == "settings":
        yield b"\x00\x00" + _FILE
    for value in values:
        yield {"codec": b"\x00" + value, "normalizer": value}.get(target, b"\x02\x03" + value)

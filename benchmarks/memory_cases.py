"""The situations in which a replica's memory is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from benchmarks.memory_load import Load
from tests.kafka.raw_produce import GZIP
from tests.kafka.replicas import ENTRY, SERVICE

Away = Literal["", "all brokers", "brokers of the results", "redis"]

_EXACTLY_ONCE = {"processing.guarantee": "exactly-once"}
_MODEL = {"scoring.model": "demo", "scoring.threads": "1"}
_DEDUPE = {"dedupe.enabled": "true"}


class Case(msgspec.Struct, frozen=True):
    """A backlog, how the replica is set up, and who goes away under it. Without a model the scores come from
    a function of the text, which holds nothing."""

    name: str
    load: Load
    partitions: int = 4
    settings: Mapping[str, str] = {}
    score_seconds: float = 0.0
    away: Away = ""
    program: Sequence[str] = ENTRY


_SMALL, _LARGE, _USUAL = Load(), Load(1_000_000, 1_500_000_000, bad_every=3), Load(1_000, 600_000_000)

CASES = (
    Case("130 B", _SMALL),
    Case("130 B, exactly once", _SMALL, settings=_EXACTLY_ONCE),
    Case("130 B, compressed", Load(codec=GZIP, total=600_000_000), partitions=16, score_seconds=0.5),
    Case("1 MB, every third a dead letter", _LARGE, score_seconds=0.2),
    Case("1 MB, exactly once", _LARGE, settings=_EXACTLY_ONCE, score_seconds=0.2),
    Case(
        "1 MB, exactly once, long transactions",
        _LARGE,
        settings=_EXACTLY_ONCE | {"transaction.max_time": "14"},
        score_seconds=0.2,
    ),
    Case("1,000 partitions", _SMALL, partitions=1_000),
    Case("10 s a batch", Load(10_000, 300_000_000), score_seconds=10.0),
    Case("brokers away", _USUAL, away="all brokers"),
    Case("brokers away, exactly once", _USUAL, settings=_EXACTLY_ONCE, away="all brokers"),
    Case("results' broker away", _USUAL, away="brokers of the results"),
    Case("results' broker away, exactly once", _USUAL, settings=_EXACTLY_ONCE, away="brokers of the results"),
    Case(
        "demo model, dedupe, Redis away",
        Load(total=1_500_000_000, ids=True),
        settings=_MODEL | _DEDUPE,
        away="redis",
        program=SERVICE,
    ),
)

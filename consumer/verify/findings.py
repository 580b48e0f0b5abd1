"""What an audit can find, counted by partition, with the first few of each kind named."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import NamedTuple

import msgspec

NAMED = 5
"""Findings of a kind that are told one by one; the rest is counted."""


class Kind(StrEnum):
    """docs/verify.md says of each what it means."""

    MISSING = "missing"
    AHEAD = "commit_ahead"
    DUPLICATE = "duplicate"
    RESCORED = "rescored"
    DIFFERING = "differing_repeat"
    CONFLICT = "result_and_dead_letter"
    ORDER = "order_break"
    PHANTOM = "phantom"
    NON_FINITE = "non_finite"
    WRONG_KEY = "wrong_key"
    WRONG_ID = "wrong_id"
    WRONG_OUTCOME = "wrong_outcome"
    MALFORMED = "malformed"
    ALTERED = "altered"


_ALLOWED = {
    "at-least-once": frozenset({Kind.DUPLICATE, Kind.RESCORED}),
    "exactly-once": frozenset({Kind.RESCORED}),
}


def breaks(guarantee: str) -> tuple[Kind, ...]:
    """The kinds that this guarantee rules out."""
    return tuple(kind for kind in Kind if kind not in _ALLOWED[guarantee])


class Where(NamedTuple):
    """One record of one topic."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class Finding(msgspec.Struct, frozen=True):
    """One violation. `partition`: of the input; None where it cannot be told. `at`: the record to look at."""

    kind: Kind
    partition: int | None
    at: str
    what: str


class Findings:
    """Counts everything, keeps the first few."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int | None, Kind]] = Counter()
        self._named: dict[Kind, list[Finding]] = {kind: [] for kind in Kind}

    def add(self, kind: Kind, partition: int | None, at: Where, what: str, count: int = 1) -> None:
        """`count` of them, of which `at` is the first."""
        self._counts[partition, kind] += count
        named = self._named[kind]
        if len(named) < NAMED:
            named.append(Finding(kind, partition, str(at), what))

    def of(self, partition: int | None) -> dict[Kind, int]:
        """How many of each kind belong to an input partition."""
        return {kind: self._counts[partition, kind] for kind in Kind}

    def named(self) -> list[Finding]:
        return [finding for findings in self._named.values() for finding in findings]

"""What an audit found, and whether the contract holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from consumer.verify.findings import Finding, Kind, breaks
from consumer.verify.reader import Held


class Verdict(StrEnum):
    HOLDS = "holds"
    BROKEN = "broken"
    CANNOT_SAY = "cannot say"


class Partition(msgspec.Struct, frozen=True):
    """One input partition: offsets [start, end) were audited. docs/verify.md explains each field.

    `results` by outcome and `dead_letters` by reason count output records, repeats included. `expired`:
    records without an output record whose output retention may have removed; `blocked`: whose output may
    lie in an open transaction; `before_first`: that lie before the first one with an output record, where
    the group may have begun. None of these three is counted missing.
    """

    partition: int
    start: int
    end: int
    committed: int | None
    records: int
    results: dict[str, int]
    dead_letters: dict[str, int]
    expired: int
    blocked: int
    before_first: int
    beyond: int
    before: int
    found: dict[Kind, int]


class Report(msgspec.Struct, frozen=True):
    """`unplaced`: violations by records that name no partition of the input. `findings`: the first few of
    each kind. `others`: output records that are not the group's, by whose they are."""

    group: str
    guarantee: str
    input: str
    results: str
    dead_letters: str
    partitions: list[Partition]
    unplaced: dict[Kind, int]
    findings: list[Finding]
    held: list[Held]
    others: dict[str, int]
    models: list[str]
    notes: list[str]
    doubts: list[str]
    seconds: float

    def total(self, kind: Kind) -> int:
        return self.unplaced[kind] + sum(part.found[kind] for part in self.partitions)

    def sum(self, field: str) -> int:
        """Of a field of all partitions that counts records."""
        return sum(getattr(part, field) for part in self.partitions)

    def breaks(self) -> dict[Kind, int]:
        """What breaks the contract of the guarantee, and how often."""
        return {kind: count for kind in breaks(self.guarantee) if (count := self.total(kind))}

    def verdict(self) -> Verdict:
        """What is proven wrong counts before what cannot be said."""
        if self.breaks():
            return Verdict.BROKEN
        return Verdict.CANNOT_SAY if self.doubts else Verdict.HOLDS

    def sentence(self) -> str:
        """The verdict in one line."""
        verdict = self.verdict()
        if verdict is Verdict.BROKEN:
            found = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in self.breaks().items())
            return f"{self.guarantee} is broken: {found}"
        if verdict is Verdict.CANNOT_SAY:
            return f"cannot say whether {self.guarantee} holds: {'; '.join(self.doubts)}"
        expired = self.sum("expired")
        proven = self.sum("records") - expired - self.sum("before_first")
        open_ = f"; of {expired:,} the output may have been removed" if expired else ""
        return f"{self.guarantee} holds for {proven:,} record{'s' * (proven != 1)}{open_}"


def together(counts: Iterable[dict[str, int]]) -> Counter[str]:
    """Sums by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total

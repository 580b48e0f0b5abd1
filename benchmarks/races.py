"""Competitors taking turns, and how one compares with another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TypeAlias

import msgspec

from benchmarks.jobs import Measured

Competitor: TypeAlias = Callable[[int], Measured]
Runs: TypeAlias = Mapping[str, Sequence[Measured]]


def race(
    competitors: Mapping[str, Competitor],
    rounds: int,
    tell: Callable[[str], None],
    may_go_on: Callable[[], bool] = lambda: True,
) -> Runs:
    """Let each run once a round, in the opposite order every other round, so that whatever else the machine
    does meets all alike. A competitor gets the number of its round. After a whole round `may_go_on` is
    asked whether there is time for another."""
    runs: dict[str, list[Measured]] = {name: [] for name in competitors}
    names = list(competitors)
    for turn in range(rounds):
        if turn and not may_go_on():
            break
        for name in names if turn % 2 == 0 else reversed(names):
            measured = competitors[name](turn)
            runs[name].append(measured)
            tell(f"{name}: {measured.rate:,.0f} records/s, {measured.cpu_micros:,.1f} µs CPU per record")
    return runs


class Target(msgspec.Struct, frozen=True):
    """`at_most`: smaller is better."""

    value: float
    at_most: bool = False

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.value:g}"


def spread(ratios: Sequence[float]) -> str:
    """The median, the least and the most, for a table."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


class Comparison(msgspec.Struct, frozen=True):
    """One number divided by another, round by round."""

    what: str
    unit: str
    ours: float
    other: float
    ratios: tuple[float, ...]
    target: Target | None = None

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def met(self) -> bool | None:
        """Whether the median meets the target; None without one."""
        if self.target is None:
            return None
        return self.ratio <= self.target.value if self.target.at_most else self.ratio >= self.target.value


def by_rate(
    what: str, ours: Sequence[Measured], other: Sequence[Measured], target: float | None
) -> Comparison:
    """Records per second, ours ÷ the other's."""
    return Comparison(
        what,
        "records/s",
        median(each.rate for each in ours),
        median(each.rate for each in other),
        tuple(a.rate / b.rate for a, b in zip(ours, other, strict=True)),
        None if target is None else Target(target),
    )


def by_cpu(
    what: str, ours: Sequence[Measured], other: Sequence[Measured], target: float | None
) -> Comparison:
    """CPU time per record, ours ÷ the other's."""
    return Comparison(
        what,
        "µs CPU per record",
        median(each.cpu_micros for each in ours),
        median(each.cpu_micros for each in other),
        tuple(a.cpu_micros / b.cpu_micros for a, b in zip(ours, other, strict=True)),
        None if target is None else Target(target, at_most=True),
    )

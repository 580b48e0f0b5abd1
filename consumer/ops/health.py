"""Am I alive, am I ready: pure state, told by the loop and asked by the HTTP endpoint.

Written by the loop's thread only and read by any other: every field is replaced as a whole, so a reader
sees either the old or the new value and no lock is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from consumer import settings
from consumer.ports import Observer
from consumer.records import Position, TopicPartition


class Report(NamedTuple):
    """`reasons` is empty exactly when `ok`. No reason holds a configuration value or payload."""

    ok: bool
    reasons: tuple[str, ...]


class _Progress(NamedTuple):
    position: Position
    since: float  # when it last moved, or last had nothing to read

    @property
    def behind(self) -> int:
        """Records that can be read; 0 while the log end is unknown."""
        end = self.position.log_end
        return 0 if end is None else max(0, end - self.position.finished)


class Health(Observer):
    """Liveness is about the loop alone; readiness is about everything that the work needs.

    Alive: the loop completed a step within `health.stall_after`, time inside a named blocking call not
    counted, and nothing else: neither a broker outage nor an open transaction upstream is cured by a
    restart. Before the first step (the model is being loaded) it is alive.

    Ready: the group has given us our (perhaps empty) assignment and we have not lost it since, no
    dependency is in trouble, and every owned partition with records to read moved within
    `health.stuck_after`.
    """

    def __init__(self, limits: settings.Health) -> None:
        self._limits = limits
        self._stepped_at: float | None = None
        self._call: tuple[str, float] | None = None
        self._assigned = False
        self._troubles: frozenset[str] = frozenset()
        self._progress: Mapping[TopicPartition, _Progress] = {}

    # What the loop tells

    def stepped(self, now: float) -> None:
        self._stepped_at = now

    def entered_call(self, name: str, now: float) -> None:
        self._call = (name, now)

    def left_call(self, now: float) -> None:
        call, stepped_at = self._call, self._stepped_at
        if call is not None and stepped_at is not None:
            self._stepped_at = stepped_at + (now - call[1])
        self._call = None

    def rebalanced(self, kind: str, partitions: Collection[TopicPartition]) -> None:
        if kind == "assigned":
            self._assigned = True
        else:
            # A client that lost what it had joins anew, but only once the topic is there (again).
            self._assigned = self._assigned and kind != "lost"
            gone = frozenset(partitions)
            self._progress = {p: seen for p, seen in self._progress.items() if p not in gone}

    def positions(self, positions: Mapping[TopicPartition, Position], now: float) -> None:
        self._progress = {p: self._moved(p, position, now) for p, position in positions.items()}

    def trouble(self, what: str, why: str | None) -> None:
        self._troubles = self._troubles - {what} if why is None else self._troubles | {what}

    def _moved(self, partition: TopicPartition, position: Position, now: float) -> _Progress:
        """Moved is any change of the finished offset: a reset backwards is progress too."""
        before = self._progress.get(partition)
        after = _Progress(position, now)
        waiting = before is not None and before.behind > 0 and after.behind > 0
        if before is not None and waiting and before.position.finished == position.finished:
            return after._replace(since=before.since)
        return after

    # What the endpoint asks

    def live(self, now: float) -> Report:
        """Whether a restart would not help."""
        idle = self._idle(now)
        if idle <= self._limits.stall_after:
            return _report([])
        return _report([f"the loop has not completed a step for {idle:.0f} s"])

    def ready(self, now: float) -> Report:
        """Whether records that arrive now get scored, published and committed."""
        reasons = [f"{what}: failing" for what in sorted(self._troubles)]
        if not self._assigned:
            reasons.append("the group has not assigned partitions yet")
        return _report([*reasons, *self._stuck(now)])

    def _idle(self, now: float) -> float:
        stepped_at, call = self._stepped_at, self._call
        if stepped_at is None:
            return 0.0
        return (call[1] if call is not None else now) - stepped_at

    def _stuck(self, now: float) -> list[str]:
        stuck = [
            (partition.partition, now - seen.since, seen.behind)
            for partition, seen in self._progress.items()
            if seen.behind > 0 and now - seen.since > self._limits.stuck_after
        ]
        return [
            f"partition {partition}: nothing finished for {idle:.0f} s with {behind} records to the log end"
            " (an open transaction of a producer upstream looks like this)"
            for partition, idle, behind in sorted(stuck)
        ]


def _report(reasons: list[str]) -> Report:
    return Report(not reasons, tuple(reasons))

"""A run as seen from outside: what went in, what came out, what was committed when, what replicas said.

Plain values, so that the checker can be tested on planted histories. Times are seconds of the machine's
monotonic clock, which every process on it shares.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]

Place = tuple[str, int]
"""A topic and the number of a partition."""


TWIN = "twin"
"""Expected of records that hold the same event: one of them is scored, the others are that or `duplicate`."""

SCORED = frozenset(("scored", "duplicate"))


class Sent(NamedTuple):
    """An input record that the broker acknowledged, and what has to become of it.

    `expected` is an outcome (`scored`, `empty`), the reason of a dead letter, or TWIN.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    expected: str
    headers: Headers = ()


class Written(NamedTuple):
    """An output record as its subscriber read it: a result or a dead letter.

    `outcome` is that of a result or the reason of a dead letter; `claimed` the id that it carries.
    `key`, `value` and `headers` (the input's part of them) are kept for dead letters only, `model` (its
    version) for results only.
    """

    topic: str
    partition: int
    offset: int
    source: tuple[int, int]
    claimed: str
    outcome: str
    score: float | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    model: str = ""


class Sample(NamedTuple):
    """Committed next offsets by input partition, asked first; then the output ends, by (topic, partition)."""

    at: float
    committed: Mapping[int, int]
    ends: Mapping[tuple[str, int], int]


class Action(StrEnum):
    """What a replica told about itself, or was made to do."""

    ASSIGNED = "assigned"  # offsets: where each partition starts
    REVOKED = "revoked"
    LOST = "lost"
    POLLED = "polled"  # offsets: first of each partition; ends: last of each; counts: how many
    ASKED = "asked"  # a commit was started for these next offsets
    COMMITTED = "committed"  # a commit was acknowledged for these next offsets
    REFUSED = "refused"
    GIVEN_UP = "given_up"
    SEND_FAILED = "send_failed"
    ABORTED = "aborted"  # a transaction
    HELD = "held"  # the rig held bytes back on their way: they may arrive after their sender is gone
    MOVED = "moved"  # the rig stopped a broker: others take over what it led
    FAILPOINT = "failpoint"  # the process is about to kill itself
    KILLED = "killed"
    EXITED = "exited"


CAUSES = (Action.KILLED, Action.LOST, Action.GIVEN_UP, Action.SEND_FAILED)
"""Events that may make a record come out twice."""

LATE = (Action.LOST, Action.GIVEN_UP, Action.HELD)
"""Events after which what a former owner had sent may still arrive."""


class Happening(NamedTuple):
    """One line of a replica's event log."""

    at: float
    replica: str
    action: Action
    offsets: Mapping[int, int] = {}
    ends: Mapping[int, int] = {}
    counts: Mapping[int, int] = {}


class Limits(NamedTuple):
    """The settings from which the contract computes its bound on duplicates."""

    depth: int
    batch_count: int
    max_uncommitted: int

    @property
    def per_event(self) -> int:
        return self.depth * self.batch_count + self.max_uncommitted


class History(NamedTuple):
    """Everything that the checker judges. `topic` is the input's name, `prefix` that of result ids. `exact`:
    exactly once was promised, and `written` is what a reader of committed records got."""

    topic: str
    sent: Sequence[Sent]
    written: Sequence[Written]
    samples: Sequence[Sample]
    happenings: Sequence[Happening]
    limits: Limits
    prefix: str = ""
    exact: bool = False

    def result_id(self, partition: int, offset: int) -> str:
        return f"{self.prefix}{self.topic}|{partition}|{offset}"

    def of(self, *actions: Action) -> list[Happening]:
        return [h for h in self.happenings if h.action in actions]

    def inputs(self) -> dict[int, list[int]]:
        """Readable offsets of each input partition, ascending; they may have gaps."""
        offsets: dict[int, list[int]] = {}
        for sent in self.sent:
            offsets.setdefault(sent.partition, []).append(sent.offset)
        return {partition: sorted(values) for partition, values in offsets.items()}

    def duplicates(self) -> int:
        """Output records beyond the first of their input record."""
        return len(self.written) - len({w.source for w in self.written})

    def causes(self) -> list[Happening]:
        """Events that may have caused duplicates; the end of a process that had no records is none."""
        worked = {h.replica for h in self.of(Action.POLLED)}
        return [h for h in self.of(*CAUSES) if h.action is not Action.KILLED or h.replica in worked]

    def events(self) -> int:
        return len(self.causes())

    def bound(self) -> int:
        """Duplicates that the contract allows for what happened."""
        return 0 if self.exact else self.events() * self.limits.per_event


def count_between(offsets: Sequence[int], first: int, end: int) -> int:
    """How many of the ascending `offsets` lie in [first, end)."""
    return bisect.bisect_left(offsets, end) - bisect.bisect_left(offsets, first)


def samples_until_recovery(history: History, killed: Happening) -> list[Sample]:
    """Samples from a kill to the first one in which every partition that the replica owned has moved on."""
    owned = owned_at(history.happenings, killed.replica, killed.at)
    later = [s for s in history.samples if s.at >= killed.at]
    if not later:
        return []
    before = {p: later[0].committed.get(p, -1) for p in owned}
    recovered = (i for i, s in enumerate(later) if all(s.committed.get(p, -1) > o for p, o in before.items()))
    return later[: next(recovered, len(later))]


def owned_at(happenings: Iterable[Happening], replica: str, at: float) -> set[int]:
    """Partitions that `replica` owned at that moment, from its own log."""
    owned: set[int] = set()
    for h in happenings:
        if h.replica != replica or h.at > at:
            continue
        if h.action is Action.ASSIGNED:
            owned |= set(h.offsets)
        elif h.action in {Action.REVOKED, Action.LOST}:
            owned -= set(h.offsets)
    return owned

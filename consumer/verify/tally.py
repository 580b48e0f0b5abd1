"""Sums up a partition once everything was read: what has no output record, and what that means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from consumer.verify.findings import Findings, Kind, Where
from consumer.verify.judge import Part
from consumer.verify.report import Partition
from consumer.verify.window import ANSWERED, OLD, SEEN, Bools


class Excuses(NamedTuple):
    """Why a record without an output record may still not be missing.

    `output_held`: an open transaction hides a part of the output. `output_removed`: retention removed
    output records while they were read. `late_start`: the group may have begun anywhere (`input.start` =
    latest, and no start was asked for).
    """

    output_held: bool = False
    output_removed: bool = False
    late_start: bool = False


class _Unanswered(NamedTuple):
    missing: Bools
    expired: int
    blocked: int
    before_first: int


def tally(part: Part, excuses: Excuses, findings: Findings) -> Partition:
    """Adds what is missing, and how far the commit stands ahead of the output, to `findings`."""
    window = part.window
    answered = window.has(ANSWERED)
    unanswered = _unanswered(part, answered, excuses)
    for offset, count in window.runs(unanswered.missing):
        where = Where(part.topic, part.number, offset)
        findings.add(Kind.MISSING, part.number, where, f"{_records(count)} without an output record", count)
    _look_ahead(part, unanswered.missing, findings)
    return Partition(
        partition=part.number,
        start=window.first,
        end=window.behind,
        committed=part.range.committed,
        records=int(window.has(SEEN).sum()),
        results=dict(part.outcomes),
        dead_letters=dict(part.reasons),
        expired=unanswered.expired,
        blocked=unanswered.blocked,
        before_first=unanswered.before_first,
        beyond=part.beyond,
        before=part.before,
        found=findings.of(part.number),
    )


def _unanswered(part: Part, answered: Bools, excuses: Excuses) -> _Unanswered:
    unanswered = part.window.has(SEEN) & ~answered
    before_first = 0
    if excuses.late_start:
        first = int(np.argmax(answered)) if answered.any() else len(answered)
        before_first = int(unanswered[:first].sum())
        unanswered[:first] = False
    expired = unanswered if excuses.output_removed else unanswered & part.window.has(OLD)
    rest = unanswered & ~expired
    blocked = int(rest.sum()) if excuses.output_held else 0
    missing = np.zeros_like(rest) if excuses.output_held else rest
    return _Unanswered(missing, int(expired.sum()), blocked, before_first)


def _look_ahead(part: Part, missing: Bools, findings: Findings) -> None:
    """The commit is ahead where the last records below it are missing, and where the log does not reach."""
    window, committed, high = part.window, part.range.committed, part.range.high
    if committed is None:
        return
    sound = np.flatnonzero(window.has(SEEN) & ~missing)
    tail = missing[int(sound[-1]) + 1 :] if len(sound) else missing
    count = int(tail.sum())
    if count and window.behind == min(committed, high):
        first = window.end - len(tail) + int(np.argmax(tail))
        what = f"committed is {committed}, and the last {_records(count)} below it have no output record"
        findings.add(Kind.AHEAD, part.number, Where(part.topic, part.number, first), what, count)
    if committed > high:
        what = f"committed is {committed}, and the log ends at {high}"
        findings.add(Kind.AHEAD, part.number, Where(part.topic, part.number, high), what, committed - high)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"

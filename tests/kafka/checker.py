"""Judges a history by the delivery contract. Pure: the same function judges real and planted runs.

Each rule carries the number of its invariant and returns one line per violation, at most a few of a kind.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.kafka.commits import commits_back, two_owners
from tests.kafka.history import (
    SCORED,
    TWIN,
    Action,
    Happening,
    History,
    Place,
    Sample,
    Sent,
    Written,
    count_between,
)
from tests.kafka.ordering import wrong_order

_SHOWN = 5


class Violation(NamedTuple):
    """`rule` is the invariant's number."""

    rule: str
    what: str


def check(history: History, scores: Mapping[tuple[int, int], float] | None = None) -> list[Violation]:
    """Every violation found. `scores`: the expected score of each record that is to be scored, by source."""
    found = [Violation(rule, line) for rule, judge in RULES.items() for line in first_few(judge(history))]
    if scores is not None:
        found += [Violation("I9", line) for line in first_few(wrong_scores(history, scores))]
    return found


def lost_records(history: History) -> Iterator[str]:
    """I1: every readable record below the final commit has an output record."""
    done = {w.source for w in history.written}
    final = history.samples[-1].committed if history.samples else {}
    for sent in history.sent:
        if sent.offset < final.get(sent.partition, 0) and (sent.partition, sent.offset) not in done:
            yield f"{_name(sent)} lies below the final commit and has no output record"


def commits_ahead(history: History) -> Iterator[str]:
    """I2: at each sample, what lies below the committed offset was already in the output's log."""
    inputs, lines = history.inputs(), _high_lines(history)
    for sample in history.samples:
        for partition, committed in sample.committed.items():
            yield from _ahead(sample, partition, committed, inputs.get(partition, []), lines)


def too_many_duplicates(history: History) -> Iterator[str]:
    """I4: duplicates stay within what the settings promise for the events that happened."""
    if history.duplicates() > history.bound():
        yield (
            f"{history.duplicates()} duplicates, {history.events()} events x "
            f"{history.limits.per_event} = {history.bound()} allowed"
        )


def unequal_sets(history: History) -> Iterator[str]:
    """I5: every input record has its output record, committed or not."""
    done = {w.source for w in history.written}
    for sent in history.sent:
        if (sent.partition, sent.offset) not in done:
            yield f"{_name(sent)} has no output record"


def phantoms(history: History) -> Iterator[str]:
    """I7: every output record has an input record, and carries the id of it."""
    known = {(s.partition, s.offset) for s in history.sent}
    for written in history.written:
        if written.source not in known:
            yield f"{_where(written)} comes from {written.source}, which was never sent"
        elif written.claimed != history.result_id(*written.source):
            yield f"{_where(written)} carries the id {written.claimed}"


def skipped_polls(history: History) -> Iterator[str]:
    """I10: what an owner is given follows what it was given before, with no readable record left out."""
    inputs = history.inputs()
    expected: dict[tuple[str, int], int] = {}
    for h in history.happenings:
        if h.action is Action.ASSIGNED:
            expected.update({(h.replica, p): start for p, start in h.offsets.items()})
        elif h.action is Action.POLLED:
            for partition in h.offsets:
                yield from _gaps(h, partition, expected, inputs.get(partition, []))


def wrong_outcomes(history: History) -> Iterator[str]:
    """I12: each record has exactly one classification, the expected one, in all its output records. An event
    that came more than once may be scored or called a duplicate, each time that it is delivered."""
    outcomes: dict[tuple[int, int], set[str]] = defaultdict(set)
    for written in history.written:
        outcomes[written.source].add(written.outcome)
    for sent in history.sent:
        got = outcomes.get((sent.partition, sent.offset))
        right = got is None or (got <= SCORED if sent.expected == TWIN else got == {sent.expected})
        if not right:
            yield f"{_name(sent)} should be {sent.expected} and is {sorted(got or ())}"


def altered_dead_letters(history: History) -> Iterator[str]:
    """I13: a dead letter keeps the bytes, the key and the headers of its record."""
    sent = {(s.partition, s.offset): s for s in history.sent if s.expected not in {"scored", "empty", TWIN}}
    for written in history.written:
        origin = sent.get(written.source)
        if origin is None:
            continue
        kept = (written.key, written.value, written.headers)
        if kept != (origin.key, origin.value, origin.headers):
            yield f"{_where(written)} is not {_name(origin)} as it came in"


def suppressed_events(history: History) -> Iterator[str]:
    """I19: of an event that came more than once at least one record is scored."""
    scored = {w.source for w in history.written if w.outcome == "scored"}
    twins: dict[bytes | None, list[Sent]] = defaultdict(list)
    for sent in history.sent:
        if sent.expected == TWIN:
            twins[sent.value].append(sent)
    for same in twins.values():
        if not any((s.partition, s.offset) in scored for s in same):
            yield f"{' and '.join(map(_name, same))} hold the same event, and none of them is scored"


def wrong_scores(
    history: History, scores: Mapping[tuple[int, int], float], tolerance: float = 1e-6
) -> Iterator[str]:
    """I9: a score is finite and is what scoring the same input again gives."""
    for written in history.written:
        expected = scores.get(written.source)  # None: sent by nobody, which is another rule's business
        if written.outcome != "scored" or expected is None:
            continue
        if written.score is None or not abs(written.score - expected) <= tolerance:  # also false for NaN
            yield f"{_where(written)} has score {written.score}, expected {expected}"


Rule = Callable[[History], Iterator[str]]

RULES: Mapping[str, Rule] = {
    "I1": lost_records,
    "I2": commits_ahead,
    "I3": commits_back,
    "I4": too_many_duplicates,
    "I5": unequal_sets,
    "I6": wrong_order,
    "I7": phantoms,
    "I10": skipped_polls,
    "I11": two_owners,
    "I12": wrong_outcomes,
    "I13": altered_dead_letters,
    "I19": suppressed_events,
}


class _HighLine(NamedTuple):
    """For one input partition in one place: the input offsets there, ascending, and how far the place's
    log must reach to hold all of them up to each (offsets of first occurrences, running maximum)."""

    inputs: Sequence[int]
    needs: Sequence[int]


def _high_lines(history: History) -> dict[int, dict[Place, _HighLine]]:
    first: dict[tuple[int, Place], dict[int, int]] = defaultdict(dict)
    known = {(s.partition, s.offset) for s in history.sent}
    for w in (w for w in history.written if w.source in known):
        partition, offset = w.source
        seen = first[partition, (w.topic, w.partition)]
        seen[offset] = min(w.offset, seen.get(offset, w.offset))
    lines: dict[int, dict[Place, _HighLine]] = defaultdict(dict)
    for (partition, place), seen in first.items():
        inputs = sorted(seen)
        lines[partition][place] = _HighLine(inputs, list(itertools.accumulate(map(seen.get, inputs), max)))
    return lines


def _ahead(
    sample: Sample,
    partition: int,
    committed: int,
    inputs: Sequence[int],
    lines: Mapping[int, Mapping[Place, _HighLine]],
) -> Iterator[str]:
    below = bisect.bisect_left(inputs, committed)
    there = 0
    for place, line in lines.get(partition, {}).items():
        count = bisect.bisect_left(line.inputs, committed)
        there += count
        if count and line.needs[count - 1] >= sample.ends.get(place, 0):
            yield f"at {sample.at:.3f} partition {partition} stood at {committed}, {place} lacked it"
    if there < below:
        yield f"at {sample.at:.3f} partition {partition} stood at {committed}, {below - there} never written"


def _gaps(
    polled: Happening, partition: int, expected: dict[tuple[str, int], int], inputs: Sequence[int]
) -> Iterator[str]:
    key = (polled.replica, partition)
    first, last = polled.offsets[partition], polled.ends[partition]
    due = expected.get(key)
    if due is None:
        yield f"{polled.replica} polled partition {partition} without owning it"
    elif first < due or count_between(inputs, due, first):
        yield f"{polled.replica} polled partition {partition} from {first}, due was {due}"
    if count_between(inputs, first, last + 1) != polled.counts[partition]:
        yield f"{polled.replica} polled a part of partition {partition} {first}…{last} only"
    expected[key] = last + 1


def first_few(lines: Iterable[str]) -> list[str]:
    """Enough of them for a message."""
    shown = list(itertools.islice(lines, _SHOWN + 1))
    return shown if len(shown) <= _SHOWN else [*shown[:_SHOWN], "… and more"]


def _name(sent: Sent) -> str:
    return f"input {sent.partition}|{sent.offset}"


def _where(written: Written) -> str:
    return f"{written.topic}[{written.partition}]@{written.offset}"

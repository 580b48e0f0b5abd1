"""I3 and I11: what was committed, by whom. Part of the checker."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.kafka.history import Action, Happening, History, Sample

_SOON = 30.0  # seconds; 12 were seen after all brokers had been away


def commits_back(history: History) -> Iterator[str]:
    """I3: a committed offset never goes back, neither in samples, nor for whoever is given the partition, nor
    in what one owner got accepted.

    Commits count in the order in which they were asked: answers may overtake one another on their way.
    """
    for partition, earlier, later in _falls(history.samples):
        if not _read_stale(history, partition, earlier, later):
            at, now_at = earlier.committed[partition], later.committed.get(partition)
            yield f"partition {partition}: committed {at}, later {now_at}"
    yield from _starts_behind(history)
    for span in _spans(history):
        for before, after in itertools.pairwise(h.offsets[span.partition] for h in span.accepted):
            if after < before:
                yield f"{span.replica} committed partition {span.partition} at {before}, then back at {after}"


def stale_reads(history: History) -> int:
    """Samples in which an offset was told that had been overtaken before; see I3."""
    return sum(_read_stale(history, *fall) for fall in _falls(history.samples))


def two_owners(history: History) -> Iterator[str]:
    """I11: nobody's commit is accepted for a partition that somebody else was already given."""
    owners: dict[int, list[_Span]] = defaultdict(list)
    for span in sorted(_spans(history), key=lambda s: s.begins):
        owners[span.partition].append(span)
    for partition, spans in owners.items():
        for earlier, later in itertools.combinations(spans, 2):
            if earlier.replica == later.replica or not earlier.accepted or not later.accepted:
                continue
            if earlier.accepted[-1].at >= later.begins:
                yield f"{earlier.replica} committed partition {partition} after {later.replica} got it"


def _falls(samples: Sequence[Sample]) -> Iterator[tuple[int, Sample, Sample]]:
    for earlier, later in itertools.pairwise(samples):
        for partition, offset in earlier.committed.items():
            if later.committed.get(partition, -1) < offset:
                yield partition, earlier, later


def _read_stale(history: History, partition: int, earlier: Sample, later: Sample) -> bool:
    """A broker that has just taken a group over shows only those commits of which it knows that the other
    brokers have them too: for a moment it tells an offset from before the last ones."""
    soon = (s for s in history.samples if later.at < s.at < later.at + _SOON)
    offset = earlier.committed[partition]
    return bool(history.of(Action.MOVED)) and any(s.committed.get(partition, -1) >= offset for s in soon)


def _starts_behind(history: History) -> Iterator[str]:
    accepted: dict[int, int] = {}
    for h in history.happenings:
        if h.action is Action.COMMITTED:
            accepted.update({p: max(o, accepted.get(p, 0)) for p, o in h.offsets.items()})
        elif h.action is Action.ASSIGNED:
            for partition, start in h.offsets.items():
                if start < (known := accepted.get(partition, 0)):
                    yield f"{h.replica} was given partition {partition} at {start}, committed {known}"


class _Span(NamedTuple):
    """One replica's ownership of one partition, up to the next time that it gets it.

    `accepted`: commits asked for in this span that were acknowledged, in the order they were asked.
    """

    replica: str
    partition: int
    begins: float
    accepted: Sequence[Happening]


def _spans(history: History) -> Iterator[_Span]:
    own: dict[tuple[str, int], list[Happening]] = defaultdict(list)
    for h in history.of(Action.ASSIGNED, Action.ASKED, Action.COMMITTED):
        for partition in h.offsets:
            own[h.replica, partition].append(h)
    for (replica, partition), happenings in own.items():
        starts = [i for i, h in enumerate(happenings) if h.action is Action.ASSIGNED]
        for begin, end in itertools.pairwise([*starts, len(happenings)]):
            yield _span(replica, partition, happenings[begin:end])


def _span(replica: str, partition: int, happenings: Sequence[Happening]) -> _Span:
    reached = {h.offsets[partition] for h in happenings if h.action is Action.COMMITTED}
    asked = [h for h in happenings if h.action is Action.ASKED and h.offsets[partition] in reached]
    return _Span(replica, partition, happenings[0].at, asked)

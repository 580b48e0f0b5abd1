"""I6: the order of results. Part of the checker."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.kafka.history import LATE, Action, History, Place


def wrong_order(history: History) -> Iterator[str]:
    """I6: per output partition, first occurrences are in input order and repeats replay without a skip.

    Every jump needs an event that explains it, and a record's repeats stay in one place.
    """
    explained = _explained(history)
    for (place, partition), offsets in _sequences(history).items():
        where = f"{place[0]}[{place[1]}] from input partition {partition}"
        yield from (f"{where}: {line}" for line in _disorder(offsets, explained))
    yield from _scattered(history)


class _Jumps(NamedTuple):
    """Pairs of neighbours in a sequence that do not follow each other. `back`: a repeat begins; `aside`: a
    repeat ends early, or leaves records out; `ahead`: a first occurrence comes before its predecessor's."""

    back: int = 0
    aside: int = 0
    ahead: int = 0


def _explained(history: History) -> _Jumps:
    """How many jumps of each kind the events explain, in one sequence. A former owner has `depth` batches
    under way, each of which may arrive between two of its successor's."""
    if history.exact:
        return _Jumps()
    late = len(history.of(*LATE)) * history.limits.depth
    failed = len(history.of(Action.SEND_FAILED)) * history.limits.depth
    return _Jumps(history.events() + late, late, failed)


def _disorder(offsets: Sequence[int], explained: _Jumps) -> Iterator[str]:
    follows = dict(itertools.pairwise(sorted(set(offsets))))
    counts, examples = Counter[str](), dict[str, str]()
    highest = offsets[0]
    for earlier, later in itertools.pairwise(offsets):
        if later <= earlier or later != follows[earlier]:
            kind = (
                "back" if later <= earlier else "aside" if later <= follows.get(highest, highest) else "ahead"
            )
            counts[kind] += 1
            examples.setdefault(kind, f"{later} comes right after {earlier}")
        highest = max(highest, later)
    for kind, count in counts.items():
        if count > getattr(explained, kind):
            yield f"{count} jumps {kind}, {getattr(explained, kind)} explained; {examples[kind]}"


def _scattered(history: History) -> Iterator[str]:
    places: dict[tuple[int, int], set[Place]] = defaultdict(set)
    for w in history.written:
        places[w.source].add((w.topic, w.partition))
    yield from (f"{source} is in {sorted(found)}" for source, found in places.items() if len(found) > 1)


def _sequences(history: History) -> dict[tuple[Place, int], list[int]]:
    """Input offsets in the order of the log, for each place and input partition."""
    sequences: dict[tuple[Place, int], list[int]] = defaultdict(list)
    for w in sorted(history.written, key=lambda w: (w.topic, w.partition, w.offset)):
        sequences[(w.topic, w.partition), w.source[0]].append(w.source[1])
    return sequences

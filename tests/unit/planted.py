"""Histories of runs that never were: a sound one, and what is needed to plant a fault in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.kafka.checker import check
from tests.kafka.history import Action, Happening, History, Limits, Sample, Sent, Written

TOPIC = "events"
LIMITS = Limits(depth=2, batch_count=3, max_uncommitted=4)
READABLE = [0, 1, 2, 5, 6, 7, 8, 10, 11, 12]  # gaps as transaction markers and compaction leave them
BAD = {6: "undecodable", 11: "poison"}


def sent(partition: int) -> list[Sent]:
    return [Sent(partition, o, b"k", b"v%d" % o, BAD.get(o, "scored"), (("h", b"1"),)) for o in READABLE]


def written(inputs: Sequence[Sent]) -> list[Written]:
    """Each input once: results of partition p in results[p], its dead letters in dead[0]."""
    ends: dict[tuple[str, int], int] = {}
    outputs = []
    for s in inputs:
        place = ("results", s.partition) if s.expected == "scored" else ("dead", 0)
        at = ends[place] = ends.get(place, -1) + 1
        outputs.append(output(s, place, at))
    return outputs


def output(s: Sent, place: tuple[str, int], at: int) -> Written:
    claimed = f"{TOPIC}|{s.partition}|{s.offset}"
    score = float(s.offset) if s.expected == "scored" else None
    return Written(*place, at, (s.partition, s.offset), claimed, s.expected, score, s.key, s.value, s.headers)


def sample(at: float, committed: int, outputs: Sequence[Written], inputs: Sequence[Sent]) -> Sample:
    """Partitions 0 and 1 committed up to `committed`, and the output as far as that needs."""
    need = {(s.partition, s.offset) for s in inputs if s.offset < committed}
    ends: dict[tuple[str, int], int] = {}
    for w in outputs:
        if w.source in need:
            ends[w.topic, w.partition] = max(ends.get((w.topic, w.partition), 0), w.offset + 1)
    return Sample(at, {0: committed, 1: committed}, ends)


def happenings() -> list[Happening]:
    """Replica a reads all of partition 0; partition 1 goes from a to b at offset 7."""
    return [
        Happening(0.0, "a", Action.ASSIGNED, {0: 0, 1: 0}),
        Happening(0.1, "a", Action.POLLED, {0: 0, 1: 0}, {0: 5, 1: 6}, {0: 4, 1: 5}),
        Happening(1.0, "a", Action.ASKED, {0: 6, 1: 7}),
        Happening(1.1, "a", Action.COMMITTED, {0: 6, 1: 7}),
        Happening(2.0, "a", Action.REVOKED, {1: 0}),
        Happening(2.5, "b", Action.ASSIGNED, {1: 7}),
        Happening(2.6, "b", Action.POLLED, {1: 7}, {1: 12}, {1: 5}),
        Happening(2.7, "a", Action.POLLED, {0: 6}, {0: 12}, {0: 6}),
        Happening(3.0, "b", Action.ASKED, {1: 13}),
        Happening(3.1, "b", Action.COMMITTED, {1: 13}),
        Happening(3.2, "a", Action.ASKED, {0: 13}),
        Happening(3.3, "a", Action.COMMITTED, {0: 13}),
    ]


def sound() -> History:
    inputs = sent(0) + sent(1)
    outputs = written(inputs)
    samples = [sample(float(i), committed, outputs, inputs) for i, committed in enumerate([0, 2, 6, 7, 13])]
    return History(TOPIC, inputs, outputs, samples, happenings(), LIMITS)


def rules(history: History) -> set[str]:
    scores = {(s.partition, s.offset): float(s.offset) for s in history.sent}
    return {violation.rule for violation in check(history, scores)}


def with_written(change: Callable[[list[Written]], object]) -> History:
    history = sound()
    outputs = list(history.written)
    change(outputs)
    return history._replace(written=outputs)


def with_happenings(*more: Happening) -> History:
    return sound()._replace(happenings=sorted([*happenings(), *more], key=lambda h: h.at))


def renumbered(outputs: Sequence[Written]) -> list[Written]:
    """The same records in this order, with the offsets of such a log."""
    ends: dict[tuple[str, int], int] = {}
    log = []
    for w in outputs:
        place = (w.topic, w.partition)
        at = ends[place] = ends.get(place, -1) + 1
        log.append(w._replace(offset=at))
    return log


def repeated(times: int, events: int) -> History:
    """The last two results of partition 0 written `times` times more, with this many kills."""
    history = sound()
    results = [w for w in history.written if (w.topic, w.partition) == ("results", 0)]
    log = renumbered([*history.written, *(results[-2:] * times)])
    kills = [Happening(9.0 + i, "a", Action.KILLED) for i in range(events)]
    return history._replace(written=log, happenings=[*happenings(), *kills])

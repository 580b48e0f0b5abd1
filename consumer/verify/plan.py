"""What is audited: settled once, before anything is read, in an order that a running consumer cannot upset.

Committed offsets are asked first and the ends of the output afterwards, so that whatever had to be there
before a commit lies below those ends. The ends of the input come last: no result can be of a later record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from consumer.errors import Misconfigured
from consumer.masking import shown
from consumer.settings import Settings
from consumer.verify.broker import Broker
from consumer.verify.reader import Span
from consumer.verify.window import BYTES_PER_OFFSET, Range

_MIB = 1 << 20


class Asked(NamedTuple):
    """What the user asked for. None: from the first readable record, up to the committed offset, of all
    partitions. Times are milliseconds since the epoch. `patience`: seconds that an open transaction of
    the output is waited for. `memory`: MiB that what is known of the records may take."""

    partitions: frozenset[int] | None = None
    from_offset: int | None = None
    until_offset: int | None = None
    since: int | None = None
    until: int | None = None
    patience: float = 60.0
    memory: int = 1_024

    @property
    def has_start(self) -> bool:
        return self.from_offset is not None or self.since is not None


class Plan(NamedTuple):
    """`ranges` by input partition; `known`: all of them, asked for or not. `outputs`: what to read of each
    output topic. `removed_until`: output records up to this time (milliseconds) may have been removed by
    retention; inf: any may, since a partition is emptied or a topic compacted; None: none was.
    `compacted`: topics whose older records of a key vanish."""

    ranges: Mapping[int, Range]
    known: frozenset[int]
    outputs: Mapping[str, Mapping[int, Span]]
    removed_until: float | None
    compacted: frozenset[str]
    notes: tuple[str, ...]


def make_plan(broker: Broker, settings: Settings, asked: Asked) -> Plan:
    """Raises Misconfigured when a topic is missing, the group has committed nothing, a partition does not
    exist or the range needs more memory than allowed."""
    topic = settings.input.topic
    known = broker.partitions(topic)
    chosen = _chosen(known, asked.partitions, topic)
    committed = broker.committed(topic, chosen)
    if not committed:
        raise Misconfigured([_nothing_committed(settings)])
    names = (settings.output.topic, settings.dead_letter.topic)
    outputs, removed_until = {}, None
    for name in names:
        outputs[name], removed = _whole(broker, name)
        removed_until = _later(removed_until, removed)
    ranges = _ranges(broker, topic, chosen, committed, asked)
    _check_memory(ranges, asked.memory)
    looked = {name: broker.is_compacted(name) for name in (topic, *names)}
    notes = [
        *_notes(topic, ranges),
        *_unknown(name for name, compacted in looked.items() if compacted is None),
    ]
    compacted = frozenset(name for name, is_compacted in looked.items() if is_compacted)
    if not compacted.isdisjoint(names):
        removed_until = inf
    return Plan(ranges, frozenset(known), outputs, removed_until, compacted, tuple(notes))


def _chosen(known: list[int], asked: frozenset[int] | None, topic: str) -> list[int]:
    if asked is None:
        return known
    if strange := sorted(asked - {*known}):
        raise Misconfigured(
            [f"--partitions: {shown(topic)} has no partition {strange[0]}, only {known[0]} to {known[-1]}"]
        )
    return sorted(asked)


def _nothing_committed(settings: Settings) -> str:
    group, topic = shown(settings.kafka.group_id), shown(settings.input.topic)
    return (
        f"kafka.group_id = {group}: has committed nothing on {topic}, so there is nothing to audit; "
        "name the group and the topic of a consumer that ran"
    )


def _whole(broker: Broker, topic: str) -> tuple[dict[int, Span], float | None]:
    """All that an output topic holds now, and up to when retention may have removed something."""
    partitions = broker.partitions(topic)
    lows, highs = broker.lows(topic, partitions), broker.highs(topic, partitions)
    begun_later = [p for p in partitions if lows[p] > 0]
    removed: float | None = None
    if begun_later:
        for first in broker.since(topic, begun_later, 0).values():
            removed = _later(removed, float(first.timestamp) if first.offset >= 0 else inf)
    return {p: Span(lows[p], highs[p]) for p in partitions}, removed


def _later(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else max(one, other)


def _ranges(
    broker: Broker, topic: str, chosen: list[int], committed: Mapping[int, int], asked: Asked
) -> dict[int, Range]:
    lows, highs = broker.lows(topic, chosen), broker.highs(topic, chosen)
    since = _from_time(broker, topic, highs, asked.since)
    until = _from_time(broker, topic, highs, asked.until)
    ranges = {}
    for p in chosen:
        start = max(lows[p], asked.from_offset or 0, since.get(p, 0))
        end = min(committed.get(p, 0), highs[p], until.get(p, highs[p]))
        end = end if asked.until_offset is None else min(end, asked.until_offset)
        ranges[p] = Range(start, max(start, end), committed.get(p), lows[p], highs[p])
    return ranges


def _from_time(broker: Broker, topic: str, highs: Mapping[int, int], time: int | None) -> dict[int, int]:
    """The first offset from then on, or the end where no record is so young; nothing without a time."""
    if time is None:
        return {}
    found = broker.since(topic, [*highs], time)
    return {p: at.offset if at.offset >= 0 else highs[p] for p, at in found.items()}


def _check_memory(ranges: Mapping[int, Range], limit: int) -> None:
    offsets = sum(each.end - each.start for each in ranges.values())
    needed = offsets * BYTES_PER_OFFSET // _MIB
    if needed > limit:
        raise Misconfigured(
            [
                f"--memory {limit}: auditing {offsets:,} offsets at once takes {needed:,} MiB; allow "
                "more, or audit them piece by piece with --partitions, --since and --until"
            ]
        )


def _notes(topic: str, ranges: Mapping[int, Range]) -> list[str]:
    notes = []
    for partition, each in ranges.items():
        if each.committed is None:
            notes.append(f"{topic}[{partition}]: the group has committed nothing, so nothing is audited")
        elif each.committed < each.low:
            notes.append(
                f"{topic}[{partition}]: retention removed offsets {each.committed} to {each.low - 1} before "
                "the group had finished them; they are not audited"
            )
    return notes


def _unknown(topics: Iterable[str]) -> list[str]:
    return [
        f"topic {name}: taken as not compacted, since its configuration may not be read" for name in topics
    ]

"""Reads the input, the results and the dead letters once each, and reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, TypeAlias

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from consumer.settings import Settings
from consumer.verify.broker import Broker
from consumer.verify.dead_letters import read_dead_letter
from consumer.verify.judge import Judge, Part, Side
from consumer.verify.outputs import Output, hashed
from consumer.verify.plan import Asked, Plan, make_plan
from consumer.verify.reader import Held, Reader, Span, Stretches
from consumer.verify.report import Partition, Report
from consumer.verify.results import read_result
from consumer.verify.tally import Excuses, tally
from consumer.verify.window import EMPTY, OLD

Told: TypeAlias = Callable[[str, int, int], None]
"""Stage, records read, offsets in all."""

_CLOCKS = 300_000
"""Milliseconds that the clocks of producers and consumers may be apart where retention is judged."""


def audit(settings: Settings, asked: Asked, told: Told) -> Report:
    """Blocks until all is read. Raises Misconfigured for what cannot be audited like this, Infrastructure
    when the brokers fall silent on the way."""
    began = time.monotonic()
    broker = Broker(settings)
    plan = make_plan(broker, settings, asked)
    with closing(Reader(settings, broker)) as reader:
        work = _Audit(settings, asked, plan, reader, told)
        work.read_input()
        work.read_output(settings.output.topic, read_result)
        work.read_output(settings.dead_letter.topic, read_dead_letter)
    return work.report(time.monotonic() - began)


class _Audit:
    """What is known while topics are read, one after the other."""

    def __init__(self, settings: Settings, asked: Asked, plan: Plan, reader: Reader, told: Told) -> None:
        self._settings, self._asked, self._plan = settings, asked, plan
        self._reader, self._told = reader, told
        self._parts = {p: Part(settings.input.topic, p, each) for p, each in plan.ranges.items()}
        self._judge = Judge(_side(settings, plan), self._parts, plan.known)
        self._input_held: list[Held] = []
        self._output_held: list[Held] = []
        self._output_removed: list[str] = []
        self._notes = list(plan.notes)

    def read_input(self) -> None:
        """Every readable record of the ranges: its offset, its key, and whether it is empty or old."""
        topic = self._settings.input.topic
        spans = {p: Span(each.start, each.end) for p, each in self._plan.ranges.items()}
        stretches = self._reader.read(topic, spans, self._asked.patience)
        for batch in self._shown(f"read {topic}", stretches, spans):
            self._see(batch)
        for partition, low in stretches.removed.items():
            self._parts[partition].window.forget_below(low)
            self._notes.append(
                f"{topic}[{partition}]: retention removed offsets below {low} during the audit"
            )
        for held in stretches.held:
            self._parts[held.partition].window.forget_from(held.stable)
        self._input_held = stretches.held

    def _see(self, batch: Iterable[Message]) -> None:
        removed_until, parts = self._plan.removed_until, self._parts
        for message in batch:
            flags = 0 if message.value() else EMPTY
            if removed_until is not None:
                kind, timestamp = message.timestamp()
                is_old = kind == TIMESTAMP_NOT_AVAILABLE or timestamp - _CLOCKS <= removed_until
                flags |= OLD if is_old else 0
            parts[message.partition() or 0].window.see(message.offset() or 0, hashed(message.key()), flags)

    def read_output(self, topic: str, parse: Callable[[Any], Output]) -> None:
        """Every output record up to the ends that were fixed after the commits were asked."""
        spans = self._plan.outputs[topic]
        stretches = self._reader.read(topic, spans, self._asked.patience)
        judge = self._judge
        for batch in self._shown(f"read {topic}", stretches, spans):
            for message in batch:
                judge.take(parse(message))
        self._output_held += stretches.held
        self._output_removed += [f"{topic}[{partition}]" for partition in stretches.removed]

    def _shown(self, stage: str, batches: Stretches, spans: Mapping[int, Span]) -> Iterator[list[Message]]:
        """The batches, with progress told."""
        offsets, done = sum(span.end - span.start for span in spans.values()), 0
        self._told(stage, 0, offsets)
        for batch in batches:
            yield batch
            done += len(batch)
            self._told(stage, done, offsets)

    def report(self, seconds: float) -> Report:
        """After everything was read."""
        judge, settings = self._judge, self._settings
        judge.end()
        partitions = self._tallied()
        return Report(
            group=settings.kafka.group_id,
            guarantee=settings.processing.guarantee,
            input=settings.input.topic,
            results=settings.output.topic,
            dead_letters=settings.dead_letter.topic,
            partitions=partitions,
            unplaced=judge.findings.of(None),
            findings=judge.findings.named(),
            held=self._input_held + self._output_held,
            others=dict(judge.others),
            models=judge.models(),
            notes=self._notes,
            doubts=self._doubts(partitions),
            seconds=round(seconds, 3),
        )

    def _tallied(self) -> list[Partition]:
        late_start = self._settings.input.start == "latest" and not self._asked.has_start
        excuses = Excuses(bool(self._output_held), bool(self._output_removed), late_start)
        return [tally(part, excuses, self._judge.findings) for part in self._parts.values()]

    def _doubts(self, partitions: list[Partition]) -> list[str]:
        """Why the verdict may have to stay open."""
        doubts = [f"{_name(held)} ends in an open transaction" for held in self._input_held]
        if blocked := sum(part.blocked for part in partitions):
            where = ", ".join(f"{_name(held)} at offset {held.stable}" for held in self._output_held)
            doubts.append(f"{blocked:,} without output, blocked by an open transaction in {where}")
        expired = sum(part.expired for part in partitions)
        if expired and (why := self._why_expired(expired == sum(part.records for part in partitions))):
            doubts.append(f"{expired:,} without output, {why}")
        return doubts

    def _why_expired(self, all_are: bool) -> str | None:
        """What may have become of output records, where that is more than old age of some."""
        if not self._plan.compacted.isdisjoint(self._plan.outputs):
            return "which compaction may have removed"
        if self._output_removed:
            return f"and retention removed some of {', '.join(self._output_removed)} during the audit"
        return "all of which retention may have removed" if all_are else None


def _name(held: Held) -> str:
    return f"{held.topic}[{held.partition}]"


def _side(settings: Settings, plan: Plan) -> Side:
    return Side(
        group=settings.kafka.group_id,
        topic=settings.input.topic,
        results=settings.output.topic,
        dead_letters=settings.dead_letter.topic,
        prefix=settings.output.id_prefix,
        exact_order=settings.processing.guarantee == "exactly-once",
        compacted_input=settings.input.topic in plan.compacted,
    )

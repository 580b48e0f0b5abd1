"""Holds each output record against what is known of its input record so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set

import msgspec

from consumer.masking import shown
from consumer.verify.findings import Findings, Kind, Where
from consumer.verify.order import Late, Line
from consumer.verify.outputs import Output
from consumer.verify.window import EMPTY, SEEN, Copy, Models, Range, Window

_OF_COPY = {
    Copy.SAME: Kind.DUPLICATE,
    Copy.DIFFERING: Kind.DIFFERING,
    Copy.CONFLICT: Kind.CONFLICT,
    Copy.RESCORED: Kind.RESCORED,
}


class Side(msgspec.Struct, frozen=True):
    """What is judged: what this group wrote for this input topic, with ids behind this prefix."""

    group: str
    topic: str
    results: str
    dead_letters: str
    prefix: str = ""
    exact_order: bool = False
    compacted_input: bool = False


class Part:
    """One audited input partition.

    `outcomes`, `reasons`: output records in the window, repeats included. `before`, `beyond`: output
    records of input records on either side of it, which are not judged.
    """

    def __init__(self, topic: str, number: int, range_: Range) -> None:
        self.topic, self.number, self.range = topic, number, range_
        self.window = Window(range_.start, range_.end)
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.before = self.beyond = 0


class Judge:
    """Takes all output records, each topic in its order, once the windows have seen their input records.

    `others` counts output records that are not of this side, by whose they are.
    """

    def __init__(self, side: Side, parts: Mapping[int, Part], known: Set[int]) -> None:
        """`known`: all partitions of the input; those without a part are not judged."""
        self._side, self._parts, self._known = side, parts, known
        self._lines: dict[tuple[int, int], Line] = {}
        self._models = Models()
        self.findings = Findings()
        self.others: Counter[str] = Counter()

    def take(self, output: Output) -> None:
        """The next output record."""
        side, source, offset = self._side, output.partition, output.offset
        good_id = output.id == f"{side.prefix}{side.topic}|{source}|{offset}"
        if not (good_id and output.group == side.group and output.topic == side.topic):
            whose = self._whose(output, good_id)
            if whose is not None:
                self.others[whose] += 1
                return
        if source is None or offset is None:
            self._blame(output, good_id)
            return
        part = self._parts.get(source)
        if part is None:
            self._misplaced(output)
            return
        index = part.window.index(offset)
        if index is None or not part.window.flags[index] & SEEN:
            self._unmatched(part, output, offset)
            return
        if output.faults or not good_id:
            self._blame(output, good_id)
        self._answer(part, index, output)

    def end(self) -> None:
        """Everything was taken."""
        for (place, source), line in self._lines.items():
            if (late := line.end()) is not None:
                self._tell(late, place, source)

    def models(self) -> list[str]:
        """Versions of models, in the order in which they were met."""
        return self._models.versions()

    def _whose(self, output: Output, good_id: bool) -> str | None:
        """Whose an output record is, None for ours. What cannot be told is taken for ours, but a dead
        letter without a group was written by another program."""
        side = self._side
        if output.group != side.group and (output.dead or output.group is not None):
            return "other groups"
        if output.topic != side.topic and output.topic is not None:
            return "other input topics"
        coordinates = f"{side.topic}|{output.partition}|{output.offset}"
        if not good_id and output.id is not None and output.id.endswith(coordinates):
            return "other id prefixes"
        return None

    def _blame(self, output: Output, good_id: bool) -> None:
        """What is wrong with it by itself."""
        for kind, what in output.faults:
            self._add(kind, output, what)
        if not good_id and output.id is not None and output.offset is not None:
            self._add(Kind.WRONG_ID, output, f"{_source(output)} has the id {shown(output.id)}")

    def _misplaced(self, output: Output) -> None:
        if output.partition in self._known:
            self.others["partitions that were not asked for"] += 1
        else:
            self._add(Kind.PHANTOM, output, f"of {_source(output)}, a partition that does not exist")

    def _unmatched(self, part: Part, output: Output, offset: int) -> None:
        """Of an offset without a readable record, or outside of the window."""
        window = part.window
        inside = window.index(offset) is not None
        if inside and self._side.compacted_input:
            self.others["input records that compaction may have removed"] += 1
        elif inside or offset >= part.range.high:
            self._add(Kind.PHANTOM, output, f"of {_source(output)}, where no readable record lies")
        elif offset < window.first:
            part.before += 1
        else:
            part.beyond += 1

    def _answer(self, part: Part, index: int, output: Output) -> None:
        """Of a record in the window."""
        window = part.window
        (part.reasons if output.dead else part.outcomes)[output.outcome] += 1
        if output.key != window.keys[index] and output.key is not None:
            self._add(Kind.WRONG_KEY, output, f"its key is not that of {_source(output)}")
        if window.flags[index] & EMPTY and output.outcome == "scored":
            self._add(Kind.WRONG_OUTCOME, output, f"{_source(output)} is empty and was scored")
        if output.first is not None:
            self._look_for_first(output, *output.first)
        copy = window.answer(index, output, self._models.number(output.model))
        if copy is not Copy.FIRST:
            self._add(_OF_COPY[copy], output, f"{_source(output)}: {copy.value}")
        if not output.dead:
            self._follow(output, window.start + index, first=copy is Copy.FIRST)

    def _look_for_first(self, output: Output, partition: int, offset: int) -> None:
        """A duplicate must not suppress the only copy. Whether the first has an output is seen at its own
        place; here it must exist, as far as that can be told."""
        part = self._parts.get(partition)
        if part is None or self._side.compacted_input:
            return
        index = part.window.index(offset)
        if index is not None and not part.window.flags[index] & SEEN:
            what = f"{_source(output)} repeats {partition}|{offset}, where no readable record lies"
            self._add(Kind.WRONG_OUTCOME, output, what)

    def _follow(self, output: Output, offset: int, *, first: bool) -> None:
        """The order of results within their partition."""
        pair = output.place, output.partition or 0
        line = self._lines.get(pair)
        if line is None:
            line = self._lines[pair] = Line(exact=self._side.exact_order)
        late = line.take(offset, output.at, first=first)
        if late is not None:
            self._tell(late, *pair)

    def _tell(self, late: Late, place: int, source: int) -> None:
        what = f"input {source}|{late.offset} comes behind the result of a later record"
        at = Where(self._side.results, place, late.at)
        self.findings.add(Kind.ORDER, source, at, what, late.records)

    def _add(self, kind: Kind, output: Output, what: str) -> None:
        topic = self._side.dead_letters if output.dead else self._side.results
        source = output.partition if output.partition in self._parts else None
        self.findings.add(kind, source, Where(topic, output.place, output.at), what)


def _source(output: Output) -> str:
    return f"input {output.partition}|{output.offset}"

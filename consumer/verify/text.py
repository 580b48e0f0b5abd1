"""A report for people: a column for each figure, a row for each input partition, then what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consumer.verify.findings import Kind
from consumer.verify.report import Partition, Report, together

_ALWAYS = frozenset({Kind.MISSING, Kind.AHEAD, Kind.DUPLICATE, Kind.ORDER, Kind.PHANTOM, Kind.NON_FINITE})
_ELSEWHERE = ("expired", "blocked", "before_first", "before", "beyond")

_Column = tuple[str, list[int]]


def lines(report: Report) -> Iterator[str]:
    """All but the verdict."""
    topics = f"{report.input} -> {report.results}, {report.dead_letters}"
    yield f"group {report.group}, {report.guarantee}: {topics}"
    yield from _table(report.partitions)
    for kind, count in report.unplaced.items():
        if count:
            yield f"{count:,} {_words(kind)} by output records of no audited partition"
    for finding in report.findings:
        yield f"{_words(finding.kind)}: {finding.at}: {finding.what}"
    for whose, count in report.others.items():
        yield f"not judged: {count:,} output records of {whose}"
    for held in report.held:
        hidden = f"offsets {held.stable} to {held.end - 1}"
        yield f"note: {held.topic}[{held.partition}]: an open transaction hides {hidden}"
    yield from (f"note: {note}" for note in report.notes)
    if len(report.models) > 1:
        yield f"note: {len(report.models)} versions of the model"


def _table(parts: Sequence[Partition]) -> Iterator[str]:
    names = [["partition", *(str(part.partition) for part in parts), "all"]]
    names.append(["offsets", *(f"{part.start}..{part.end}" for part in parts), ""])
    figures = [
        [name, *(f"{value:,}" for value in values), f"{sum(values):,}"] for name, values in _columns(parts)
    ]
    columns = [_right(column) for column in (*names, *figures)]
    for row in zip(*columns, strict=True):
        yield "  ".join(row)


def _right(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _columns(parts: Sequence[Partition]) -> Iterator[_Column]:
    """What always has to be told, and of the rest what is not zero everywhere."""
    yield "records", [part.records for part in parts]
    for outcome in sorted(together(part.results for part in parts)):
        yield outcome, [part.results.get(outcome, 0) for part in parts]
    for reason in sorted(together(part.dead_letters for part in parts)):
        yield f"dead: {reason}", [part.dead_letters.get(reason, 0) for part in parts]
    for kind in Kind:
        found = [part.found[kind] for part in parts]
        if kind in _ALWAYS or any(found):
            yield _words(kind), found
    for name in _ELSEWHERE:
        values = [getattr(part, name) for part in parts]
        if any(values):
            yield _words(name), values


def _words(name: str) -> str:
    return name.replace("_", " ")

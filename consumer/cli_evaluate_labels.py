"""Where labels stand beside records, and how they are kept out of what is scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from consumer.errors import Misconfigured
from consumer.lines import Line, check_files, read_lines
from consumer.records import Record

_SCORED_FIELDS = ("message", "level")  # what of a JSON event becomes model input
_parse = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_parse_any = msgspec.json.Decoder().decode


class LabelSource(NamedTuple):
    """Exactly one of `field` (of a JSON event), `column` (blank-separated, from 1) and `file` (a line
    for each record). `normal`: the labels of normal records; all other labels are anomalies."""

    field: str | None
    column: int | None
    file: str | None
    normal: frozenset[str]

    def problems(self) -> list[str]:
        """What is wrong with it, before anything is read."""
        found = []
        if [self.field, self.column, self.file].count(None) != 2:
            found.append("say where labels are: one of --label-field, --label-column and --label-file")
        if self.field in _SCORED_FIELDS:
            found.append(f"--label-field {self.field}: is scored itself, so it cannot be the label")
        return found + (check_files([self.file]) if self.file else [])


class Labelled(NamedTuple):
    """A record without its label. `label()` is asked only for records that can be scored; it raises
    Misconfigured where there is none."""

    record: Record
    label: Callable[[], str]


def labelled(lines: Iterator[Line], source: LabelSource, max_bytes: int) -> Iterator[tuple[Line, Labelled]]:
    """Every line beside its record and label. Raises Misconfigured at the end of a label file that has
    more lines or fewer."""
    if source.file is not None:
        yield from _from_file(lines, source.file, max_bytes)
        return
    field, column = source.field, source.column
    split = _splitter(column) if column else None
    for line in lines:
        if split:
            yield line, _from_column(line, split)
        else:
            yield line, _from_field(line, field or "")


def _from_file(lines: Iterator[Line], name: str, max_bytes: int) -> Iterator[tuple[Line, Labelled]]:
    labels = read_lines([name], max_bytes)
    for line in lines:
        label = next(labels, None)
        if label is None:
            raise _missing(line, f"{name} has fewer lines than there are records")
        text = _text(label.record.value or b"")
        yield line, Labelled(line.record, lambda text=text: text)  # type: ignore[misc]
    if next(labels, None) is not None:
        raise Misconfigured([f"{name}: has more lines than there are records; one line for each, please"])


def _splitter(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"(\s*(?:\S+\s+){%d})(\S+)\s*" % (column - 1))


def _from_column(line: Line, split: re.Pattern[bytes]) -> Labelled:
    value = line.record.value or b""
    match = split.match(value)
    if match is None:

        def no_label() -> str:
            raise _missing(line, "has no such column")

        return Labelled(line.record, no_label)
    label = _text(match[2])
    rest = match[1] + value[match.end() :]
    return Labelled(replace(line.record, value=rest), lambda: label)


def _from_field(line: Line, field: str) -> Labelled:
    def label() -> str:
        try:
            found = _parse(line.record.value or b"").get(field)
        except ValueError:
            found = None
        if found is None:
            raise _missing(line, f"is no JSON object with the field {field!r}")
        return _plain(line, _parse_any(found))

    return Labelled(line.record, label)


def _plain(line: Line, value: object) -> str:
    """A JSON value as people write it on a command line: text as it is, `true`, `1`, `null`."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list | dict):
        raise _missing(line, "has a list or an object there")
    return msgspec.json.encode(value).decode()


def _text(value: bytes) -> str:
    return value.decode(errors="replace").strip()


def _missing(line: Line, why: str) -> Misconfigured:
    return Misconfigured([f"{line.file} line {line.number}: no label: {why}"])

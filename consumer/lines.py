"""Lines of files as records, so that files are read under the same limits as a topic."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from consumer.errors import Misconfigured
from consumer.records import Record

STDIN = "-"
_GZIP_MAGIC = b"\x1f\x8b"
_SKIPPED_AT_ONCE = 65_536


class Line(NamedTuple):
    """A line of a file, numbered from 1. `record.value` has no line end; of a line longer than the
    limit it holds one byte more than the limit, enough for the codec to refuse it."""

    file: str
    number: int
    record: Record


def check_files(names: Sequence[str]) -> list[str]:
    """One line for each file that cannot be read."""
    return [problem for name in names if name != STDIN and (problem := _unreadable(name))]


def read_lines(names: Sequence[str], max_bytes: int) -> Iterator[Line]:
    """Lines of the files in their order; `-` is standard input. Compressed ones are told by their first
    bytes, not by name. Holds one line at a time; raises Misconfigured for a damaged or vanished file."""
    for name in names:
        try:
            with _binary(name) as raw:
                yield from _numbered(name, _unpacked(raw), max_bytes)
        except (EOFError, zlib.error, OSError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise Misconfigured([f"{name}: cannot be read to its end: {why}"]) from error


def _unreadable(name: str) -> str | None:
    try:
        with Path(name).open("rb") as file:
            file.read(1)
    except OSError as error:
        return f"{name}: cannot be read: {error.strerror}; name a file that exists and that you may read"
    return None


def _binary(name: str) -> AbstractContextManager[BinaryIO]:
    """The file, closed at the end; standard input stays open."""
    return nullcontext(sys.stdin.buffer) if name == STDIN else Path(name).open("rb")


def _unpacked(raw: BinaryIO) -> BinaryIO:
    buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
    packed = buffered.peek(2)[:2] == _GZIP_MAGIC
    return cast(BinaryIO, gzip.GzipFile(fileobj=buffered) if packed else buffered)


def _numbered(name: str, file: BinaryIO, max_bytes: int) -> Iterator[Line]:
    number = 0
    while chunk := file.readline(max_bytes + 2):
        number += 1
        if len(chunk) == max_bytes + 2 and not chunk.endswith(b"\n"):
            _skip_rest(file)
        value = chunk.rstrip(b"\r\n")
        yield Line(name, number, Record(name, 0, number - 1, value))


def _skip_rest(file: BinaryIO) -> None:
    while (chunk := file.readline(_SKIPPED_AT_ONCE)) and not chunk.endswith(b"\n"):
        pass

"""What a replica says about itself while it runs: one JSON line per happening, written at once.

Each line is one write(2) to a file opened for appending, so a process that kills itself leaves whole lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.kafka.history import Action, Happening


class EventLog:
    """Appends to `path`; the reader is read_happenings()."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(
        self,
        action: Action,
        offsets: Mapping[int, int] | None = None,
        ends: Mapping[int, int] | None = None,
        counts: Mapping[int, int] | None = None,
    ) -> None:
        line = {"at": time.monotonic(), "action": action, "offsets": offsets, "ends": ends, "counts": counts}
        os.write(self._file, msgspec.json.encode({k: v for k, v in line.items() if v is not None}) + b"\n")


class _Line(msgspec.Struct):
    at: float
    action: Action
    offsets: dict[int, int] = {}
    ends: dict[int, int] = {}
    counts: dict[int, int] = {}


def read_happenings(path: Path, replica: str) -> list[Happening]:
    """The log of one replica; a line that is still being written is left out."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    decoded = [msgspec.json.decode(line, type=_Line) for line in lines if line.endswith(b"\n")]
    return [Happening(d.at, replica, d.action, d.offsets, d.ends, d.counts) for d in decoded]


def by_partition(offsets: Mapping[Any, int]) -> dict[int, int]:
    """Offsets by TopicPartition, as the log keeps them: by number, the topic being one."""
    return {tp.partition: offset for tp, offset in offsets.items()}

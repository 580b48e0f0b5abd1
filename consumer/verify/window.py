"""What is known of each offset of one input partition, in BYTES_PER_OFFSET bytes of memory."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import isclose
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from consumer.verify.outputs import Output

BYTES_PER_OFFSET = 14

TOLERANCE = 1e-2
"""How far the score of a repeat may lie from the first, relative or absolute: a model's sums depend on
which texts share a device batch."""

SEEN, OLD, EMPTY, ANSWERED, DEAD, REPEAT = 1, 2, 4, 8, 16, 32
REPEATED = "duplicate"
"""The outcome of a record whose event another record had brought before."""

_MODEL_SHIFT = 8
_OF_INPUT = SEEN | OLD | EMPTY
MOST_MODELS = 255

Bools: TypeAlias = npt.NDArray[np.bool_]


class Copy(Enum):
    """What an output record is to those of the same input record that came before it."""

    FIRST = "first"
    SAME = "the same again, apart from timestamps"
    DIFFERING = "a repeat that says something else"
    CONFLICT = "a result where there is a dead letter, or the other way round"
    RESCORED = "scored again by another version of the model"


class Range(NamedTuple):
    """Offsets [start, end) of an input partition, its committed offset, and its log [low, high), of which
    the end was asked for after those of the output."""

    start: int
    end: int
    committed: int | None
    low: int
    high: int


class Window:
    """The offsets [start, end) of one partition. Offsets that hold no readable record stay unseen.

    Memory of stretches without records is reserved but never touched, so gaps cost nothing real.
    """

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        size = end - start
        self._flags = np.zeros(size, np.uint16)
        self._floor, self._ceiling = 0, size
        self.flags = _items(self._flags)
        self.keys = _items(np.zeros(size, np.uint32))
        self._prints = _items(np.zeros(size, np.uint32))
        self._scores = _items(np.zeros(size, np.float32))

    def index(self, offset: int) -> int | None:
        """Where an offset is kept; None outside of the window."""
        index = offset - self.start
        return index if self._floor <= index < self._ceiling else None

    @property
    def first(self) -> int:
        """The first offset that is judged."""
        return self.start + self._floor

    @property
    def behind(self) -> int:
        """One past the last offset that is judged."""
        return self.start + self._ceiling

    def see(self, offset: int, key: int, flags: int) -> None:
        """A readable input record: 32 bits of the hash of its key, and EMPTY or OLD."""
        index = offset - self.start
        self.flags[index] = SEEN | flags
        self.keys[index] = key

    def answer(self, index: int, output: Output, model: int) -> Copy:
        """An output record of the record at `index`, which was seen. `model`: number of its version."""
        flags = self.flags[index]
        if not flags & ANSWERED:
            self._keep(index, flags, output, model)
            return Copy.FIRST
        if output.dead != bool(flags & DEAD):
            return Copy.CONFLICT
        if model != flags >> _MODEL_SHIFT or model == MOST_MODELS:
            self._keep(index, flags, output, model)
            return Copy.RESCORED
        if bool(flags & REPEAT) != (output.outcome == REPEATED):
            return Copy.SAME  # whether an event came before depends on when it is asked
        same = output.fingerprint == self._prints[index] and isclose(
            output.score, self._scores[index], rel_tol=TOLERANCE, abs_tol=TOLERANCE
        )
        return Copy.SAME if same else Copy.DIFFERING

    def _keep(self, index: int, flags: int, output: Output, model: int) -> None:
        of_output = ANSWERED | (DEAD if output.dead else 0) | (REPEAT if output.outcome == REPEATED else 0)
        self.flags[index] = flags & _OF_INPUT | of_output | model << _MODEL_SHIFT
        self._prints[index] = output.fingerprint
        self._scores[index] = output.score

    def forget_below(self, offset: int) -> None:
        """Retention removed the input up to here before it was read: nothing can be said of it."""
        self._floor = min(max(self._floor, offset - self.start), self._ceiling)
        self._flags[: self._floor] = 0

    def forget_from(self, offset: int) -> None:
        """The input could not be read from here on: nothing can be said of it."""
        self._ceiling = max(min(self._ceiling, offset - self.start), self._floor)
        self._flags[self._ceiling :] = 0

    def has(self, flag: int) -> Bools:
        """Which offsets have the flag."""
        return (self._flags & flag).astype(np.bool_)

    def runs(self, wanted: Bools) -> Iterator[tuple[int, int]]:
        """Stretches of wanted records without a readable record between them that is not wanted: the first
        offset of each, and how many records it holds."""
        records = np.flatnonzero(self.has(SEEN))
        chosen = wanted[records]
        edges = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False]))))
        for first, behind in edges.reshape(-1, 2):
            yield self.start + int(records[first]), int(behind - first)


def _items(array: npt.NDArray[Any]) -> Any:
    """A view through which single items are read and written much faster than through numpy."""
    return array.data


class Models:
    """Numbers for versions of models; 0 for dead letters, which have none. Beyond 254 versions they share
    one: repeats by them count as rescored."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, version: str | None) -> int:
        number = self._numbers.get(version)
        if number is None:
            number = self._numbers[version] = min(len(self._numbers), MOST_MODELS)
        return number

    def versions(self) -> list[str]:
        return [version for version in self._numbers if version is not None]

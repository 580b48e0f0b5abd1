"""What a part of the scorer is: something that learns from normal texts and measures new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[np.generic]]
Facts = Mapping[str, object]

PART_NAMES = ("language-model", "novelty", "severity")
"""Parts that a model may have, in their order there."""


# Told now and then how far a stage is: its name, steps done, steps in all.
Progress: TypeAlias = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """A Progress that shows nothing."""


class Measured(NamedTuple):
    """`values`: float64 [items, statistics], bigger is odder. `lengths`: int64 [items], token counts,
    or zeros where length does not matter (then the statistics are taken as they are)."""

    values: Floats
    lengths: Integers


class FitTask(NamedTuple):
    """What a part is given to learn from.

    `items` are distinct, in order of first sight, and `counts` how often each was seen. `held_out`
    are items that must not be learnt, only used to decide when to stop; empty when there are none.
    `hint` is what an earlier fit on nearly the same items left in `FittedPart.hint`.
    """

    items: Sequence[str]
    counts: Sequence[int]
    held_out: Sequence[str] = ()
    hint: object | None = None
    seed: int = 0
    progress: Progress = silent


class FittedPart(Protocol):
    """A part that has learnt. `statistics` names the columns of `Measured.values`."""

    @property
    def name(self) -> str: ...

    @property
    def statistics(self) -> tuple[str, ...]: ...

    @property
    def hint(self) -> object | None:
        """What a later fit on nearly the same items may start from; None when nothing helps."""
        ...

    def measure(self, items: Sequence[str]) -> Measured:
        """Deterministic; the value of an item does not depend on its neighbours."""
        ...

    def save(self) -> tuple[Arrays, Facts]:
        """Everything `Part.load` needs: arrays, and facts that JSON can hold."""
        ...


class Part(Protocol):
    """A part before it has learnt."""

    @property
    def name(self) -> str: ...

    def fit(self, task: FitTask) -> FittedPart:
        """Same task, same result: work is counted in steps, never in seconds."""
        ...

    def load(self, arrays: Arrays, facts: Facts) -> FittedPart:
        """The inverse of `FittedPart.save`. Raises Misconfigured for what it did not write."""
        ...

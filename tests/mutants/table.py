"""One-line bugs, and for each a test that must find it."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """`old` occurs exactly once in `file`; `new` takes its place. `tests` are pytest node ids."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS: tuple[Mutant, ...] = ()

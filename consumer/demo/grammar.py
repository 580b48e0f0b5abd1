"""The language of the generated logs: templates with wordings to choose and slots to fill.

The files under words/ hold it; their first lines say how they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from random import Random
from typing import Final, Protocol

import msgspec

_CHOICE: Final = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_SLOT: Final = re.compile(r"\{([a-z_]+)\}")
_WEIGHT: Final = re.compile(r"(\d+)(?:x(\d+))?")


def seeded(*parts: object) -> Random:
    """A generator of random numbers that is the same for equal parts, on every machine."""
    return Random(" ".join(map(str, parts)))  # noqa: S311 - a demonstration, not a secret


class SlotValues(Protocol):
    """What `filled` asks: one value per slot and occurrence."""

    def __getitem__(self, name: str, /) -> str: ...


class Shape(msgspec.Struct, frozen=True):
    """A line of normal.txt or incidents.txt: what may be said, before a fleet settles on its wording.

    `weight` 0 marks what only a later release says; `count` is how many such messages a fleet has.
    """

    service: str
    level: str
    text: str
    weight: int = 1
    count: int = 1

    def worded(self, rng: Random) -> str:
        """The text with every choice made; the slots stay open."""
        return _CHOICE.sub(lambda found: rng.choice(found.group(1).split("|")), self.text)


def filled(text: str, value: SlotValues) -> str:
    """The text with every slot replaced by `value[name]`, each occurrence asked for anew."""
    return _SLOT.sub(lambda found: value[found.group(1)], text)


def slots_of(text: str) -> list[str]:
    return _SLOT.findall(text)


def normal_shapes() -> list[Shape]:
    """What healthy services write, in the order of the file."""
    return [_weighted(service, line) for service, line in _lines("normal.txt")]


def incident_shapes() -> list[Shape]:
    """What no healthy day has."""
    return [_plain(service, line) for service, line in _lines("incidents.txt")]


def word_lists() -> dict[str, tuple[float, tuple[str, ...]]]:
    """Slot or list name → the share of it that one fleet owns, and its words."""
    lists = {}
    for _, line in _lines("lists.txt"):
        head, words = line.split(": ", 1)
        name, share = head.split(" ")
        lists[name] = (float(share), tuple(word.replace("·", " ") for word in words.split(" ")))
    return lists


def _weighted(service: str, line: str) -> Shape:
    weight, level, text = line.split(" ", 2)
    found = _WEIGHT.fullmatch(weight)
    if found is None:
        raise ValueError(f"a line starts with its weight, not with {weight!r}")
    return Shape(service, level, text, int(found.group(1)), int(found.group(2) or 1))


def _plain(service: str, line: str) -> Shape:
    level, text = line.split(" ", 1)
    return Shape(service, level, text)


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """(section, line) of a words file, without comments and blank lines."""
    section = ""
    text = resources.files(__package__).joinpath("words", name).read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line

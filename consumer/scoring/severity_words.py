"""The words of the severity part: a data file, the shipped one or the user's own.

A line is a word and its weight; `fail*` is a stem, `bad` counts as a whole word only. Empty lines and
what follows a `#` do not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from consumer.errors import Misconfigured

_LINE = re.compile(r"([a-zA-Z]+)(\*?)[ \t]+([0-9.]+)")
_LARGEST = 1_000_000  # bytes of a file


class Words(NamedTuple):
    """Weights by stem in lower case. `whole`: the stems that only count as whole words."""

    weights: Mapping[str, float]
    whole: frozenset[str]


def shipped_words() -> Words:
    """The list that comes with the package."""
    return parse_words(files("consumer.scoring").joinpath("severity.words").read_text("utf-8"), "built-in")


def read_words(path: Path) -> Words:
    """Raises Misconfigured for a file that cannot be read or is no word list."""
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise Misconfigured([f"{path}: no word list: {why}"]) from error
    if len(text) > _LARGEST:
        raise Misconfigured([f"{path}: no word list: longer than {_LARGEST} bytes"])
    return parse_words(text, str(path))


def parse_words(text: str, name: str) -> Words:
    """Raises Misconfigured with one line for every line of `text` that is wrong."""
    weights: dict[str, float] = {}
    whole: set[str] = set()
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.partition("#")[0].strip()
        if not bare:
            continue
        try:
            stem, open_ended, weight = _entry(bare)
        except ValueError as error:
            problems.append(f"{name} line {number}: {error}")
            continue
        if stem in weights:
            problems.append(f"{name} line {number}: {stem!r} stands there twice")
        weights[stem] = weight
        whole.update(() if open_ended else (stem,))
    if not weights and not problems:
        problems.append(f"{name}: holds no word; leave out the part `severity` instead")
    if problems:
        raise Misconfigured(problems)
    return Words(weights, frozenset(whole))


def _entry(line: str) -> tuple[str, bool, float]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("write a word of letters a to z and its weight: `fail* 3` or `bad 2`")
    weight = float(match[3])
    if not 0 < weight < math.inf:
        raise ValueError("a weight is a number above 0")
    return match[1].lower(), bool(match[2]), weight

"""Which parts of a text are variables: an ordered list of patterns, kept with every fitted model.

The result of masking may be looked up by the text with every digit set to 0 (`blind`), if and only if
no pattern can tell one digit from another and no digit survives. Both are proven here, from the parse
trees of the patterns; where the proof fails, masking stays correct and becomes slower.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from re import _constants as _sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import msgspec

from consumer.errors import Misconfigured


class Mask(NamedTuple):
    """Text that matches `pattern` becomes `<name>`. Several masks may share a name."""

    name: str
    pattern: str


_EDGE = r"(?<![A-Za-z0-9])"  # a mask that starts only at the edge of a word also keeps matching linear
_END = r"(?![A-Za-z0-9])"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_HEX = r"[0-9A-Fa-f]"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]{1,9})?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})(?![A-Za-z0-9]))?"

# The first match wins, so what is longer or more specific stands first; `[0-9]+` takes every digit
# that is left. Digits are only ever tested as a class.
DEFAULT_MASKS: tuple[Mask, ...] = (
    Mask("id", rf"{_EDGE}{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}{_END}"),
    Mask("mac", rf"{_EDGE}{_HEX}{{2}}(?:[:-]{_HEX}{{2}}){{5,31}}(?![:-]?[A-Za-z0-9])"),
    Mask("time", rf"{_EDGE}[0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}[T ]{_CLOCK}{_ZONE}"),
    Mask("time", rf"{_EDGE}(?:{_DAY},? )?{_MONTH} {{1,2}}[0-9]{{1,2}} {_CLOCK}(?: [0-9]{{4}}(?![0-9:]))?"),
    Mask("time", rf"{_EDGE}(?:{_DAY},? )?[0-9]{{1,2}}[ /-]{_MONTH}[ /-][0-9]{{2,4}}[ :]{_CLOCK}{_ZONE}"),
    Mask(
        "ip",
        rf"{_EDGE}[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}(?![0-9.])(?::[0-9]{{1,5}})?(?:/[0-9]{{1,2}}{_END})?",
    ),
    Mask("ip", rf"{_EDGE}(?<![:.])(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}(?![A-Za-z0-9:])"),
    Mask(
        "ip",
        rf"{_EDGE}(?<![:.])(?=[A-Fa-f:]{{0,30}}[0-9])(?:{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,6}})?"
        rf"::(?:{_HEX}{{1,4}}(?::{_HEX}{{1,4}}){{0,6}})?(?![A-Za-z0-9:])",
    ),
    Mask("id", rf"{_EDGE}[A-Za-z]{{1,3}}[0-9]{{1,4}}(?:[-_:.][A-Za-z]{{1,3}}[0-9]{{0,4}}){{1,8}}{_END}"),
    Mask("n", rf"{_EDGE}[0-9][Xx]{_HEX}+"),
    Mask("n", rf"{_EDGE}(?=[A-Fa-f]*[0-9]){_HEX}{{6,}}{_END}"),
    Mask("id", rf"{_EDGE}[A-Za-z]*[0-9]+[A-Za-z]+[0-9]+[A-Za-z0-9]*{_END}"),
    Mask(
        "email",
        rf"{_EDGE}[A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,8}}",
    ),
    Mask("n", rf"{_EDGE}-?[0-9]+(?:[.,:_/-][0-9]+){{0,15}}(?:[eE][+-]?[0-9]+{_END})?"),
    Mask("path", r"(?<![A-Za-z0-9_./\\-])(?:/{1,2}[A-Za-z0-9_+-][A-Za-z0-9_.+-]*){4,40}/?"),
    Mask("n", r"[0-9]+"),
)

_ALL_DIGITS = frozenset({"[0-9]+", r"\d+", "[0-9]", r"\d"})
_NAME = re.compile(r"[a-z]{1,16}")


class Masks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The masks in force. Checked by `compiled`, not on creation."""

    rules: tuple[Mask, ...] = DEFAULT_MASKS

    def problems(self) -> list[str]:
        """One line for each mask that cannot be used."""
        return [line for mask in self.rules if (line := _problem(mask)) is not None]

    def compiled(self, first: str) -> re.Pattern[str]:
        """One alternation: `first` as group `first`, then mask i as group `mi`. Raises Misconfigured."""
        return _compile(first, self.rules)

    def blind(self) -> bool:
        """True when texts that differ only in which digits they hold are masked to the same text."""
        return _blind(self.rules)


@lru_cache(maxsize=16)
def _compile(first: str, rules: tuple[Mask, ...]) -> re.Pattern[str]:
    if problems := [line for mask in rules if (line := _problem(mask)) is not None]:
        raise Misconfigured(problems)
    return re.compile(f"(?P<first>{first})|" + _alternation(rules))


@lru_cache(maxsize=16)
def _blind(rules: tuple[Mask, ...]) -> bool:
    takes_all = any(mask.pattern in _ALL_DIGITS for mask in rules)
    return takes_all and all(digit_blind(mask.pattern) for mask in rules)


def _alternation(rules: Sequence[Mask]) -> str:
    """`a|b|...`; neighbours that start at the edge of a word share that test, which inside a word then
    costs one look instead of one for each of them."""
    branches: list[str] = []
    numbered = [(mask.pattern, f"m{i}") for i, mask in enumerate(rules)]
    for edged, run in itertools.groupby(numbered, lambda item: _starts_at_edge(item[0])):
        if edged:
            inner = "|".join(f"(?P<{name}>{pattern.removeprefix(_EDGE)})" for pattern, name in run)
            branches.append(f"{_EDGE}(?:{inner})")
        else:
            branches += [f"(?P<{name}>{pattern})" for pattern, name in run]
    return "|".join(branches)


def _starts_at_edge(pattern: str) -> bool:
    """`edge a | b` tests the edge for `a` alone, so a pattern with branches at its top does not count."""
    return pattern.startswith(_EDGE) and all(op is not _sre.BRANCH for op, _ in _parser.parse(pattern))


def _problem(mask: Mask) -> str | None:
    where = f"mask {mask.name!r} ({mask.pattern})"
    if not _NAME.fullmatch(mask.name):
        return f"{where}: a name is 1 to 16 letters a-z"
    try:
        tree = _parser.parse(mask.pattern)
    except re.error as error:
        return f"{where}: not a regular expression: {error}"
    if tree.getwidth()[0] == 0:
        return f"{where}: matches the empty text; make it match at least one character"
    if any(op in (_sre.GROUPREF, _sre.GROUPREF_EXISTS) for op, _ in _nodes(tree)):
        return f"{where}: uses a back-reference; masks are joined into one expression, so it cannot"
    if tree.state.flags & ~re.UNICODE:
        return f"{where}: sets a flag for the whole expression; use (?i:...)"
    return f"{where}: uses a named group; use (?:...)" if tree.state.groupdict else None


def digit_blind(pattern: str) -> bool:
    """True when `pattern` provably treats the ten ASCII digits alike: every test of a character holds
    for all of them or for none, and nothing compares one part of the text with another."""
    return all(_blind_node(op, argument) for op, argument in _nodes(_parser.parse(pattern)))


def _blind_node(op: Any, argument: Any) -> bool:
    if op in (_sre.GROUPREF, _sre.GROUPREF_EXISTS):
        return False
    if op in (_sre.LITERAL, _sre.NOT_LITERAL):
        return not 48 <= int(argument) <= 57
    if op is _sre.RANGE:
        low, high = argument
        return bool(high < 48 or low > 57 or (low <= 48 and high >= 57))
    return True  # categories, anchors and wild cards do not tell digits apart


def _nodes(tree: Any) -> list[tuple[Any, Any]]:
    """Every (operation, argument) of a parse tree, those inside groups and sets included."""
    found: list[tuple[Any, Any]] = []
    for item in tree:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], type(_sre.LITERAL)):
            found.append(item)
            found += _nodes(_inside(item[1]))
    return found


def _inside(argument: Any) -> list[Any]:
    """What of an argument can hold further nodes, flattened: subpatterns, branches, sets."""
    if isinstance(argument, _parser.SubPattern):
        return list(argument)
    if not isinstance(argument, list | tuple):
        return []
    flat: list[Any] = []
    for part in argument:
        is_node = isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], type(_sre.LITERAL))
        flat += [part] if is_node else _inside(part)
    return flat

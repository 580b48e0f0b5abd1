"""The settings as a flat table of keys, read off the tree: names, variables, limits, nearest names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_type_hints

import msgspec
from msgspec import inspect

from consumer.settings import Settings

PREFIX = "CONSUMER_"
_CUTOFF = 0.6  # difflib's own default: below it a suggestion confuses more than it helps


class Key(NamedTuple):
    """One setting. `allowed` says in words what its values may be; `type` is what msgspec converts to."""

    name: str
    type: Any
    default: object
    description: str
    allowed: str
    secret: bool
    is_map: bool
    optional: bool

    @property
    def section(self) -> str:
        return self.name.partition(".")[0]

    @property
    def field(self) -> str:
        return self.name.partition(".")[2]

    @property
    def source(self) -> str:
        """The name under which it is given: a secret is given as the path of a file."""
        return f"{self.name}_file" if self.secret else self.name

    @property
    def variable(self) -> str:
        return variable(self.source)


def variable(name: str) -> str:
    """`dead_letter.topic` → `CONSUMER_DEAD_LETTER_TOPIC`."""
    return PREFIX + name.replace(".", "_").upper()


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, or one with the same last part, or None."""
    names = list(candidates)
    close = difflib.get_close_matches(name, names, 1, _CUTOFF)
    same_field = [n for n in names if n.rpartition(".")[2] == name.rpartition(".")[2]]
    return next(iter(close + same_field), None)


def _limits(kind: Any) -> str:
    limits = [
        f"{sign} {limit:,}".replace(",", " ")
        for sign, limit in ((">", kind.gt), ("≥", kind.ge), ("<", kind.lt), ("≤", kind.le))
        if limit is not None
    ]
    return f" {' and '.join(limits)}" if limits else ""


def _text(kind: Any) -> str:
    if kind.pattern:
        return "letters, digits, `.`, `_` and `-`, at most 249"
    return "text, not empty" if kind.min_length else "text"


_IN_WORDS: Mapping[type, Callable[[Any], str]] = {
    inspect.Metadata: lambda kind: _allowed(kind.type),
    inspect.UnionType: lambda kind: f"{_allowed(kind.types[0])} or unset",
    inspect.LiteralType: lambda kind: ", ".join(f"`{value}`" for value in kind.values),
    inspect.StrType: _text,
    inspect.BoolType: lambda _: "`true`, `false`",
    inspect.IntType: lambda kind: f"whole number{_limits(kind)}",
    inspect.FloatType: lambda kind: f"number{_limits(kind)}",
    inspect.DictType: lambda _: "table of librdkafka keys",
}


def _allowed(kind: inspect.Type) -> str:
    """What a value may be, in words."""
    return _IN_WORDS[type(kind)](kind)


def _key(section: str, field: str, hint: Any, default: object) -> Key:
    info = inspect.type_info(hint)
    assert isinstance(info, inspect.Metadata), f"{section}.{field} has no description"
    return Key(
        name=f"{section}.{field}",
        type=hint,
        default=default,
        description=str((info.extra_json_schema or {})["description"]),
        allowed=_allowed(info),
        secret=bool((info.extra or {}).get("secret")),
        is_map=isinstance(info.type, inspect.DictType),
        optional=isinstance(info.type, inspect.UnionType),
    )


def _keys() -> Iterator[Key]:
    tree = Settings()
    for section in msgspec.structs.fields(Settings):
        table = getattr(tree, section.name)
        hints = get_type_hints(type(table), include_extras=True)
        for field in msgspec.structs.fields(table):
            yield _key(section.name, field.name, hints[field.name], getattr(table, field.name))


KEYS: Mapping[str, Key] = {key.name: key for key in _keys()}
SOURCES: Mapping[str, Key] = {key.source: key for key in KEYS.values()}
VARIABLES: Mapping[str, Key] = {key.variable: key for key in KEYS.values()}
SECTIONS: Mapping[str, str] = {
    field.name: (type(getattr(Settings(), field.name)).__doc__ or "").strip()
    for field in msgspec.structs.fields(Settings)
}


def secrets_of(settings: Settings) -> list[str]:
    """Every secret value that is set: what no log line, metric or message may ever show."""
    values = (getattr(getattr(settings, key.section), key.field) for key in KEYS.values() if key.secret)
    return [value for value in values if value]

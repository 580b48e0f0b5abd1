"""Settings from their sources: flag > environment > TOML file > default. Every problem at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from consumer.errors import Misconfigured
from consumer.masking import MASK, is_secret, shown, shown_name
from consumer.settings import Settings
from consumer.settings_keys import KEYS, SOURCES, Key, secrets_of
from consumer.settings_refused import refused_entry
from consumer.settings_rules import broken_rules
from consumer.settings_sources import (
    Given,
    line,
    map_entry,
    read_environment,
    read_flags,
    read_toml,
)

DEFAULT = "default"


class Loaded(NamedTuple):
    """The tree, what is wrong, and where each value came from.

    `settings` is always complete: a default stands in for every refused value, so that a check can go
    on. Nobody may run on it while there are problems: that is what `require` is for. `troubled` names
    the keys whose value was refused, alone or beside others.
    """

    settings: Settings
    problems: tuple[str, ...]
    origins: Mapping[str, str]
    troubled: frozenset[str]

    def require(self) -> Settings:
        """The settings; raises Misconfigured with every problem."""
        if self.problems:
            raise Misconfigured(self.problems)
        return self.settings


class _Values(NamedTuple):
    """Converted values by key, and what could not be converted."""

    values: dict[str, Any]
    problems: list[str]
    troubled: set[str]


def load(flags: Mapping[str, str], environ: Mapping[str, str], toml_path: Path | None = None) -> Loaded:
    """Build the tree. A function of its arguments and of the files they name; never raises.

    `flags`: `section.key → text`, as given on the command line.
    """
    readings = (read_toml(toml_path), read_environment(environ), read_flags(flags))
    given = {name: value for reading in readings for name, value in reading.given.items()}
    problems = [problem for reading in readings for problem in reading.problems]
    converted = _convert_all(given)
    settings = _build(converted.values)
    origins = {_key_name(name): value.origin for name, value in given.items()}
    broken = broken_rules(settings, origins, converted.troubled)
    problems += converted.problems + list(broken.values())
    return Loaded(settings, tuple(problems), origins, frozenset(converted.troubled | broken.keys()))


def effective(loaded: Loaded) -> list[tuple[str, str, str]]:
    """(key, value as it may be shown, origin) for every key, in the order of the tree."""
    rows = []
    for key in KEYS.values():
        value = getattr(getattr(loaded.settings, key.section), key.field)
        rows += _map_rows(key, value, loaded.origins) if key.is_map else [_row(key, value, loaded)]
    return rows


def _row(key: Key, value: object, loaded: Loaded) -> tuple[str, str, str]:
    text = "unset" if value is None else shown(value, secret=key.secret)
    origin = loaded.origins.get(key.name, DEFAULT)
    if key.name in loaded.troubled and value == key.default and origin != DEFAULT:
        origin = f"{DEFAULT}, in place of the one {origin}"
    return key.name, text, origin


def _map_rows(key: Key, entries: Mapping[str, str], origins: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [
        (
            shown_name(f"{key.name}.{entry}"),
            shown(text, secret=is_secret(entry)),
            origins.get(f"{key.name}.{entry}", ""),
        )
        for entry, text in entries.items()
    ]


def _key_name(source: str) -> str:
    return SOURCES[source].name if source in SOURCES else source


def _convert_all(given: Mapping[str, Given]) -> _Values:
    out = _Values({}, [], set())
    for name, value in given.items():
        entry = map_entry(name)
        problem = _add_entry(entry, value, out) if entry else _add_value(SOURCES[name], value, out)
        if problem:
            out.problems.append(problem)
            out.troubled.add(_key_name(name))
    return out


def _add_entry(entry: tuple[str, str], given: Given, out: _Values) -> str | None:
    """Take one entry of a free map, or say why not."""
    table, name = entry
    why = refused_entry(name)
    if why is None and isinstance(given.value, list | dict):
        why = "must be a text, a number or a boolean"
    if why is not None:
        return line(f"{table}.{name}", given, why)
    text = str(given.value).lower() if isinstance(given.value, bool) else str(given.value)
    out.values.setdefault(table, {})[name] = text
    return None


def _add_value(key: Key, given: Given, out: _Values) -> str | None:
    """Take one value of the tree, or say why not."""
    if key.secret:
        return _add_secret(key, given, out)
    try:
        value = msgspec.convert(given.value, key.type, strict=False)
    except ValueError:  # also for text of bytes that are not UTF-8
        return line(key.name, given, f"allowed: {key.allowed}")
    if isinstance(value, float) and not math.isfinite(value):
        return line(key.name, given, f"allowed: finite {key.allowed}")
    if key.field.endswith("_location") and value is not None and (why := _unreadable(Path(value))):
        return line(key.name, given, f"cannot be read: {why}; name a PEM file that this user may read")
    out.values[key.name] = value
    return None


def _unreadable(path: Path) -> str | None:
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or "not a path"
    return None


def _add_secret(key: Key, given: Given, out: _Values) -> str | None:
    """Read the secret's file. The trailing newline that editors and `echo` leave is not part of it."""
    if given.value is None:
        return None
    try:
        text = Path(str(given.value)).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        # The secret itself, put where its path belongs, is a likely mistake: show only a plain path.
        hidden = not str(given.value).startswith(("/", "./", "../"))
        what = f"cannot be read: {why}; name a file that this user may read"
        return line(key.source, given, what, secret=hidden)
    secret = text.removesuffix("\n").removesuffix("\r")
    if not secret:
        return line(key.source, given, "the file is empty; put the secret into it")
    out.values[key.name] = secret
    return None


def _build(values: Mapping[str, Any]) -> Settings:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        sections.setdefault(KEYS[name].section, {})[KEYS[name].field] = value
    default = Settings()
    return msgspec.structs.replace(
        default,
        **{
            section: msgspec.structs.replace(getattr(default, section), **fields)
            for section, fields in sections.items()
        },
    )


def redacted(text: str, settings: Settings) -> str:
    """`text` without any secret of `settings`: for messages of clients that repeat what they were given."""
    for secret in secrets_of(settings):
        text = text.replace(secret, MASK)
    return text

"""Where settings come from: a TOML file, the environment, the command line. Each gives one Reading.

All three end in the same flat form, `section.key → Given`. An entry of a free map has a name of its
own (`kafka.consumer.fetch.min.bytes`), so that sources are merged entry by entry; a secret is named by
its file (`kafka.sasl_password_file`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from consumer.masking import is_secret, shown, shown_name
from consumer.settings_keys import KEYS, PREFIX, SECTIONS, SOURCES, VARIABLES, Key, nearest

# Kubernetes injects these for Services named `consumer` or `consumer-…`; they are not ours.
_INJECTED = re.compile(
    r"CONSUMER_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_INJECTED_PORT = re.compile(r"(tcp|udp|sctp)://")
# Read by the command line (`--config`) and by the test suite, not part of the tree.
_OTHERS = ("CONSUMER_CONFIG", "CONSUMER_PORT", "CONSUMER_TEST_")


class Given(NamedTuple):
    """A value as it was given, before conversion, and where."""

    value: object
    origin: str


class Reading(NamedTuple):
    """What one source gives, and what is wrong with it, one line each."""

    given: dict[str, Given]
    problems: list[str]


def line(name: str, given: Given, what: str, *, secret: bool = False) -> str:
    """How every problem with a given value reads. Shows no secret."""
    by_name = is_secret(name) and name not in SOURCES  # what a key of ours holds is known better
    value = shown(given.value, secret=secret or by_name)
    return f"{shown_name(name)} = {value} ({given.origin}): {what}"


def read_toml(path: Path | None) -> Reading:
    """The tables of a TOML file; no file named, nothing given. Blocks on reading it; never raises."""
    if path is None:
        return Reading({}, [])
    try:
        values = dict(_flatten("", tomllib.loads(path.read_bytes().decode())))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return Reading(
            {}, [f"--config = {shown(str(path))}: cannot be read: {why}; name a readable TOML file"]
        )
    except (ValueError, RecursionError) as error:  # not TOML, a number of too many digits, too deep
        return Reading({}, [f"--config = {shown(str(path))}: is not TOML: {error}; mend the file there"])
    return _sort_out(values, str(path))


def read_flags(flags: Mapping[str, str]) -> Reading:
    """Values given on the command line under the names of the keys."""
    return _sort_out(flags, "command line")


def read_environment(environ: Mapping[str, str]) -> Reading:
    """The variables that begin with CONSUMER_; an empty one unsets an optional key."""
    reading = Reading({}, [])
    for name, text in sorted(environ.items()):
        if not name.startswith(PREFIX) or _is_foreign(name, text):
            continue
        key = VARIABLES.get(name)
        if key is None:
            reading.problems.append(_unknown_variable(name, text))
        else:
            value = None if key.optional and not text else text
            _take(key.source, Given(value, f"from {name}"), reading)
    return reading


def _is_foreign(name: str, text: str) -> bool:
    injected_port = name.endswith("_PORT") and _INJECTED_PORT.match(text)
    return bool(name.startswith(_OTHERS) or _INJECTED.fullmatch(name) or injected_port)


def _unknown_variable(name: str, text: str) -> str:
    plain = {key.variable.removesuffix("_FILE"): key for key in KEYS.values() if key.secret}
    if name in plain:
        return f"{name} = {shown(text, secret=True)} (environment): {_only_by_file(plain[name])}"
    guess = nearest(name, [*VARIABLES, *plain])
    hidden = _may_be_secret(name, guess)
    return f"{shown_name(name)} = {shown(text, secret=hidden)} (environment): {_no_such(guess)}"


def _only_by_file(key: Key) -> str:
    return (
        f"a secret is read from a file only; put it into a file and give its path as "
        f"{key.variable} or {key.source}"
    )


def _no_such(guess: str | None) -> str:
    hint = f"did you mean {guess}?" if guess else "docs/configuration.md lists all settings"
    return f"no such setting; {hint}"


def _flatten(prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """`{"a": {"b": 1}}` → `a.b = 1`; the free maps may be written with or without quotes this way."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _flatten(f"{prefix}{name}.", value)
        elif value != {}:
            yield f"{prefix}{name}", value


def _sort_out(values: Mapping[str, object], origin: str) -> Reading:
    reading = Reading({}, [])
    for name, value in values.items():
        given = Given(value, origin)
        if _is_known(name):
            _take(name, given, reading)
        else:
            reading.problems.append(_unknown_name(name, given))
    return reading


def _is_known(name: str) -> bool:
    return name in SOURCES or map_entry(name) is not None


def map_entry(name: str) -> tuple[str, str] | None:
    """`kafka.consumer.client.rack` → (`kafka.consumer`, `client.rack`); None for any other name."""
    for key in KEYS.values():
        if key.is_map and name.startswith(f"{key.name}."):
            return key.name, name.removeprefix(f"{key.name}.")
    return None


def _unknown_name(name: str, given: Given) -> str:
    if name in KEYS:
        return line(name, given, _only_by_file(KEYS[name]), secret=True)
    if name in SECTIONS:
        return line(name, given, f"{name} is a section; set one of its keys, {name}.…")
    guess = nearest(name, [*SOURCES, *KEYS])
    return line(name, given, _no_such(guess), secret=_may_be_secret(name, guess))


def _may_be_secret(name: str, guess: str | None) -> bool:
    """Whether the value of an unknown name stays hidden: it may be a misspelt secret, or its path."""
    return guess is None or any(
        is_secret(n) or is_secret(n.lower().removesuffix("_file")) for n in (name, guess)
    )


def _take(name: str, given: Given, reading: Reading) -> None:
    """Put one known value into the reading; a free map given as a whole is split into its entries."""
    key = SOURCES.get(name)
    if key is None or not key.is_map:
        reading.given[name] = given
        return
    entries = _entries(given.value)
    if entries is None:
        # The whole is shown to nobody: its entries may hold secrets.
        what = "must be key=value,key=value or a JSON object"
        reading.problems.append(line(name, given, what, secret=True))
        return
    for entry, value in entries.items():
        reading.given[f"{name}.{entry}"] = Given(value, given.origin)


def _entries(value: object) -> dict[str, object] | None:
    """`a=b,c=d` or a JSON object (for values that hold commas) → its entries; None when it is neither."""
    if not isinstance(value, str):
        return None
    if value.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(value, type=dict[str, object])
        except (msgspec.DecodeError, RecursionError):
            return None
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(sign and name.strip() for name, sign, _ in pairs):
        return None
    return {name.strip(): text.strip() for name, _, text in pairs}

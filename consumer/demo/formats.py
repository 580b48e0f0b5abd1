"""How each service writes a message down: JSON events or plain text, as its kind of program does."""

from __future__ import annotations

import datetime
from random import Random
from typing import Final

import msgspec

JSON_SERVICES: Final = ("web", "auth")

LEVELS_NEVER_USED: Final = {
    "web": ("CRITICAL", "FATAL", "EMERGENCY", "TRACE"),
    "auth": ("CRITICAL", "FATAL", "ALERT", "TRACE"),
    "database": ("PANIC", "DEBUG2"),
    "batch": ("FATAL", "SEVERE", "TRACE"),
    "kernel": ("emerg", "alert", "crit"),
}
"""Levels that the format knows and a healthy service never uses; `access` writes no levels."""


class Line(msgspec.Struct, frozen=True):
    """A message that is ready to be written: all slots filled. `level` `-`: the format has none."""

    service: str
    level: str
    message: str


def encode(line: Line, host: str, when: datetime.datetime, rng: Random) -> bytes:
    """The record's value."""
    if line.service in JSON_SERVICES:
        return _json(line, host, when, rng)
    return _TEXTS[line.service](line, host, when, rng).encode()


def _json(line: Line, host: str, when: datetime.datetime, rng: Random) -> bytes:
    event: dict[str, object] = {
        "timestamp": when.isoformat(timespec="milliseconds"),
        "level": line.level,
        "source": host,
        "message": line.message,
        "attributes": {
            "trace": f"{rng.getrandbits(64):016x}",
            "pid": rng.randrange(200, 40_000),
            "duration_ms": round(rng.lognormvariate(3, 1), 2),
        },
    }
    if rng.random() < 0.5:
        event["id"] = f"{rng.getrandbits(64):016x}"
    return msgspec.json.encode(event)


def _access(line: Line, _host: str, _when: datetime.datetime, _rng: Random) -> str:
    return line.message


def _database(line: Line, _host: str, when: datetime.datetime, rng: Random) -> str:
    pid = rng.randrange(200, 40_000)
    return f"{_stamp(when, '.')} UTC [{pid}] {line.level}:  {line.message}"


def _batch(line: Line, _host: str, when: datetime.datetime, rng: Random) -> str:
    return f"{_stamp(when, ',')} {line.level:<5} [worker-{rng.randint(1, 8)}] {line.message}"


def _kernel(line: Line, _host: str, when: datetime.datetime, rng: Random) -> str:
    uptime = rng.uniform(1e3, 9e6)
    return f"{when:%b %d %H:%M:%S} kern.{line.level} kernel: [{uptime:.6f}] {line.message}"


def _stamp(when: datetime.datetime, mark: str) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}{mark}{when.microsecond // 1000:03}"


_TEXTS: Final = {"access": _access, "database": _database, "batch": _batch, "kernel": _kernel}

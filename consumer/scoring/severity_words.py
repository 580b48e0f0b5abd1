"""Forty stems that people write when something is wrong, and how wrong. A word counts when it starts
with a stem, or is one of WHOLE; of two stems that fit, the longer one counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "abort": 4.0,
        "alert": 3.0,
        "attack": 4.0,
        "bad": 2.0,
        "broken": 3.0,
        "cannot": 2.0,
        "corrupt": 4.0,
        "crash": 5.0,
        "critical": 4.0,
        "dead": 3.0,
        "denied": 2.0,
        "disconnect": 2.0,
        "emerg": 5.0,
        "error": 3.0,
        "exception": 3.0,
        "exhaust": 3.0,
        "fail": 3.0,
        "fatal": 4.0,
        "forbid": 2.0,
        "halt": 3.0,
        "hung": 3.0,
        "illegal": 3.0,
        "invalid": 2.0,
        "kill": 3.0,
        "lost": 2.0,
        "missing": 2.0,
        "overflow": 3.0,
        "panic": 5.0,
        "refus": 2.0,
        "reject": 2.0,
        "segfault": 5.0,
        "severe": 3.0,
        "terminat": 3.0,
        "timeout": 2.0,
        "unable": 2.0,
        "unauthor": 3.0,
        "unexpect": 2.0,
        "unreach": 3.0,
        "violat": 3.0,
        "warn": 1.0,
    }
)

# Short enough to begin many harmless words and names: badge, deadline, Hungary, Lostock.
WHOLE = frozenset({"bad", "dead", "hung", "lost"})

"""Values for the slots of a template: numbers, addresses, identifiers, and words that a fleet owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

_ZIPF: Final = 0.8  # how unevenly words occur: the first of a list far more often than the last


def _hex(rng: Random) -> str:
    return f"{rng.getrandbits(48):012x}"


def _uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _ip(rng: Random) -> str:
    return f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _clock(rng: Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"


def _path(rng: Random) -> str:
    return f"/var/lib/shop/{rng.choice(('data', 'spool', 'conf'))}/{rng.randrange(100)}/{_hex(rng)}"


def _number(rng: Random) -> str:
    """From one digit to six, each length equally likely."""
    return str(rng.randrange(10 ** rng.randint(1, 6)))


_VALUES: Final[dict[str, Callable[[Random], str]]] = {
    "n": _number,
    "ms": lambda rng: f"{rng.lognormvariate(3.5, 1.2):.0f}",
    "sec": lambda rng: f"{rng.lognormvariate(-1.0, 1.0):.3f}",
    "bytes": lambda rng: str(rng.randrange(200, 400_000)),
    "port": lambda rng: str(rng.randrange(1024, 65_536)),
    "ip": _ip,
    "uuid": _uuid,
    "hex": _hex,
    "clock": _clock,
    "path": _path,
    "percent": lambda rng: f"{rng.uniform(0, 100):.1f}%",
    "money": lambda rng: f"{rng.uniform(1, 900):.2f} EUR",
    "date": lambda rng: f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
    "stamp": lambda rng: f"{rng.randint(1, 28):02}/Mar/2026:{_clock(rng)} +0000",
    "busid": lambda rng: f"{rng.randint(1, 4)}-{rng.randint(1, 9)}",
    "version": lambda rng: f"{rng.randint(1, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 9)}",
}

GENERATED: Final = frozenset(_VALUES)
"""Slots whose value is made, not taken from a list."""

MEASURED: Final = ("ms", "sec", "bytes", "n", "percent", "money")
"""Slots whose value is an amount: where an odd value can stand."""


class Values:
    """Slot values for one fleet, drawn from `rng`. `odd`: replace the first amount asked for."""

    def __init__(self, rng: Random, words: Mapping[str, Sequence[str]], odd: str | None = None) -> None:
        self._rng = rng
        self._words = words
        self._odd = odd

    def __getitem__(self, name: str) -> str:
        if self._odd is not None and name in MEASURED:
            odd, self._odd = self._odd, None
            return odd
        make = _VALUES.get(name)
        return make(self._rng) if make else pick(self._rng, self._words[name])


def pick(rng: Random, words: Sequence[str]) -> str:
    """One of them, those in front more often (Zipf)."""
    rank = int(rng.paretovariate(_ZIPF)) - 1
    return words[rank] if rank < len(words) else rng.choice(words)

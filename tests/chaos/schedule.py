"""When which fault strikes: a pure function of a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.chaos.faults import FAULTS, Fault, Guarantee, possible

_CALM = 4.0
"""Seconds at the beginning of a storm in which nothing strikes: the group has work by then."""

_LAST = 0.85
"""The part of a storm in which faults begin: what begins last has to end, too."""


class Step(NamedTuple):
    """`at`: seconds from the beginning of the storm; it strikes then, or when its lane is free. `seconds`:
    how long it lasts. `pick`: chooses among victims, modulo how many there are when it strikes."""

    at: float
    fault: Fault
    seconds: float
    pick: int

    def __str__(self) -> str:
        return f"{self.at:7.1f} s  {self.fault.name}"


def halves(seed: int, seconds: float) -> Mapping[Guarantee, Sequence[Step]]:
    """A storm of `seconds` for each guarantee; every fault is in exactly one of them."""
    rng = random.Random(f"halves of {seed}")
    return {guarantee: _spread(rng, faults, seconds, long=False) for guarantee, faults in _dealt(rng).items()}


def whole(seed: int, guarantee: Guarantee, seconds: float, spacing: float = 6.5) -> Sequence[Step]:
    """A storm with every fault that the guarantee knows, again and again in another order, one each
    `spacing` seconds; each strikes at least once however short the storm is."""
    rng = random.Random(f"{guarantee} of {seed}")
    faults = possible(guarantee)
    rounds = max(1, int(seconds / spacing / len(faults)))
    order = [fault for _ in range(rounds) for fault in rng.sample(faults, len(faults))]
    return _spread(rng, order, seconds, long=True)


def _dealt(rng: random.Random) -> Mapping[Guarantee, Sequence[Fault]]:
    """Those bound to a guarantee go there, the others are shared out evenly; then each half is shuffled."""
    hands = {g: [fault for fault in FAULTS if fault.only is g] for g in Guarantee}
    for fault in rng.sample(FAULTS, len(FAULTS)):
        if fault.only is None:
            min(hands.values(), key=len).append(fault)
    return {guarantee: rng.sample(hand, len(hand)) for guarantee, hand in hands.items()}


def _spread(rng: random.Random, faults: Sequence[Fault], seconds: float, *, long: bool) -> Sequence[Step]:
    """One after another in even slots, each beginning somewhere in its slot."""
    slot = max(0.0, _LAST * seconds - _CALM) / len(faults)
    return tuple(
        Step(
            round(_CALM + slot * (index + rng.random()), 1),
            fault,
            fault.lasts(long=long),
            rng.randrange(1_000),
        )
        for index, fault in enumerate(faults)
    )

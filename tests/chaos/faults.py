"""Every class of fault that a storm is made of. Data only: strikes.py says how each is done."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Guarantee(StrEnum):
    """`processing.guarantee`."""

    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class Lane(StrEnum):
    """Faults of one lane wait for each other, those of different lanes overlap."""

    REPLICAS = "replicas"
    GROUP = "group"
    BROKERS = "brokers"
    WIRE = "wire"
    REDIS = "redis"


AT_ONCE = {Lane.REPLICAS: 2}
"""How many faults of a lane may be under way together; one where it says nothing."""


class Fault(NamedTuple):
    """`seconds`: how long it lasts before it is healed, where it does not end by itself; `patient`: the same
    in a long run. `only`: it has no meaning under the other guarantee."""

    name: str
    lane: Lane
    seconds: float = 0.0
    patient: float | None = None
    only: Guarantee | None = None

    def lasts(self, *, long: bool) -> float:
        return self.patient if long and self.patient is not None else self.seconds


SESSION = 6.0
"""Seconds: `kafka.session_timeout`, and the broker's own for the broker-side protocol."""

FAULTS = (
    Fault("SIGKILL", Lane.REPLICAS),
    Fault("SIGTERM", Lane.REPLICAS),
    Fault("SIGTERM twice", Lane.REPLICAS),
    Fault("SIGSTOP beyond the session, SIGCONT", Lane.REPLICAS, SESSION + 2.0),
    Fault("SIGKILL after poll", Lane.REPLICAS),
    Fault("SIGKILL after score", Lane.REPLICAS),
    Fault("SIGKILL after produce", Lane.REPLICAS),
    Fault("SIGKILL after acks", Lane.REPLICAS, only=Guarantee.AT_LEAST_ONCE),
    Fault("SIGKILL inside the transaction", Lane.REPLICAS, only=Guarantee.EXACTLY_ONCE),
    Fault("SIGKILL before commit", Lane.REPLICAS),
    Fault("scorer slower than max.poll.interval", Lane.REPLICAS),
    Fault("scorer hangs", Lane.REPLICAS),
    Fault("scorer out of memory", Lane.REPLICAS, 4.0),
    Fault("scorer returns NaN", Lane.REPLICAS),
    Fault("scorer raises", Lane.REPLICAS),
    Fault("scale 1, 6, 2", Lane.GROUP, 4.0),
    Fault("partitions grown", Lane.GROUP),
    Fault("broker SIGKILL and restart", Lane.BROKERS, 4.0),
    Fault("rolling restart", Lane.BROKERS),
    Fault("all brokers away", Lane.BROKERS, 8.0, patient=30.0),
    Fault("coordinator's broker killed", Lane.BROKERS, 4.0),
    Fault("connections reset", Lane.WIRE, 3.0),
    Fault("black hole", Lane.WIRE, 7.0),
    Fault("one way dead, to the broker", Lane.WIRE, 7.0),
    Fault("one way dead, from the broker", Lane.WIRE, 7.0),
    Fault("200 ms delay", Lane.WIRE, 6.0),
    Fault("2 s delay", Lane.WIRE, 8.0),
    Fault("64 kB/s", Lane.WIRE, 6.0),
    Fault("Redis killed", Lane.REDIS, 4.0),
    Fault("Redis frozen", Lane.REDIS, 4.0),
    Fault("Redis flushed", Lane.REDIS),
    Fault("Redis full", Lane.REDIS, 4.0),
    Fault("Redis read-only", Lane.REDIS, 4.0),
)


def possible(guarantee: Guarantee) -> tuple[Fault, ...]:
    """All that have a meaning under this guarantee."""
    return tuple(fault for fault in FAULTS if fault.only in {None, guarantee})

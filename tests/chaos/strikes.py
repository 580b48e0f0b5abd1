"""How each fault is done to a trial that is under way.

A strike is a generator: it yields how many seconds it wants to wait, returns whether somebody was hit, and
heals what it broke in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from tests.chaos import strikes_on_replicas as replicas
from tests.chaos import strikes_on_services as services
from tests.chaos.proxy import Way, Weather
from tests.chaos.schedule import Step
from tests.chaos.storm import Strike
from tests.kafka.failpoint import Boundary

if TYPE_CHECKING:
    from tests.chaos.trial import Trial

Begin: TypeAlias = Callable[["Trial", Step], Strike]

_ATTEMPTS = 3

_DEAD = Way(passes=False)
_NARROW = Way(rate=64_000.0)

STRIKES: Mapping[str, Begin] = {
    "SIGKILL": replicas.kill,
    "SIGTERM": replicas.stop,
    "SIGTERM twice": replicas.stop_twice,
    "SIGSTOP beyond the session, SIGCONT": replicas.freeze,
    "SIGKILL after poll": replicas.die_at(Boundary.AFTER_POLL),
    "SIGKILL after score": replicas.die_at(Boundary.AFTER_SCORE),
    "SIGKILL after produce": replicas.die_at(Boundary.AFTER_PRODUCE),
    "SIGKILL after acks": replicas.die_at(Boundary.AFTER_ACKS),
    "SIGKILL inside the transaction": replicas.die_at(Boundary.IN_TRANSACTION),
    "SIGKILL before commit": replicas.die_at(Boundary.BEFORE_COMMIT),
    "scorer slower than max.poll.interval": replicas.slow_scorer,
    "scorer hangs": replicas.broken_scorer("hang"),
    "scorer out of memory": replicas.narrow_scorer,
    "scorer returns NaN": replicas.broken_scorer("nan"),
    "scorer raises": replicas.broken_scorer("raise"),
    "scale 1, 6, 2": replicas.scale,
    "partitions grown": services.grow_input,
    "broker SIGKILL and restart": services.kill_broker,
    "rolling restart": services.restart_brokers,
    "all brokers away": services.kill_all_brokers,
    "coordinator's broker killed": services.kill_coordinator,
    "connections reset": services.reset_connections,
    "black hole": services.weather(Weather(_DEAD, _DEAD)),
    "one way dead, to the broker": services.weather(Weather(up=_DEAD)),
    "one way dead, from the broker": services.weather(Weather(down=_DEAD)),
    "200 ms delay": services.weather(Weather(Way(delay=0.1), Way(delay=0.1))),
    "2 s delay": services.weather(Weather(Way(delay=1.0), Way(delay=1.0))),
    "64 kB/s": services.weather(Weather(_NARROW, _NARROW)),
    "Redis killed": services.kill_cache,
    "Redis frozen": services.freeze_cache,
    "Redis flushed": services.change_cache("FLUSHALL"),
    "Redis full": services.change_cache("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "Redis read-only": services.change_cache("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
}


def begin(trial: Trial, step: Step) -> Strike:
    """The step's strike; again with another victim where it hit nobody, as happens when one fault meets
    another."""
    for _ in range(_ATTEMPTS):
        if (yield from STRIKES[step.fault.name](trial, step)):
            return True
    return False

"""Strikes on replicas: their processes, their scorers, their number."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.chaos.scorer import STALL_AFTER
from tests.chaos.storm import until
from tests.kafka.failpoint import Boundary
from tests.kafka.history import Action

if TYPE_CHECKING:
    from tests.chaos.orders import Orders
    from tests.chaos.schedule import Step
    from tests.chaos.storm import Strike
    from tests.chaos.trial import Trial
    from tests.kafka.replicas import Replica

DRAIN = 12.0
"""Seconds: `shutdown.drain_timeout`."""

_TICK = 0.1
_MARGIN = 10.0  # seconds that a process on a crowded machine may be late
_PATIENCE = 45.0  # seconds until a victim must have met what it was ordered to


class _Victim:
    """A claimed replica and the way to give it orders."""

    def __init__(self, replica: Replica, orders: Orders) -> None:
        self.replica, self.orders = replica, orders

    def gone(self) -> bool:
        return not self.replica.running

    def told(self, action: Action) -> int:
        return sum(h.action is action for h in self.replica.happenings())


def _claimed(trial: Trial, pick: int) -> Generator[float, None, Replica]:
    """Wait for a victim."""
    while (victim := trial.fleet.claim(pick)) is None:
        yield _TICK
    return victim


@contextmanager
def _held(trial: Trial, replica: Replica) -> Iterator[_Victim]:
    """Ours until the end; no order and no stop survives it."""
    victim = _Victim(replica, trial.orders(replica))
    try:
        yield victim
    finally:
        victim.orders.lift()
        trial.fleet.release(replica)
        if replica.running:
            replica.signal(signal.SIGCONT)


def kill(trial: Trial, step: Step) -> Strike:
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        replica.signal(signal.SIGKILL)
        return (yield from until(victim.gone, _MARGIN))


def stop(trial: Trial, step: Step) -> Strike:
    """Ends within the time to drain, whatever else goes on."""
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        replica.signal(signal.SIGTERM)
        ended = yield from until(victim.gone, DRAIN + _MARGIN)
        if not ended:
            trial.found("I17", f"{replica.name} still runs {DRAIN + _MARGIN:g} s after SIGTERM")
        return ended


def stop_twice(trial: Trial, step: Step) -> Strike:
    """The second signal comes while a batch is still with the scorer, and ends the process at once."""
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        victim.orders.give("scorer slow")
        if not (yield from until(lambda: victim.orders.obeyed or victim.gone(), _PATIENCE)):
            return False
        replica.signal(signal.SIGTERM)
        yield 0.5
        replica.signal(signal.SIGTERM)
        if not (yield from until(victim.gone, _MARGIN)):
            trial.found("I17", f"{replica.name} still runs {_MARGIN:g} s after its second SIGTERM")
        elif replica.wait(1) == 0:
            trial.found("I17", f"{replica.name} left its work undone at the second SIGTERM, with exit code 0")
        return victim.gone()


def freeze(trial: Trial, step: Step) -> Strike:
    """For longer than its session lasts; its partitions are somebody else's when it wakes up."""
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        before = victim.told(Action.LOST)
        replica.signal(signal.SIGSTOP)
        yield step.seconds
        replica.signal(signal.SIGCONT)
        return (yield from until(lambda: victim.told(Action.LOST) > before or victim.gone(), _PATIENCE))


def die_at(boundary: Boundary) -> Callable[[Trial, Step], Strike]:
    """The process kills itself when it passes this boundary."""

    def strike(trial: Trial, step: Step) -> Strike:
        replica = yield from _claimed(trial, step.pick)
        with _held(trial, replica) as victim:
            victim.orders.give(f"failpoint {boundary}")
            yield from until(victim.gone, _PATIENCE)
            return victim.told(Action.FAILPOINT) > 0

    return strike


def slow_scorer(trial: Trial, step: Step) -> Strike:
    """One batch, or a few that were under way, take longer than the poll interval."""
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        victim.orders.give("scorer slow")
        hit = yield from until(lambda: victim.orders.obeyed, _PATIENCE)
        victim.orders.lift()
        yield STALL_AFTER
        return hit


def narrow_scorer(trial: Trial, step: Step) -> Strike:
    """Runs out of memory on all but the smallest batches."""
    replica = yield from _claimed(trial, step.pick)
    with _held(trial, replica) as victim:
        victim.orders.give("scorer out of memory")
        hit = yield from until(lambda: victim.orders.obeyed, _PATIENCE)
        yield step.seconds
        return hit


def broken_scorer(mood: str) -> Callable[[Trial, Step], Strike]:
    """Fails until its process has ended by itself, which it has to do in a stated time."""

    def strike(trial: Trial, step: Step) -> Strike:
        replica = yield from _claimed(trial, step.pick)
        with _held(trial, replica) as victim:
            victim.orders.give(f"scorer {mood}")
            if not (yield from until(lambda: victim.orders.obeyed or victim.gone(), _PATIENCE)):
                return False
            if not (yield from until(victim.gone, STALL_AFTER + _MARGIN)):
                trial.found("F17", f"{replica.name} still runs although its scorer is broken ({mood})")
                replica.signal(signal.SIGKILL)
                return True
            return victim.orders.obeyed

    return strike


def scale(trial: Trial, step: Step) -> Strike:
    """To one replica, to six, to two, and back."""
    fleet, usual = trial.fleet, trial.fleet.wanted
    try:
        fleet.resize(1)
        yield step.seconds
        fleet.resize(6)
        hit = yield from until(lambda: len(fleet.staying) >= 6, _PATIENCE)
        yield step.seconds
        fleet.resize(2)
        yield step.seconds
        return hit
    finally:
        fleet.resize(usual)

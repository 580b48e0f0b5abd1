"""Strikes on what replicas depend on: brokers, the wire, the cache, the input topic."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewPartitions

from tests.chaos.brokers import SIZE
from tests.chaos.proxy import FAIR, Link, Weather
from tests.chaos.storm import until
from tests.kafka.history import Action

if TYPE_CHECKING:
    from tests.chaos.schedule import Step
    from tests.chaos.storm import Strike
    from tests.chaos.trial import Trial

GROWTH = 2
"""Partitions that are added to the input at a time."""

_TICK = 0.5
_PATIENCE = 20.0
_AGES = 120.0

# ---------------------------------------------------------------- brokers


def kill_broker(trial: Trial, step: Step) -> Strike:
    yield from _away(trial, (step.pick % SIZE + 1,), step.seconds)
    return True


def kill_all_brokers(trial: Trial, step: Step) -> Strike:
    yield from _away(trial, tuple(range(1, SIZE + 1)), step.seconds)
    return True


def kill_coordinator(trial: Trial, step: Step) -> Strike:
    number = yield from _asked(trial.coordinator)
    yield from _away(trial, (number,), step.seconds)
    return True


def restart_brokers(trial: Trial, step: Step) -> Strike:
    """One after the other, each stopped as an administrator would."""
    cluster = trial.site.cluster
    for turn in range(SIZE):
        number = (step.pick + turn) % SIZE + 1
        trial.note(Action.MOVED)
        cluster.ask_to_stop(number)
        while not cluster.has_ended(number):
            yield _TICK
        cluster.start(number)
        yield from _back(trial)
    return True


def _away(trial: Trial, numbers: tuple[int, ...], seconds: float) -> Generator[float, None, None]:
    """Killed, and started again after a while."""
    trial.note(Action.MOVED)
    trial.site.cluster.kill(*numbers)
    try:
        yield seconds
    finally:
        trial.site.cluster.start(*numbers)
    yield from _back(trial)


def _back(trial: Trial) -> Strike:
    back = yield from until(trial.site.cluster.ready, _AGES)
    assert back, "the brokers do not come back"
    return back


def _asked(question: Callable[[], int]) -> Generator[float, None, int]:
    """The answer, once the brokers give one."""
    answers: list[int] = []
    failures: list[Exception] = []

    def ask() -> bool:
        try:
            answers.append(question())
        except (KafkaException, TimeoutError) as error:
            failures.append(error)
        return bool(answers)

    answered = yield from until(ask, _AGES)
    assert answered, f"the brokers do not answer: {failures[-1]}"
    return answers[0]


# ---------------------------------------------------------------- the input topic


def grow_input(trial: Trial, step: Step) -> Strike:
    """Key → partition changes for what comes from now on."""
    topic, wanted = trial.scenario.name("input"), trial.partitions + GROWTH

    def grow() -> int:
        admin = trial.site.admin()
        known = len(admin.list_topics(topic, timeout=5).topics[topic].partitions)
        if known < wanted:  # else an attempt that was not answered did it
            asked = admin.create_partitions([NewPartitions(topic, wanted)], request_timeout=5)
            asked[topic].result(timeout=10)
        return wanted

    trial.partitions = yield from _asked(grow)
    return True


# ---------------------------------------------------------------- the wire


def weather(bad: Weather) -> Callable[[Trial, Step], Strike]:
    """On the links of all brokers and of the cache, or of one broker that somebody is connected to; lasts
    from the first bytes that it meets."""

    def strike(trial: Trial, step: Step) -> Strike:
        links = _links(trial, step.pick)
        before = _touched(links)
        trial.note(Action.HELD)
        for link in links:
            link.change(bad)
        try:
            hit = yield from until(lambda: _touched(links) > before, _PATIENCE)
            yield step.seconds
        finally:
            for link in links:
                link.change(FAIR)
        return hit

    return strike


def reset_connections(trial: Trial, step: Step) -> Strike:
    """Again and again."""
    links = _links(trial, step.pick)
    before, left = _touched(links), step.seconds
    while left > 0:
        for link in links:
            link.reset()
        yield _TICK
        left -= _TICK
    return _touched(links) > before


def _links(trial: Trial, pick: int) -> list[Link]:
    if pick % 2:
        return list(trial.site.proxies.links.values())
    used = [link for link in trial.site.broker_links if link.used] or trial.site.broker_links
    return [used[pick // 2 % len(used)]]


def _touched(links: list[Link]) -> int:
    return sum(link.touched for link in links)


# ---------------------------------------------------------------- the cache


def kill_cache(trial: Trial, step: Step) -> Strike:
    """It comes back empty."""
    trial.site.cache.kill()
    try:
        yield step.seconds
    finally:
        trial.site.cache.start()
    return True


def freeze_cache(trial: Trial, step: Step) -> Strike:
    trial.site.cache.freeze()
    try:
        yield step.seconds
    finally:
        trial.site.cache.thaw()
    return True


def change_cache(command: str, heal: str | None = None) -> Callable[[Trial, Step], Strike]:
    """An administrator's command, and the one that undoes it."""

    def strike(trial: Trial, step: Step) -> Strike:
        trial.site.cache.command(command)
        try:
            yield step.seconds
        finally:
            if heal is not None:
                trial.site.cache.command(heal)
        return True

    return strike

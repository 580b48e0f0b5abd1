"""A seeded stream of labelled log records: an interleaved fleet, half-way upgrades, anomalies."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import msgspec

from consumer.demo import anomalies
from consumer.demo.fleet import SHARES, Fleet, Template, build_fleet, incidents
from consumer.demo.formats import JSON_SERVICES, Line, encode
from consumer.demo.grammar import seeded
from consumer.demo.labels import Kind, Labelled, Truth

_START: Final = datetime.datetime(2026, 3, 2, 6, 0, tzinfo=datetime.UTC)
_MEAN_GAP: Final = 0.05  # seconds of the stream's own clock between two records
_BURST_LENGTH: Final = 30
_UPGRADES: Final = (0.35, 0.65)  # when a service is upgraded, as a share of the stream

_Pair = tuple[Template, Line]


_MADE: Final[dict[Kind, Callable[[Fleet, Random], _Pair]]] = {
    Kind.ODD_ORDER: anomalies.odd_order,
    Kind.ODD_TOKEN: anomalies.odd_token,
    Kind.RARE_LEVEL: anomalies.rare_level,
    Kind.ODD_VALUE: anomalies.odd_value,
}


class Plan(msgspec.Struct, frozen=True):
    """How many records of a kind there are among all of them. Bursts are counted in records."""

    shares: dict[Kind, float]

    def counts(self, records: int) -> dict[Kind, int]:
        """At least one record of each kind of the plan."""
        return {kind: max(1, round(share * records)) for kind, share in self.shares.items()}


WITH_ANOMALIES: Final = Plan(
    {
        Kind.EMPTY: 0.003,
        Kind.NEW_MESSAGE: 0.005,
        Kind.ODD_ORDER: 0.005,
        Kind.ODD_TOKEN: 0.005,
        Kind.RARE_LEVEL: 0.005,
        Kind.MALFORMED: 0.003,
        Kind.BURST: 0.01,
        Kind.ODD_VALUE: 0.004,
    }
)
ONLY_NORMAL: Final = Plan({})


def generate(seed: int, records: int, plan: Plan = WITH_ANOMALIES) -> Iterator[Labelled]:
    """`records` records in the order of their time; the same for the same arguments everywhere.

    The normal records of a plan with anomalies are not those of a plan without.
    """
    return _Stream(seed, records, plan).emit()


class _Stream:
    """One run of the generator: the fleet, the clock, and what is still to come."""

    def __init__(self, seed: int, records: int, plan: Plan) -> None:
        self._rng = seeded("stream", seed, records)
        self._fleet = build_fleet(seed)
        self._records = records
        self._when = _START + datetime.timedelta(days=seed % 600)
        self._upgrade = {service: self._rng.uniform(*_UPGRADES) for service in SHARES}
        counts = plan.counts(records)
        self._incidents = iter(incidents(self._fleet, self._rng, counts.get(Kind.NEW_MESSAGE, 0)))
        self._schedule = _schedule(self._rng, records, counts)
        self._burst: list[_Pair] = []

    def emit(self) -> Iterator[Labelled]:
        for index, kind in enumerate(self._schedule):
            self._when += datetime.timedelta(seconds=self._rng.expovariate(1 / _MEAN_GAP))
            yield self._record(kind, index / self._records)

    def _record(self, kind: Kind, progress: float) -> Labelled:
        if kind is Kind.EMPTY:
            host = self._rng.choice(self._fleet.hosts["batch"])
            return Labelled(self._rng.choice((None, b"")), host.encode(), Truth(kind))
        template, line = self._line(kind, progress)
        host = self._rng.choice(self._fleet.hosts[line.service])
        value = encode(line, host, self._when, self._rng)
        if kind is Kind.MALFORMED:
            value = anomalies.malformed(value, self._rng)
        key = host.encode() if line.service != "kernel" else None
        name = "" if kind is Kind.NEW_MESSAGE else template.name
        return Labelled(value, key, Truth(kind, name, line.level, line.message))

    def _line(self, kind: Kind, progress: float) -> _Pair:
        if make := _MADE.get(kind):
            return make(self._fleet, self._rng)
        if kind is Kind.NEW_MESSAGE:
            template = next(self._incidents)
            return template, anomalies.said(self._fleet, self._rng, template)
        if kind is Kind.BURST:
            return self._repeated(progress)
        return self._normal(progress, JSON_SERVICES if kind is Kind.MALFORMED else tuple(SHARES))

    def _normal(self, progress: float, services: tuple[str, ...]) -> _Pair:
        service = self._rng.choices(services, [SHARES[s] for s in services])[0]
        release = self._fleet.releases[progress >= self._upgrade[service]][service]
        template = self._rng.choices(release, [t.weight for t in release])[0]
        return template, anomalies.said(self._fleet, self._rng, template)

    def _repeated(self, progress: float) -> _Pair:
        """The next of a burst; a new burst begins with a message of its own."""
        if not self._burst:
            self._burst = [self._normal(progress, tuple(SHARES))] * _BURST_LENGTH
        return self._burst.pop()


def _schedule(rng: Random, records: int, counts: dict[Kind, int]) -> list[Kind]:
    """What each record is. Anomalies lie anywhere; the records of a burst lie close together."""
    scattered = [kind for kind, count in counts.items() if kind is not Kind.BURST for _ in range(count)]
    bursts = counts.get(Kind.BURST, 0)
    rest = records - len(scattered) - bursts
    if rest <= 0:
        raise ValueError(f"{records} records are too few for this plan")
    schedule = [*scattered, *[Kind.NORMAL] * rest]
    rng.shuffle(schedule)
    for start in range(0, bursts, _BURST_LENGTH):
        at = rng.randrange(len(schedule))
        for offset in range(min(_BURST_LENGTH, bursts - start)):
            schedule.insert(at + 2 * offset, Kind.BURST)
    return schedule

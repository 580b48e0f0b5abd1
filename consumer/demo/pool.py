"""Which fleets the shipped model has seen: the normal records of a fixed pool of seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from consumer.demo.fleet import build_fleet
from consumer.demo.generator import ONLY_NORMAL, generate
from consumer.demo.labels import Labelled

POOL_SEEDS: Final = range(1000, 1012)
RECORDS_EACH: Final = 2_500


def pool_records(seeds: range = POOL_SEEDS, each: int = RECORDS_EACH) -> Iterator[Labelled]:
    """Normal records only, fleet after fleet."""
    for seed in seeds:
        yield from generate(seed, each, ONLY_NORMAL)


def pool_templates() -> set[str]:
    """The names of all templates that a fleet of the pool could have used."""
    return {template.name for seed in POOL_SEEDS for template in build_fleet(seed).templates()}

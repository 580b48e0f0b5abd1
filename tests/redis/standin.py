"""A scorer that is ours but for the part that needs torch: each word's surprisal is drawn from its hash."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np

from consumer.masks import Masks
from consumer.normalize import Normalizer
from consumer.records import Event
from consumer.scoring.fit import FitOptions, fit
from consumer.scoring.judge import FittedModel
from consumer.scoring.known import Tally
from consumer.scoring.novelty import Novelty
from consumer.scoring.parts import Arrays, Facts, FitTask, Floats, Integers, Measured
from consumer.scoring.severity import Severity

_WORD = re.compile(r"\S+")
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu")


class Engine:
    """Counts what was computed."""

    device_name = "cpu"
    padded = batches = halvings = budget = 0


class Prepared(NamedTuple):
    items: Sequence[str]
    covered: int = 0
    computed: int = 0


class Surprisals(NamedTuple):
    nats: Floats
    bounds: Integers

    def of(self, item: int) -> Floats:
        return self.nats[self.bounds[item] : self.bounds[item + 1]]


class LanguageModelStandIn:
    """Part and fitted part in one; it has nothing to learn."""

    name = "language-model"
    statistics = ("mean", "max", "sum")
    hint: object | None = None
    fingerprint = "stand-in"

    def __init__(self) -> None:
        self.engine = Engine()
        self.computed: list[str] = []

    def fit(self, task: FitTask) -> LanguageModelStandIn:
        return self

    def load(self, arrays: Arrays, facts: Facts) -> LanguageModelStandIn:
        return self

    def save(self) -> tuple[Arrays, Facts]:
        return {}, {}

    def prepare(self, items: Sequence[str]) -> Prepared:
        return Prepared(items)

    def compute(self, prepared: Prepared) -> Surprisals:
        self.computed += prepared.items
        each = [[_surprisal(word) for word in _WORD.findall(item)] for item in prepared.items]
        bounds = np.cumsum([0, *map(len, each)])
        return Surprisals(np.array([nats for row in each for nats in row]), bounds)

    def summarise(self, surprisals: Surprisals) -> Measured:
        rows = [surprisals.of(item) for item in range(len(surprisals.bounds) - 1)]
        values = [[row.mean(), row.max(), row.sum()] for row in rows]
        return Measured(np.array(values), np.diff(surprisals.bounds))

    def measure(self, items: Sequence[str]) -> Measured:
        return self.summarise(self.compute(Prepared(items)))

    def spans(self, item: str) -> list[tuple[int, int]]:
        return [match.span() for match in _WORD.finditer(item)]


def _surprisal(word: str) -> float:
    """Between 0 and 16 nats, of single precision as the device gives it."""
    return float(np.float32(int.from_bytes(blake2b(word.encode(), digest_size=4).digest()) / 2**28))


class ManifestStandIn(msgspec.Struct, frozen=True):
    name: str


class StoredStandIn(NamedTuple):
    """What a model directory gives, without one."""

    fitted: FittedModel
    normalizer: Normalizer
    manifest: ManifestStandIn
    version: str
    language_model: LanguageModelStandIn


def words(seed: int, count: int) -> list[str]:
    pick = random.Random(seed)
    return ["".join(pick.choices(_SYLLABLES, k=3)) for _ in range(count)]


def messages(seed: int, count: int) -> list[str]:
    """Different texts, some longer than others."""
    pick = random.Random(seed)
    texts = {
        f"{pick.choice(['error', 'info'])} {' '.join(words(pick.randrange(2**32), 4 + pick.randrange(9)))}": 0
        for _ in range(count)
    }
    assert len(texts) == count
    return list(texts)


def events(seed: int, count: int) -> list[Event]:
    return [Event(message=message) for message in messages(seed, count)]


def fit_standin() -> StoredStandIn:
    """Novelty, severity and calibration are the real ones."""
    normalizer, tally, model = Normalizer(Masks()), Tally(1_000), LanguageModelStandIn()
    for message in messages(1, 200):
        tally.add(normalizer.model_input(None, message))
    fitted = fit(tally, [model, Novelty(), Severity()], FitOptions(blocks=2))
    return StoredStandIn(fitted, normalizer, ManifestStandIn("stand-in"), "0123456789abcdef", model)

"""What the words of a text say about themselves: the only part that needs no learning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from consumer.errors import Misconfigured
from consumer.scoring.parts import Arrays, Facts, FitTask, FittedPart, Measured
from consumer.scoring.severity_words import Words, shipped_words

NAME = "severity"
_HEAVIEST = 3
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # also the words inside NullPointerException


class Severity:
    """The part before fitting. `words`: another list than the shipped one."""

    name = NAME

    def __init__(self, words: Words | None = None) -> None:
        self._words = words

    def fit(self, task: FitTask) -> FittedPart:  # noqa: ARG002 -- the signature is Part's
        return FittedSeverity(shipped_words() if self._words is None else self._words)

    def load(self, arrays: Arrays, facts: Facts) -> FittedPart:  # noqa: ARG002 -- the signature is Part's
        weights, whole = facts.get("weights"), facts.get("whole", [])
        if not isinstance(weights, Mapping) or not isinstance(whole, Sequence):
            raise Misconfigured([f"{NAME}: the model has no word weights; fit it again"])
        read = {str(word): float(weight) for word, weight in weights.items()}
        return FittedSeverity(Words(read, frozenset(map(str, whole))))


class FittedSeverity:
    """Statistic: the sum of the weights of the three heaviest different stems of a text."""

    name = NAME
    statistics = ("heaviest_words",)
    hint: object | None = None

    def __init__(self, words: Words) -> None:
        self._weights = dict(words.weights)
        self._whole = words.whole
        self._lengths = sorted({len(stem) for stem in words.weights}, reverse=True)

    def measure(self, items: Sequence[str]) -> Measured:
        values = [[self._heaviest(item)] for item in items]
        return Measured(np.array(values, np.float64).reshape(len(items), 1), np.zeros(len(items), np.int64))

    def save(self) -> tuple[Arrays, Facts]:
        return {}, {"weights": dict(self._weights), "whole": sorted(self._whole)}

    def _heaviest(self, item: str) -> float:
        stems = {self._stem(word.lower()) for word in set(_WORD.findall(item))}
        found = sorted((self._weights[stem] for stem in stems if stem), reverse=True)
        return sum(found[:_HEAVIEST])

    def _stem(self, word: str) -> str:
        """The longest stem that `word` starts with, or nothing."""
        return next((word[:n] for n in self._lengths if self._fits(word, n)), "")

    def _fits(self, word: str, length: int) -> bool:
        stem = word[:length]
        return stem in self._weights and (stem not in self._whole or stem == word)

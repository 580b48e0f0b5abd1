"""How little of a text was seen before: rare tokens, rare neighbours, no similar text."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from consumer.errors import Misconfigured
from consumer.scoring.neighbours import Neighbours
from consumer.scoring.parts import Arrays, Facts, FitTask, FittedPart, Measured

NAME = "novelty"
MAX_TOKENS = 100_000
MAX_PAIRS = 400_000
MAX_REFERENCES = 20_000
_RAREST = 3
_BACK_OFF = 1.0  # weight of the single-token distribution in that of the pairs
_EDGE = "\n"  # stands before the first and after the last token; no normalised text holds one
_TOKEN = re.compile(r"<[a-z0-9_-]{1,16}>|\w+|[^\w\s]")
_Key = TypeVar("_Key", str, tuple[str, str])


def tokens(item: str) -> list[str]:
    """Words, masks and single marks."""
    return _TOKEN.findall(item)


class Novelty:
    """The part before fitting; nothing to set."""

    name = NAME

    def fit(self, task: FitTask) -> FittedPart:
        """Counts over distinct items: how often one of them was repeated is the record's business."""
        single: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for done, item in enumerate(task.items):
            chain = [_EDGE, *tokens(item), _EDGE]
            single.update(chain[1:])
            pairs.update(itertools.pairwise(chain))
            if done % 1_000 == 0:
                task.progress(NAME, done, len(task.items))
        references = _references(task.items, task.counts)
        return FittedNovelty(_top(single, MAX_TOKENS), _top(pairs, MAX_PAIRS), references)

    def load(self, arrays: Arrays, facts: Facts) -> FittedPart:  # noqa: ARG002 -- the signature is Part's
        try:
            words = _lines(arrays["tokens"])
            counts = arrays["token_counts"].tolist()  # the last one is that of the ends of texts
            single = dict(zip([*words, _EDGE], counts, strict=True))
            codes = zip(arrays["pairs"].tolist(), arrays["pair_counts"].tolist(), strict=True)
            pairs = {(_word(words, a), _word(words, b)): int(n) for (a, b), n in codes}
            return FittedNovelty(single, pairs, _lines(arrays["references"]))
        except (KeyError, ValueError, IndexError) as error:
            raise Misconfigured([f"{NAME}: damaged arrays ({error}); fit the model again"]) from error


class FittedNovelty:
    """Statistics: mean surprise -ln(count + 1/2) of the three rarest tokens, mean and sum of the
    surprise of each token after the one before it, distance to the most similar normal item."""

    name = NAME
    statistics = ("rarest_tokens", "pairs_mean", "pairs_sum", "distance")
    hint: object | None = None

    def __init__(
        self, single: dict[str, int], pairs: dict[tuple[str, str], int], references: Sequence[str]
    ) -> None:
        self._single = single
        self._pairs = pairs
        self._references = tuple(references)
        self._near = Neighbours(self._references)
        self._total = sum(single.values())
        self._before: Counter[str] = Counter()
        for (first, _), count in pairs.items():
            self._before[first] += count

    def measure(self, items: Sequence[str]) -> Measured:
        values = np.zeros((len(items), len(self.statistics)))
        for row, item in enumerate(items):
            values[row, :3] = self._counts_of(tokens(item))
        values[:, 3] = self._near.distances(items)
        return Measured(values, np.zeros(len(items), np.int64))

    def save(self) -> tuple[Arrays, Facts]:
        words = [word for word in self._single if word != _EDGE]
        at = {word: code for code, word in enumerate(words)} | {_EDGE: -1}
        kept = [(pair, n) for pair, n in self._pairs.items() if pair[0] in at and pair[1] in at]
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "tokens": _bytes(words),
            "token_counts": np.array([self._single.get(word, 0) for word in [*words, _EDGE]], np.int64),
            "pairs": np.array([(at[a], at[b]) for (a, b), _ in kept], np.int32).reshape(len(kept), 2),
            "pair_counts": np.array([n for _, n in kept], np.int64),
            "references": _bytes(self._references),
        }
        return arrays, {"tokens": len(words), "pairs": len(kept), "references": len(self._references)}

    def _counts_of(self, words: list[str]) -> tuple[float, float, float]:
        rare = sorted((-math.log(self._single.get(word, 0) + 0.5) for word in words), reverse=True)[:_RAREST]
        steps = [self._step(a, b) for a, b in itertools.pairwise([_EDGE, *words, _EDGE])]
        return sum(rare) / max(len(rare), 1), sum(steps) / len(steps), sum(steps)

    def _step(self, first: str, second: str) -> float:
        """-ln p(second | first), backing off to how common `second` is at all."""
        alone = (self._single.get(second, 0) + 0.5) / (self._total + 0.5 * (len(self._single) + 1))
        seen = self._pairs.get((first, second), 0)
        return -math.log((seen + _BACK_OFF * alone) / (self._before[first] + _BACK_OFF))


def _top(counts: Counter[_Key], limit: int) -> dict[_Key, int]:
    """The `limit` most common; of equals those seen first."""
    return dict(counts.most_common(limit))


def _references(items: Sequence[str], counts: Sequence[int]) -> list[str]:
    """All items, or the most common of them, in their order."""
    if len(items) <= MAX_REFERENCES:
        return list(items)
    order = np.argsort(-np.asarray(counts), kind="stable")[:MAX_REFERENCES]
    return [items[i] for i in np.sort(order)]


def _word(words: Sequence[str], code: int) -> str:
    return _EDGE if code < 0 else words[code]


def _bytes(lines: Sequence[str]) -> npt.NDArray[np.generic]:
    """Text for an array; no normalised text holds a line end."""
    return np.frombuffer("\n".join(lines).encode(), np.uint8).copy()


def _lines(array: npt.NDArray[np.generic]) -> list[str]:
    text = array.tobytes().decode()
    return text.split("\n") if text else []

"""The most similar of many texts, by cosine of TF-IDF weights of runs of three characters."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_RUN = 3


class _Row(NamedTuple):
    """Where the texts that hold a run stand in the index, and how much the run weighs."""

    span: slice
    idf: float


class Neighbours:
    """An inverted index over `texts`. tf = ln(1 + occurrences), idf = 1 + ln((n + 1)/(df + 1)).

    Memory: eight bytes for each different run of each text.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._n = len(texts)
        lists: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, text in enumerate(texts):
            for run, count in _runs(text).items():
                lists[run].append((at, math.log1p(count)))
        sizes = [len(postings) for postings in lists.values()]
        starts = itertools.accumulate(sizes, initial=0)
        self._rows = {
            run: _Row(slice(start, start + size), self._idf(size))
            for run, start, size in zip(lists, starts, sizes, strict=False)
        }
        self._unseen = self._idf(0)
        flat = [posting for postings in lists.values() for posting in postings]
        self._texts = np.array([at for at, _ in flat], np.int32)
        self._weights = self._scaled(np.array([tf for _, tf in flat], np.float64), sizes)

    def distance(self, text: str) -> float:
        """1 - cosine to the nearest text: 0 for one that is there, 1 when nothing is shared."""
        squares = 0.0
        spans: list[slice] = []
        weights: list[float] = []
        for run, count in _runs(text).items():
            row = self._rows.get(run)
            weight = math.log1p(count) * (self._unseen if row is None else row.idf)
            squares += weight * weight
            if row is not None:
                spans.append(row.span)
                weights.append(weight)
        if not spans:
            return 1.0
        products = np.concatenate([self._weights[s] * w for s, w in zip(spans, weights, strict=True)])
        sums = np.bincount(np.concatenate([self._texts[s] for s in spans]), weights=products)
        return max(0.0, 1.0 - float(sums.max()) / math.sqrt(squares))

    def _idf(self, df: int) -> float:
        return 1.0 + math.log((self._n + 1) / (df + 1))

    def _scaled(self, tf: npt.NDArray[np.float64], sizes: Sequence[int]) -> npt.NDArray[np.float32]:
        """tf idf, each text scaled to length 1."""
        weights = tf * np.repeat([row.idf for row in self._rows.values()], sizes)
        norms = np.sqrt(np.bincount(self._texts, weights=weights * weights, minlength=self._n))
        scaled: npt.NDArray[np.float32] = (weights / norms[self._texts]).astype(np.float32)
        return scaled


def _runs(text: str) -> Counter[str]:
    """Runs of three characters; the ends of the text count as a character."""
    framed = f"\n{text}\n"
    return Counter(framed[i : i + _RUN] for i in range(len(framed) - _RUN + 1))

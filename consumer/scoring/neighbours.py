"""The most similar of many texts, by cosine of TF-IDF weights of runs of three characters."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_RUN = 3


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
        self._rows: dict[str, int] = {run: row for row, run in enumerate(lists)}
        sizes = [len(postings) for postings in lists.values()]
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        flat = [posting for postings in lists.values() for posting in postings]
        self._texts = np.array([at for at, _ in flat], np.int32)
        self._weights = self._scaled(np.array([tf for _, tf in flat], np.float64), np.array(sizes, np.int64))

    def distance(self, text: str) -> float:
        """1 - cosine to the nearest text: 0 for one that is there, 1 when nothing is shared."""
        runs = _runs(text)
        weights = {run: math.log1p(count) * self._idf(run) for run, count in runs.items()}
        norm = math.sqrt(sum(weight * weight for weight in weights.values()))
        rows = [(self._rows[run], weight) for run, weight in weights.items() if run in self._rows]
        if not rows or norm == 0.0:
            return 1.0
        spans = [slice(self._starts[row], self._starts[row + 1]) for row, _ in rows]
        products = np.concatenate([self._weights[s] * w for s, (_, w) in zip(spans, rows, strict=True)])
        sums = np.bincount(np.concatenate([self._texts[s] for s in spans]), weights=products)
        return max(0.0, 1.0 - float(sums.max()) / norm)

    def _idf(self, run: str) -> float:
        row = self._rows.get(run)
        df = 0 if row is None else int(self._starts[row + 1] - self._starts[row])
        return 1.0 + math.log((self._n + 1) / (df + 1))

    def _scaled(self, tf: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """tf idf, each text scaled to length 1."""
        weights = tf * np.repeat(1.0 + np.log((self._n + 1) / (sizes + 1)), sizes)
        norms = np.sqrt(np.bincount(self._texts, weights=weights * weights, minlength=self._n))
        return (weights / norms[self._texts]).astype(np.float32)


def _runs(text: str) -> Counter[str]:
    """Runs of three characters; the ends of the text count as a character."""
    framed = f"\n{text}\n"
    return Counter(framed[i : i + _RUN] for i in range(len(framed) - _RUN + 1))

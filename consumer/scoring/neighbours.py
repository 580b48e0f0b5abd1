"""The most similar of many texts, by cosine of TF-IDF weights of runs of three characters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from consumer.packing import ranges
from consumer.scoring.parts import Floats, Integers

_CHARACTER = 21  # bits that hold any code point; three of them fit 64
_AT_ONCE = 1 << 16  # entries of the index, or sums and characters, that are worked on together


class _Runs(NamedTuple):
    """The different runs of several texts, text by text in the order in which they first occur."""

    owners: Integers  # whose run it is
    codes: Integers  # its three characters in one number
    counts: Integers  # how often it occurs in the text


class Neighbours:
    """An inverted index over `texts`. tf = ln(1 + occurrences), idf = 1 + ln((n + 1)/(df + 1)).

    Memory: eight bytes for each different run of each text, and 32 for each different run of all.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._n = len(texts)
        runs = _runs(texts)
        self._codes, first, row, df = np.unique(
            runs.codes, return_index=True, return_inverse=True, return_counts=True
        )
        self._sizes = np.append(df, 0)  # the last row is that of every run which no text here has
        self._starts = np.zeros(len(df) + 1, np.int64)
        by_sight = np.argsort(first)
        self._starts[by_sight] = np.cumsum(df[by_sight]) - df[by_sight]
        self._idf = _mapped(self._idf_of, self._sizes)
        order = np.argsort(first[row], kind="stable")
        owners, tf_idf = runs.owners[order], (_mapped(math.log1p, runs.counts) * self._idf[row])[order]
        norms = np.sqrt(np.bincount(owners, tf_idf * tf_idf, self._n))
        self._texts = owners.astype(np.int32)
        self._weights = (tf_idf / norms[owners]).astype(np.float32)

    def distances(self, texts: Sequence[str]) -> Floats:
        """1 - cosine of each text to the nearest: 0 for one that is there, 1 when nothing is shared. Does
        not depend on the texts beside it. Takes a few MiB for a while."""
        sizes = np.array([self._n + len(text) for text in texts], np.int64)
        found = [self._distances(texts[piece]) for piece in _pieces(sizes)]
        return np.concatenate(found)

    def _distances(self, texts: Sequence[str]) -> Floats:
        runs = _runs(texts)
        rows = self._rows(runs.codes)
        weights = _mapped(math.log1p, runs.counts) * self._idf[rows]
        norms = np.sqrt(np.bincount(runs.owners, weights * weights, len(texts)))
        products = (
            self._products(runs.owners[piece], rows[piece], weights[piece], len(texts))
            for piece in _pieces(self._sizes[rows])
        )
        nearest = functools.reduce(np.add, products).max(axis=1, initial=0.0)
        cosines = np.divide(nearest, norms, out=np.zeros(len(texts)), where=norms > 0)
        distances: Floats = np.maximum(0.0, 1.0 - cosines)
        return distances

    def _rows(self, codes: Integers) -> Integers:
        """Where each run stands in the index."""
        unknown = len(self._codes)
        if unknown == 0:
            return np.zeros(len(codes), np.int64)
        rows = np.searchsorted(self._codes, codes)
        rows[self._codes[np.minimum(rows, unknown - 1)] != codes] = unknown
        return rows

    def _products(self, owners: Integers, rows: Integers, weights: Floats, count: int) -> Floats:
        """[count, n]: of each asked text with each text of the index."""
        sizes = self._sizes[rows]
        entries = ranges(self._starts[rows], sizes)
        products = self._weights[entries] * np.repeat(weights.astype(np.float32), sizes)
        cells = self._texts[entries] + np.repeat(owners * self._n, sizes)
        return (
            np.bincount(cells, products, count * self._n)
            .reshape(count, self._n)
            .astype(np.float64, copy=False)
        )

    def _idf_of(self, df: int) -> float:
        return 1.0 + math.log((self._n + 1) / (df + 1))


def _runs(texts: Sequence[str]) -> _Runs:
    """Runs of three characters; the ends of a text count as a character."""
    lengths = np.array([len(text) + 1 for text in texts], np.int64)
    joined = "\n".join(["", *texts, ""]).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(joined, np.uint32).astype(np.int64)
    codes = (points[:-2] << 2 * _CHARACTER) | (points[1:-1] << _CHARACTER) | points[2:]
    owners = np.repeat(np.arange(len(texts)), lengths)
    inside = np.diff(owners) == 0  # else the run reaches into the next text
    return _counted(owners[:-1][inside], codes[inside])


def _counted(owners: Integers, codes: Integers) -> _Runs:
    """Each pair of them once."""
    distinct, rank = np.unique(codes, return_inverse=True)
    _, first, counts = np.unique(owners * len(distinct) + rank, return_index=True, return_counts=True)
    order = np.argsort(first)
    first = first[order]
    return _Runs(owners[first], codes[first], counts[order])


def _mapped(function: Callable[[int], float], numbers: Integers) -> Floats:
    """`function` of each; numpy's own logarithms differ in the last bit from machine to machine."""
    distinct, inverse = np.unique(numbers, return_inverse=True)
    return np.array([function(number) for number in distinct.tolist()], np.float64)[inverse]


def _pieces(sizes: Integers) -> Iterator[slice]:
    """Stretches, at least one, that come to about _AT_ONCE each, in order."""
    ends = np.cumsum(sizes)
    start = 0
    while True:
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + _AT_ONCE)))
        yield slice(start, end)
        if end >= len(sizes):
            return
        start = end

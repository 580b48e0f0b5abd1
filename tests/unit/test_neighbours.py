"""The nearest of many texts: as by comparing with each, to the last bit, whatever is asked together."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.scoring import neighbours
from consumer.scoring.neighbours import Neighbours

TEXTS = ["user <n> logged in", "user <n> logged out", "disk <n> % full", "job <id> done in <n> ms", "link up"]
_WORDS = st.sampled_from(
    ["user ", "<n> ", "logged ", "aaaa", "ab", "\u4e2d\u6587", "\U0010ffff", "\ud800", "x\ny"]
)
ANY_TEXT = st.lists(_WORDS | st.text(max_size=3), max_size=12).map("".join) | st.text(max_size=2)


class Plain:
    """The same search with a dict and loops; single precision where the index has it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._n = len(texts)
        found: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for at, text in enumerate(texts):
            for run, count in _runs(text).items():
                found[run][at] = math.log1p(count)
        squares = [0.0] * self._n
        for holders in found.values():
            for at, tf in holders.items():
                weight = tf * self._idf(len(holders))
                squares[at] += weight * weight
        self._weights = {
            run: {
                at: np.float32(tf * self._idf(len(holders)) / math.sqrt(squares[at]))
                for at, tf in holders.items()
            }
            for run, holders in found.items()
        }

    def distance(self, text: str) -> float:
        squares, sums = 0.0, [0.0] * self._n
        for run, count in _runs(text).items():
            holders = self._weights.get(run, {})
            weight = math.log1p(count) * self._idf(len(holders))
            squares += weight * weight
            for at, other in holders.items():
                sums[at] += float(other * np.float32(weight))
        return max(0.0, 1.0 - max(sums, default=0.0) / math.sqrt(squares)) if squares else 1.0

    def _idf(self, df: int) -> float:
        return 1.0 + math.log((self._n + 1) / (df + 1))


def _runs(text: str) -> Counter[str]:
    framed = f"\n{text}\n"
    return Counter(framed[at : at + 3] for at in range(len(text)))


def distances(texts: Sequence[str], asked: Sequence[str]) -> list[float]:
    found: list[float] = Neighbours(texts).distances(asked).tolist()
    return found


@settings(deadline=None, max_examples=150)
@given(st.lists(ANY_TEXT, max_size=8), st.lists(ANY_TEXT, max_size=8))
def test_distances_are_those_of_a_plain_search_to_the_last_bit(texts: list[str], asked: list[str]) -> None:
    plain = Plain(texts)
    assert distances(texts, asked + texts) == [plain.distance(text) for text in asked + texts]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_distances_do_not_depend_on_how_much_is_worked_on_together(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["user <n> logged on", "", "disk", "d", "job <id> is full", *TEXTS, "\u4e2d"]
    together = distances(TEXTS, asked)
    monkeypatch.setattr(neighbours, "_AT_ONCE", at_once)
    assert distances(TEXTS, asked) == together == [distances(TEXTS, [text])[0] for text in asked]


def test_long_texts_are_compared_exactly_too() -> None:
    letters = np.random.default_rng(7).integers(97, 123, (4, 8_000), np.uint8)
    texts = [bytes(row).decode() for row in letters]
    texts += ["ab" * 10_000]
    asked = [texts[0][:6_000] + texts[1], "ab" * 8_000 + "c", texts[2][::-1]]
    plain = Plain(texts)
    assert distances(texts, asked) == [plain.distance(text) for text in asked]


def test_distance_is_zero_for_a_text_of_the_index_and_one_for_a_stranger() -> None:
    assert distances(TEXTS, TEXTS) == pytest.approx([0.0] * len(TEXTS), abs=1e-6)
    assert distances(TEXTS, ["\u4e2d\u6587\u65e5\u8a8e"]) == [1.0]
    assert 0.05 < distances(TEXTS, ["user <n> logged on"])[0] < 0.6


def test_everything_is_far_from_an_empty_index_and_an_empty_text_from_everything() -> None:
    assert distances([], ["", "a", "user <n>"]) == [1.0, 1.0, 1.0]
    assert distances([""], ["", "a"]) == [1.0, 1.0]
    assert distances(TEXTS, [""]) == [1.0]
    assert distances(TEXTS, []) == []


def test_the_nearest_text_is_found_as_by_comparing_dense_vectors() -> None:
    query = "disk <n> done up"
    runs = [list(_runs(text).elements()) for text in [*TEXTS, query]]
    names = sorted({run for each in runs for run in each})
    df = np.array([sum(run in each for each in runs[:-1]) for run in names])
    tf = np.log1p(np.array([[each.count(run) for run in names] for each in runs]))
    vectors = tf * (1 + np.log((len(TEXTS) + 1) / (df + 1)))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = float((vectors[:-1] @ vectors[-1]).max())
    assert distances(TEXTS, [query]) == [pytest.approx(1 - nearest, abs=1e-6)]

"""Rarity of tokens, of their neighbours, and distance to the nearest normal text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.errors import Misconfigured
from consumer.scoring import novelty
from consumer.scoring.novelty import Novelty, tokens
from consumer.scoring.parts import FitTask, FittedPart

ITEMS = ["user <n> logged in", "user <n> logged out", "disk <n> % full", "job <id> done in <n> ms", "link up"]
TEXTS = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=30)


def fitted(items: list[str]) -> FittedPart:
    return Novelty().fit(FitTask(items, [1] * len(items)))


def row(part: FittedPart, item: str) -> dict[str, float]:
    return dict(zip(part.statistics, part.measure([item]).values[0].tolist(), strict=True))


def test_masks_words_and_marks_are_tokens() -> None:
    assert tokens("a_b <ip>: 'x'='y' <b>") == ["a_b", "<ip>", ":", "'", "x", "'", "=", "'", "y", "'", "<b>"]


def test_unseen_tokens_surprise_by_the_same_amount_however_large_the_fit() -> None:
    small, large = fitted(ITEMS), fitted(ITEMS * 50)
    assert row(small, "qux quux quuz")["rarest_tokens"] == -math.log(0.5)
    assert row(large, "qux quux quuz")["rarest_tokens"] == -math.log(0.5)


def test_the_three_rarest_tokens_count() -> None:
    part = fitted(["a a a a", "b b", "c", "d"])
    assert row(part, "a a a b c d")["rarest_tokens"] == pytest.approx(
        -(2 * math.log(1.5) + math.log(2.5)) / 3
    )


def test_known_words_in_another_order_are_odder_as_pairs_and_not_as_words() -> None:
    part = fitted(ITEMS)
    right, wrong = row(part, "user <n> logged in"), row(part, "logged user in <n>")
    assert wrong["rarest_tokens"] == right["rarest_tokens"]
    assert wrong["pairs_mean"] > right["pairs_mean"] + 1
    assert wrong["pairs_sum"] > right["pairs_sum"]


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), TEXTS)
def test_pair_probabilities_after_any_token_sum_to_at_most_one(items: list[str], first: str) -> None:
    part = fitted(items)
    words = {word for item in items for word in tokens(item)} | {"\n"}
    start = (tokens(first) or ["?"])[0]
    total = sum(math.exp(-part._step(start, word)) for word in words)  # type: ignore[attr-defined]
    assert total <= 1 + 1e-9


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), TEXTS)
def test_all_statistics_are_finite_for_any_text(items: list[str], item: str) -> None:
    assert np.isfinite(fitted(items).measure([item, ""]).values).all()


def test_a_value_does_not_depend_on_the_neighbours_in_its_batch() -> None:
    part, items = fitted(ITEMS), ["link down", "user <n> logged in", "kernel panic"]
    alone = np.concatenate([part.measure([item]).values for item in items])
    assert np.array_equal(part.measure(items).values, alone)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), TEXTS)
def test_what_is_saved_measures_the_same(items: list[str], item: str) -> None:
    part = fitted(items)
    again = Novelty().load(*part.save())
    assert np.array_equal(again.measure([item, *items]).values, part.measure([item, *items]).values)


def test_tables_stay_within_their_limits_and_keep_the_most_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(novelty, "MAX_TOKENS", 3)
    monkeypatch.setattr(novelty, "MAX_PAIRS", 4)
    monkeypatch.setattr(novelty, "MAX_REFERENCES", 2)
    part = Novelty().fit(FitTask(ITEMS, [1, 5, 1, 9, 1]))
    arrays, facts = part.save()
    assert facts["references"] == 2
    assert bytes(arrays["references"]).decode().split("\n") == [ITEMS[1], ITEMS[3]]
    assert len(arrays["token_counts"]) <= 4
    assert len(arrays["pairs"]) <= 4
    assert np.isfinite(part.measure(ITEMS).values).all()


def test_damaged_arrays_are_refused() -> None:
    arrays, facts = fitted(ITEMS).save()
    for damaged in (
        {},
        {**arrays, "pairs": arrays["pairs"] + 10_000},
        {**arrays, "token_counts": arrays["pair_counts"][:1]},
    ):
        with pytest.raises(Misconfigured, match="novelty"):
            Novelty().load(damaged, facts)

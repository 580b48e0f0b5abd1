"""A model without one of its parts is the model that the other parts alone would have given."""

from __future__ import annotations

import numpy as np
import pytest

from consumer.calibration import threshold_for
from consumer.errors import Misconfigured
from consumer.scoring.ablation import rest, without
from consumer.scoring.fit import fit
from consumer.scoring.judge import load_model
from consumer.scoring.novelty import Novelty
from consumer.scoring.severity import Severity
from tests.unit.test_fit_core import normal_items, tallied

RATE = threshold_for(0.01)
ITEMS = [*normal_items(120)[90:], "kernel panic: fatal exception", "opened by nobody"]


def test_without_a_part_verdicts_are_those_of_a_model_that_never_had_it() -> None:
    tally = tallied(normal_items(100), [1 + i % 3 for i in range(100)])
    whole, alone = fit(tally, [Novelty(), Severity()]), fit(tally, [Novelty()])
    reduced = without(whole, 1)
    assert reduced.part_names == ("novelty",)
    for a, b in zip(reduced.judge(ITEMS, RATE), alone.judge(ITEMS, RATE), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    assert not np.array_equal(whole.judge(ITEMS, RATE).scores, alone.judge(ITEMS, RATE).scores)


def test_what_it_takes_is_stored_with_the_model() -> None:
    parts = [Novelty(), Severity()]
    model = fit(tallied(normal_items(30)), parts)
    loaded = load_model(model.save(), parts)
    for number in (0, 1):
        scores = [without(each, number).judge(ITEMS, RATE).scores for each in (model, loaded)]
        assert np.array_equal(*scores)


def test_values_measured_once_serve_the_whole_model_and_the_reduced_ones() -> None:
    model = fit(tallied(normal_items(30)), [Novelty(), Severity()])
    counts = [model.known.count(item) for item in ITEMS]
    measured = model.measure([item for item, count in zip(ITEMS, counts, strict=True) if count is None])
    reduced = without(model, 0)
    scores = reduced.judge_all(counts, rest(measured, 0), RATE).scores
    assert np.array_equal(scores, reduced.judge(ITEMS, RATE).scores)


def test_a_model_without_stored_values_or_with_one_part_only_is_refused() -> None:
    parts = [Novelty(), Severity()]
    sections = fit(tallied(normal_items(30)), parts).save()
    del sections["evidence"]
    with pytest.raises(Misconfigured, match="fit it again"):
        without(load_model(sections, parts), 0)
    with pytest.raises(Misconfigured, match="beside novelty"):
        without(fit(tallied(normal_items(30)), [Novelty()]), 0)


def test_damaged_values_are_refused() -> None:
    parts = [Novelty(), Severity()]
    sections = fit(tallied(normal_items(30)), parts).save()
    arrays, facts = sections["evidence"]
    for damaged in (
        {name: array for name, array in arrays.items() if name != "1.lengths"},
        {**arrays, "1.values": arrays["1.values"][:3]},
    ):
        with pytest.raises(Misconfigured, match="evidence: damaged"):
            load_model({**sections, "evidence": (damaged, facts)}, parts)

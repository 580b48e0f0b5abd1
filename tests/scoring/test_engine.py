"""The engine survives a device without memory, and gives each token the same surprisal all the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GPT2LMHeadModel

from consumer.errors import Misconfigured, ScorerFailed
from consumer.packing import Packed, Windowing, pack, unpack
from consumer.planning import Cost
from consumer.scoring.engine import Engine, choose_device
from consumer.scoring.training import Shape, new_model

pytestmark = pytest.mark.torch
CPU = torch.device("cpu")
MARK = 511


class _SmallDevice(torch.nn.Module):
    """Stands in for a device whose memory holds so many places of a batch."""

    def __init__(self, model: GPT2LMHeadModel, places: int) -> None:
        super().__init__()
        self.model = model
        self.places = places
        self.failed: list[int] = []

    def forward(self, input_ids: torch.Tensor, **given: object) -> object:
        if input_ids.numel() > self.places:
            self.failed.append(input_ids.numel())
            raise torch.cuda.OutOfMemoryError("CUDA out of memory (stand-in)")
        return self.model(input_ids=input_ids, **given)


@pytest.fixture(scope="module")
def model() -> GPT2LMHeadModel:
    return new_model(Shape(MARK + 1, 64, 64), seed=3)


@pytest.fixture(scope="module")
def packed() -> Packed:
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, MARK, rng.integers(1, 90)).tolist() for _ in range(30)]
    return pack(texts, MARK, Windowing(64, 16))


def _values(engine: Engine, packed: Packed) -> np.ndarray:
    return unpack(packed, engine.run(engine.plan(packed)))


def test_out_of_memory_halves_the_device_batch_and_loses_nothing(
    model: GPT2LMHeadModel, packed: Packed
) -> None:
    small = Engine(_SmallDevice(model, 300), CPU, 2_048)  # type: ignore[arg-type]
    np.testing.assert_allclose(_values(small, packed), _values(Engine(model, CPU, 2_048), packed), atol=1e-4)
    assert small.halvings > 0


def test_the_size_that_failed_is_remembered(model: GPT2LMHeadModel, packed: Packed) -> None:
    device = _SmallDevice(model, 300)
    engine = Engine(device, CPU, 2_048)  # type: ignore[arg-type]
    _values(engine, packed)
    assert engine.budget <= 512
    device.failed.clear()
    engine.budget = min(engine.budget, 300)
    _values(engine, packed)
    assert device.failed == []


def test_a_device_that_cannot_hold_one_row_fails_the_batch(model: GPT2LMHeadModel, packed: Packed) -> None:
    with pytest.raises(ScorerFailed, match="one row"):
        _values(Engine(_SmallDevice(model, 10), CPU, 2_048), packed)  # type: ignore[arg-type]


def test_warming_up_finds_the_largest_batch_that_fits(model: GPT2LMHeadModel) -> None:
    engine = Engine(_SmallDevice(model, 700), CPU, 2_048)  # type: ignore[arg-type]
    engine.warm_up(64)
    assert engine.budget <= 1_024


def test_padding_and_neighbours_do_not_change_a_surprisal(model: GPT2LMHeadModel, packed: Packed) -> None:
    together = _values(Engine(model, CPU, 4_096), packed)
    alone = _values(Engine(model, CPU, 1), packed)
    np.testing.assert_allclose(together, alone, atol=1e-4)


# Ids that come again and again, so that texts begin alike; some long enough for several windows.
alike = st.lists(
    st.tuples(st.integers(0, 80), st.lists(st.integers(0, 2), max_size=40)).map(lambda t: [7] * t[0] + t[1]),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(alike, st.permutations(range(12)), st.integers(1, 1_000))
def test_trees_give_the_surprisals_of_each_text_alone_in_any_company(
    model: GPT2LMHeadModel, texts: list[list[int]], order: list[int], budget: int
) -> None:
    """I9"""
    shuffled = [texts[i] for i in order if i < len(texts)]
    packed = pack(shuffled, MARK, Windowing(64, 16))
    always = Cost(forward=1_000.0, attention=0.0)
    together, chosen, without = (
        _values(Engine(model, CPU, budget, cost), packed) for cost in (always, Cost(), None)
    )
    alone = [
        _values(Engine(model, CPU, 2_048, None), pack([text], MARK, Windowing(64, 16))) for text in shuffled
    ]
    for values in (together, chosen, without):
        np.testing.assert_allclose(values, np.concatenate(alone), atol=1e-4)


def test_memory_that_runs_out_on_a_tree_row_splits_its_texts(model: GPT2LMHeadModel) -> None:
    packed = pack([[1] * 30 + [n] * 20 for n in range(30)], MARK, Windowing(64, 16))
    device = _SmallDevice(model, 100)
    engine = Engine(device, CPU, 2_048, Cost(attention=0.0))  # type: ignore[arg-type]
    expected = _values(Engine(model, CPU, 2_048, None), packed)
    np.testing.assert_allclose(_values(engine, packed), expected, atol=1e-4)
    assert engine.halvings > 0
    device.failed.clear()
    engine.budget = min(engine.budget, 100)
    _values(engine, packed)
    assert device.failed == []


def test_a_window_scores_as_if_its_context_were_all_there_is(model: GPT2LMHeadModel) -> None:
    ids = np.random.default_rng(1).integers(0, MARK, 100).tolist()
    whole = pack([ids], MARK, Windowing(64, 16))
    values = _values(Engine(model, CPU, 2_048), whole)
    start, first, stop = whole.rows[1].tolist()
    inputs = torch.tensor([whole.ids[start : stop - 1].tolist()])
    with torch.inference_mode():
        logits = model(input_ids=inputs).logits[0].log_softmax(-1)
    by_hand = [-float(logits[p - 1 - start, whole.ids[p]]) for p in range(first, stop)]
    np.testing.assert_allclose(values[first:stop], by_hand, atol=1e-4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_asking_for_cuda_where_there_is_none_names_the_setting() -> None:
    with pytest.raises(Misconfigured, match=r"scoring\.device"):
        choose_device("cuda")
    assert choose_device("auto") == CPU

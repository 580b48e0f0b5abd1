"""On a CUDA device the scores are those of the CPU, and running out of memory is survived."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from consumer.packing import Packed, Windowing, pack, unpack
from consumer.scoring.engine import Engine, choose_device
from consumer.scoring.language_model import LanguageModel
from consumer.scoring.parts import FitTask
from consumer.scoring.training import Shape, new_model

MARK = 511
ITEMS = [f"<info> {a} {b} <n>" for a in ("open", "close", "read", "write") for b in ("disk", "port", "log")]


@pytest.fixture
def packed() -> Packed:
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, MARK, rng.integers(1, 600)).tolist() for _ in range(300)]
    return pack(texts, MARK, Windowing())


def _values(device: str, packed: Packed, budget: int) -> np.ndarray:
    engine = Engine(new_model(Shape(MARK + 1, 256, 128), seed=3), torch.device(device), budget)
    return unpack(packed, engine.run(engine.plan(packed)))


def test_auto_takes_the_cuda_device() -> None:
    assert choose_device("auto").type == choose_device("cuda").type == "cuda"
    assert choose_device("cpu").type == "cpu"


@pytest.mark.parametrize("budget", [512, 2_048, 65_536])
def test_the_device_gives_the_surprisals_of_the_cpu(packed: Packed, budget: int) -> None:
    np.testing.assert_allclose(_values("cuda", packed, budget), _values("cpu", packed, 2_048), atol=1e-3)


def test_a_model_learnt_on_the_device_measures_the_same_on_the_cpu() -> None:
    fitted = LanguageModel("cuda").fit(FitTask(ITEMS, [1] * len(ITEMS)))
    on_cpu = LanguageModel("cpu").load(*fitted.save())
    probe = [*ITEMS, "something else", "x" * 2_000]
    np.testing.assert_allclose(
        fitted.measure(probe).values, on_cpu.measure(probe).values, rtol=1e-3, atol=1e-3
    )


def test_memory_that_runs_out_halves_the_device_batch(packed: Packed) -> None:
    engine = Engine(new_model(Shape(MARK + 1, 256, 128), seed=3), torch.device("cuda"), 2**17)
    expected = _values("cuda", packed, 2_048)
    free, total = torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    used = total - free
    torch.cuda.set_per_process_memory_fraction(min(1.0, (used + 300 * 2**20) / total))
    try:
        values = unpack(packed, engine.run(engine.plan(packed)))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    np.testing.assert_allclose(values, expected, atol=1e-3)
    assert engine.halvings > 0
    assert engine.budget < 2**17

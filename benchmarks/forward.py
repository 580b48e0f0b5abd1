"""`python -m benchmarks.forward`: our engine beside the plain forward of the same model over the same texts.

The plain one takes rows sorted by length, padded to the longest, as many as the same budget holds. In turns
in one process, on one thread, by CPU time. Planning counts as ours; making token ids is neither's.

`of the multiply rate`: 2 x weights x tokens covered per second, beside what the same weights reach as bare
matrix multiplications, as many rows at once as a device batch has places. Tokens that texts share count as
covered for each of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

import click
import torch

from benchmarks.races import spread
from benchmarks.texts import all_distinct, as_they_come, data_folder
from consumer.allocator import keep_pages
from consumer.packing import Packed, device_batches, matrix
from consumer.scoring.engine import Engine, token_surprisal
from consumer.scoring.language_model import FittedLanguageModel
from consumer.scoring.stored import load_stored
from consumer.settings import Scoring

ROUNDS = 5
MOST = 1_000  # distinct texts of a log: a micro-batch
HEAD = "| texts | distinct | library ÷ ours | computed ÷ covered | padding | of the multiply rate |"


class Row(NamedTuple):
    """Of one log. `ratios`: library ÷ ours, of each round."""

    name: str
    texts: int
    ratios: list[float]
    shared: float
    padding: float
    rate: float

    def __str__(self) -> str:
        return (
            f"| {self.name} | {self.texts:,} | {spread(self.ratios)} | {self.shared:.2f} "
            f"| {self.padding:.1%} | {self.rate:.2f} |"
        )


def library(engine: Engine, packed: Packed) -> None:
    with torch.inference_mode():
        for rows in device_batches(packed, engine.budget):
            laid = matrix(packed, rows)
            token_surprisal(engine.model, torch.from_numpy(laid.inputs), torch.from_numpy(laid.targets))


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def weights_of(engine: Engine) -> list[torch.Tensor]:
    """[in, out] each: what every token is multiplied with, the head among them."""
    blocks = [p for name, p in engine.model.transformer.h.named_parameters() if p.dim() == 2]
    return [*blocks, engine.model.lm_head.weight.T]


def multiply_seconds(engine: Engine, weights: list[torch.Tensor]) -> float:
    """For one token's way through all weights, nothing else."""
    inputs = [torch.randn(engine.budget, weight.shape[0]) for weight in weights]

    def multiply() -> None:
        with torch.inference_mode():
            for left, weight in zip(inputs, weights, strict=True):
                left @ weight

    return min(cpu_seconds(multiply) for _ in range(2 * ROUNDS)) / engine.budget


def compare(engine: Engine, name: str, packed: Packed, bare: float) -> Row:
    """`bare`: seconds of one token by multiplications alone."""
    ours, ratios = [], []
    for _ in range(ROUNDS):
        ours.append(cpu_seconds(lambda: engine.run(engine.plan(packed))))
        ratios.append(cpu_seconds(lambda: library(engine, packed)) / ours[-1])
    plan = engine.plan(packed)
    texts = len(packed.bounds) - 1
    covered = len(packed.ids) - texts
    computed, places = sum(laid.tokens for laid in plan), sum(laid.inputs.size for laid in plan)
    rate = covered * bare / median(ours)
    return Row(name, texts, ratios, computed / covered, 1 - computed / places, rate)


def main() -> None:
    keep_pages(os.environ)
    stored, folder = load_stored(Scoring(model="demo", device="cpu", threads=1)), data_folder()
    part = stored.language_model
    if not isinstance(part, FittedLanguageModel):
        raise SystemExit("the demonstration's model has no language model")
    bare = multiply_seconds(part.engine, weights_of(part.engine))
    click.echo(f"{HEAD}\n|---|--:|--:|--:|--:|--:|")
    for corpus in [all_distinct(folder, MOST), *as_they_come(folder)]:
        texts = dict.fromkeys(stored.normalizer.model_input(None, text) for text in corpus.texts)
        packed = part.prepare(list(texts)[:MOST]).packed
        click.echo(str(compare(part.engine, corpus.name, packed, bare)))


if __name__ == "__main__":
    main()

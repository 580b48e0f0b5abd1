"""In the place of the language model where a model was fitted without that part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consumer.packing import Packed
from consumer.scoring.language_model import Prepared, Surprisals, summarise
from consumer.scoring.parts import Measured
from consumer.scoring.tokenizer import Span


class NoDevice:
    """An engine that never computes."""

    device_name = "cpu"
    budget = batches = padded = halvings = 0


class NoLanguageModel:
    """Finds no tokens, so that nothing is computed or explained; the other parts decide."""

    name = "no-language-model"
    fingerprint = "none"

    def __init__(self) -> None:
        self.engine = NoDevice()

    def prepare(self, items: Sequence[str]) -> Prepared:
        marks, bounds = np.zeros(len(items), np.int64), np.arange(len(items) + 1)
        return Prepared(Packed(marks, bounds, np.zeros((0, 3), np.int64)), [])

    def compute(self, prepared: Prepared) -> Surprisals:
        return Surprisals(np.zeros(len(prepared.packed.ids)), prepared.packed.bounds)

    def summarise(self, surprisals: Surprisals) -> Measured:
        return summarise(surprisals)

    def spans(self, item: str) -> list[Span]:  # noqa: ARG002 - the signature is the real part's
        return []

    def warm_up(self) -> None:
        """Nothing to warm."""

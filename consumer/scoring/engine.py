"""Runs the language model over device batches. Owns the device, its memory limit and its precision.

Everything is fp32, the precision that is written into the manifest: it is never decided anew at a
start, because another precision gives other scores.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from transformers import GPT2LMHeadModel

from consumer.errors import Misconfigured, ScorerFailed
from consumer.packing import Matrix, Packed, device_batches, halves, matrix

PRECISION = "fp32"

log = logging.getLogger(__name__)
Nats = npt.NDArray[np.float32]


def choose_device(wanted: str) -> torch.device:
    """`auto`: CUDA when present. Raises Misconfigured for `cuda` where there is none."""
    present = torch.cuda.is_available()
    if wanted == "cuda" and not present:
        raise Misconfigured(["scoring.device = 'cuda', but torch finds no CUDA device: use 'auto' or 'cpu'"])
    return torch.device("cuda" if present and wanted != "cpu" else "cpu")


def token_surprisal(model: GPT2LMHeadModel, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """-ln p of each target, [rows, width]. Rows are padded on the right only, so a causal model needs
    no attention mask."""
    logits: torch.Tensor = model(input_ids=inputs, use_cache=False).logits.float()
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return torch.logsumexp(logits, -1) - chosen


class Engine:
    """`budget`: rows times longest row of a device batch; it shrinks when the device runs out of
    memory and stays there. `run` belongs to one thread; `plan` may be called from another."""

    def __init__(self, model: GPT2LMHeadModel, device: torch.device, budget: int) -> None:
        self.budget = budget
        self.device = device
        self.batches = 0  # forward passes
        self.padded = 0  # places computed
        self.halvings = 0
        model.eval()  # type: ignore[no-untyped-call]
        torch.nn.Module.to(model, device)
        self.model = model

    @property
    def device_name(self) -> str:
        """`cpu`, or the CUDA device's own name."""
        return "cpu" if self.device.type == "cpu" else torch.cuda.get_device_name(self.device)

    def plan(self, packed: Packed) -> list[Matrix]:
        """Device batches under the budget, ready to be copied. Plain Python and numpy."""
        return [matrix(packed, rows) for rows in device_batches(packed, self.budget)]

    def run(self, matrices: Sequence[Matrix]) -> list[tuple[Matrix, Nats]]:
        """Surprisal per place, one pair for each device batch that was computed in the end. Waits for
        the device once. Raises ScorerFailed when not even one row fits."""
        queue = deque(matrices)
        computed: list[tuple[Matrix, torch.Tensor]] = []
        with torch.inference_mode():
            while queue:
                laid = queue.popleft()
                surprisal = self._try(laid)
                if surprisal is None:
                    queue.extendleft(reversed(self._smaller(laid)))
                else:
                    computed.append((laid, surprisal))
            return self._collect(computed)

    def warm_up(self, width: int) -> None:
        """Compute the largest device batch once, so that its memory is held and kernels are loaded."""
        rows = max(1, self.budget // width)
        zeros = np.zeros((rows, width), np.int64)
        self.run([Matrix(zeros, zeros, zeros, zeros.astype(bool))])

    def _try(self, laid: Matrix) -> torch.Tensor | None:
        """Enqueue; None when the device's memory does not hold it."""
        try:
            found = token_surprisal(self.model, self._staged(laid.inputs), self._staged(laid.targets))
        except torch.cuda.OutOfMemoryError:
            return None
        self.batches += 1
        self.padded += laid.inputs.size
        return found

    def _staged(self, ids: npt.NDArray[np.int64]) -> torch.Tensor:
        tensor = torch.from_numpy(ids)
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _smaller(self, laid: Matrix) -> tuple[Matrix, Matrix]:
        """Halve, and remember the size that failed."""
        rows, width = laid.inputs.shape
        if rows == 1:
            raise ScorerFailed(f"the device's memory does not hold one row of {width} tokens")
        self.budget = min(self.budget, rows * width // 2)
        self.halvings += 1
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        log.warning(
            "device out of memory, smaller device batches from here on",
            extra={"action": "device_batch_halved", "failed": rows * width, "budget": self.budget},
        )
        return halves(laid)

    def _collect(self, computed: list[tuple[Matrix, torch.Tensor]]) -> list[tuple[Matrix, Nats]]:
        """One copy back, one synchronisation."""
        if not computed:
            return []
        flat: Nats = torch.cat([surprisal.reshape(-1) for _, surprisal in computed]).cpu().numpy()
        cuts = np.cumsum([surprisal.numel() for _, surprisal in computed])[:-1]
        pieces = zip(computed, np.split(flat, cuts), strict=True)
        return [(laid, piece.reshape(laid.inputs.shape)) for (laid, _), piece in pieces]

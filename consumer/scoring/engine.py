"""Runs the language model over device batches. Owns the device, its memory limit and its precision.

Everything is fp32, the precision that is written into the manifest: it is never decided anew at a
start, because another precision gives other scores.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import GPT2LMHeadModel

from consumer.errors import Misconfigured, ScorerFailed
from consumer.packing import Found, Matrix, Packed, Windowing, pack
from consumer.planning import Cost, Laid, plan
from consumer.prefixes import Forest, forest

PRECISION = "fp32"
COST = Cost()

log = logging.getLogger(__name__)


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


class Trees(NamedTuple):
    """A Forest on its device: `inputs`, `depths` and `ends` are [rows, width], the rest [scored]."""

    inputs: torch.Tensor
    depths: torch.Tensor
    ends: torch.Tensor
    parents: torch.Tensor
    targets: torch.Tensor


def path_surprisal(model: GPT2LMHeadModel, trees: Trees) -> torch.Tensor:
    """-ln p of each target after its parent, [scored]. The sum over the vocabulary is taken once for each
    node. The mask is given ready-made: one that the library makes waits for the device."""
    here = torch.arange(trees.inputs.shape[1], device=trees.inputs.device)
    ancestors = (here <= here[:, None]) & (here[:, None] < trees.ends[:, None, :])
    found = model(
        input_ids=trees.inputs,
        position_ids=trees.depths,
        attention_mask=ancestors[:, None],
        use_cache=False,
    )
    logits: torch.Tensor = found.logits.float().flatten(0, 1)
    return torch.logsumexp(logits, -1)[trees.parents] - logits[trees.parents, trees.targets]


class Engine:
    """`budget`: rows times longest row of a device batch; it shrinks when the device runs out of
    memory and stays there. `cost` decides between rows of like length and prefix trees; None: no trees.
    `run` belongs to one thread; `plan` may be called from another."""

    def __init__(
        self, model: GPT2LMHeadModel, device: torch.device, budget: int, cost: Cost | None = COST
    ) -> None:
        self.budget = budget
        self._cost = cost
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

    def plan(self, packed: Packed) -> list[Laid]:
        """Device batches under the budget, ready to be copied. Plain Python and numpy."""
        return plan(packed, self.budget, self._cost)

    def run(self, batches: Sequence[Laid]) -> list[Found]:
        """Surprisal of every position that is scored, for each device batch that was computed in the end.
        Waits for the device once. Raises ScorerFailed when not even one row fits."""
        queue = deque(batches)
        computed: list[tuple[Laid, torch.Tensor]] = []
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
        """Compute the largest device batches once, so that their memory is held and kernels are loaded."""
        rows = max(1, self.budget // width)
        zeros = np.zeros((rows, width), np.int64)
        self.run([Matrix(zeros, zeros, zeros, zeros.astype(bool))])
        if self._cost is not None:
            self.run([_largest_trees(self.budget, width)])

    def _try(self, laid: Laid) -> torch.Tensor | None:
        """Enqueue; None when the device's memory does not hold it."""
        try:
            found = self._surprisal(laid)
        except torch.cuda.OutOfMemoryError:
            return None
        self.batches += 1
        self.padded += laid.inputs.size
        return found

    def _surprisal(self, laid: Laid) -> torch.Tensor:
        if isinstance(laid, Matrix):
            return token_surprisal(self.model, self._staged(laid.inputs), self._staged(laid.targets))
        arrays = laid.inputs, laid.depths, laid.ends, laid.parents, laid.targets
        return path_surprisal(self.model, Trees(*map(self._staged, arrays)))

    def _staged(self, ids: npt.NDArray[np.int64]) -> torch.Tensor:
        tensor = torch.from_numpy(ids)
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _smaller(self, laid: Laid) -> tuple[Laid, Laid]:
        """Halve, and remember the size that failed."""
        rows, width = laid.inputs.shape
        if not laid.divisible:
            raise ScorerFailed(f"the device's memory does not hold one row of {width} tokens")
        self.budget = min(self.budget, rows * width // 2)
        self.halvings += 1
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        log.warning(
            "device out of memory, smaller device batches from here on",
            extra={"action": "device_batch_halved", "failed": rows * width, "budget": self.budget},
        )
        return laid.halves()

    def _collect(self, computed: list[tuple[Laid, torch.Tensor]]) -> list[Found]:
        """One copy back, one synchronisation."""
        if not computed:
            return []
        flat = torch.cat([surprisal.reshape(-1) for _, surprisal in computed]).cpu().numpy()
        cuts = np.cumsum([surprisal.numel() for _, surprisal in computed])[:-1]
        pieces = zip(computed, np.split(flat, cuts), strict=True)
        return [laid.pick(piece) for (laid, _), piece in pieces]


def _largest_trees(budget: int, width: int) -> Forest:
    """As many of the longest tree rows as the budget allows: two windows that share one token."""
    packed = pack([[0] * width, [1] * width], 0, Windowing(width, 1))
    rows = max(1, budget // (2 * width - 1))
    return forest(packed, [np.arange(2)] * rows)

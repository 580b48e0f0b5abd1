"""Teaches the language model: a number of steps that early stopping found once.

Steps are counted, never seconds: a busy machine must not make another model. A search runs along a
schedule that is too long and finds the step at which held-out texts are predicted best. Other fits on
nearly the same texts follow the same schedule, scaled by size, and leave it at the same point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from consumer.packing import Ints, Matrix, Packed, device_batches, matrix
from consumer.planning import Laid
from consumer.scoring.engine import Engine, token_surprisal

HIDE_ABOVE = 1_500  # items above which a share of the tokens read is hidden
HIDDEN = 0.1
_SMALL_BELOW = 20_000  # tokens in all below which the model is half as wide
_PEAK_RATE = 2e-3
_WARM_UP = 0.05  # share of the steps
_MOST_TOKENS = 4_096  # a step
_FEWEST_TOKENS = 512
_STEPS_A_PASS = 8  # where the bounds above allow it: few texts take many small steps, not many passes
_SEARCH_PASSES = 60  # over the fit texts, at most
_EVALUATIONS = 30  # in a whole search
_PATIENCE = 5  # evaluations without a better one


class Hint(msgspec.Struct, frozen=True):
    """What a search found: the best step, per token of the texts learnt and as a share of the whole
    schedule, and the model's width."""

    steps_per_token: float
    share: float
    width: int


class Shape(NamedTuple):
    """Of a model. The last id of the vocabulary is the mark."""

    vocabulary: int
    positions: int
    width: int


class Course(NamedTuple):
    """How to train: how many `steps` of a `schedule` that is at least as long, the share of input
    tokens `hidden`, and the seed of everything random."""

    steps: int
    schedule: int
    hidden: float
    seed: int


StepDone = Callable[[int], bool]


def width_for(tokens: int) -> int:
    """Few tokens teach a narrow model better."""
    return 64 if tokens < _SMALL_BELOW else 128


def new_model(shape: Shape, seed: int) -> GPT2LMHeadModel:
    """Two layers, the erf form of GELU, fp32, untrained."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.width,
        n_layer=2,
        n_head=4,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=shape.vocabulary - 1,
        eos_token_id=shape.vocabulary - 1,
        use_cache=False,
    )
    return GPT2LMHeadModel(config)


def tokens_a_step(tokens: int) -> int:
    """Padded tokens of one step when `tokens` are learnt in all."""
    return min(_MOST_TOKENS, max(_FEWEST_TOKENS, tokens // _STEPS_A_PASS))


def search_course(packed: Packed, hidden: float, seed: int) -> Course:
    """All steps of a schedule that is long enough for these texts."""
    a_pass = len(device_batches(packed, tokens_a_step(tokens_of(packed))))
    return Course(_SEARCH_PASSES * a_pass, _SEARCH_PASSES * a_pass, hidden, seed)


def course(packed: Packed, hint: Hint, hidden: float, seed: int) -> Course:
    """The course of the hint for texts of this size."""
    steps = max(1, round(hint.steps_per_token * tokens_of(packed)))
    return Course(steps, max(steps, round(steps / hint.share)), hidden, seed)


def train(
    model: GPT2LMHeadModel, packed: Packed, course: Course, device: torch.device, done: StepDone
) -> None:
    """Change the model in place. `done(step)` after every step; True ends the training there."""
    torch.nn.Module.to(model, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=_PEAK_RATE, weight_decay=0.01)
    noise = torch.Generator(device=device).manual_seed(course.seed)
    for step, laid in zip(range(course.steps), _endless(packed, course.seed), strict=False):
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = _PEAK_RATE * _rate(step, course.schedule)
        loss = _loss(model, laid, course.hidden, noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if done(step + 1):
            return


class Watch:
    """A StepDone that follows held-out texts: stops when they get worse, keeps the best weights."""

    def __init__(self, engine: Engine, held_out: Packed, steps: int) -> None:
        self.step = 0
        self._engine = engine
        self._plan = engine.plan(held_out)
        self._every = max(1, steps // _EVALUATIONS)
        self._surprisal = math.inf
        self._since = 0
        self._weights: dict[str, torch.Tensor] = {}

    def __call__(self, step: int) -> bool:
        if step % self._every:
            return False
        surprisal = _held_out_surprisal(self._engine, self._plan)
        self._since += 1
        if surprisal < self._surprisal:
            self._surprisal, self._since, self.step = surprisal, 0, step
            self._weights = {name: w.clone() for name, w in self._engine.model.state_dict().items()}
        return self._since >= _PATIENCE

    def best(self) -> GPT2LMHeadModel:
        """The model, with the weights of `step`. Raises RuntimeError before the first evaluation."""
        self._engine.model.load_state_dict(self._weights)
        return self._engine.model


def _held_out_surprisal(engine: Engine, plan: list[Laid]) -> float:
    """Mean per scored token."""
    found = engine.run(plan)
    scored = sum(len(each.values) for each in found)
    return sum(float(each.values.sum(dtype=np.float64)) for each in found) / max(1, scored)


def _rate(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine to zero; 1 at the peak."""
    warm = max(1, round(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def _endless(packed: Packed, seed: int) -> Iterator[Matrix]:
    """Passes over the texts in buckets of like length, in a new order each pass."""
    random = np.random.default_rng(seed)
    while True:
        batches = _buckets(packed, random)
        for index in random.permutation(len(batches)):
            yield matrix(packed, batches[index])


def _buckets(packed: Packed, random: np.random.Generator) -> list[Ints]:
    """Device batches whose rows are of about equal length, mixed anew within like lengths."""
    budget = tokens_a_step(tokens_of(packed))
    shuffled = random.permutation(len(packed.rows))
    mixed = Packed(packed.ids, packed.bounds, packed.rows[shuffled])
    return [shuffled[rows] for rows in device_batches(mixed, budget)]


def _loss(model: GPT2LMHeadModel, laid: Matrix, hidden: float, noise: torch.Generator) -> torch.Tensor:
    """Mean surprisal of the scored tokens; a share `hidden` of the tokens read is replaced by the mark."""
    device = noise.device
    inputs = torch.from_numpy(laid.inputs).to(device)
    if hidden:
        mark = model.config.vocab_size - 1
        hide = torch.rand(inputs.shape, generator=noise, device=device) < hidden
        inputs = inputs.masked_fill(hide, mark)
    surprisal = token_surprisal(model, inputs, torch.from_numpy(laid.targets).to(device))
    return surprisal[torch.from_numpy(laid.scored).to(device)].mean()


def tokens_of(packed: Packed) -> int:
    """Tokens to be predicted."""
    return len(packed.ids) - (len(packed.bounds) - 1)

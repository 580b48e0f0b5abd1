"""The part that reads texts as sequences: a small causal transformer over its own BPE.

Its statistics are four summaries of the surprisal (-ln p, nats) of a text's tokens: mean, maximum,
mean of the three greatest, and sum. Long texts are read in windows and summarised whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from consumer.errors import Misconfigured
from consumer.packing import Floats, Ints, Packed, Windowing, pack, unpack
from consumer.planning import Laid
from consumer.scoring import training
from consumer.scoring.engine import PRECISION, Engine, choose_device
from consumer.scoring.lesson import Lesson
from consumer.scoring.model_dir import TEXTS
from consumer.scoring.parts import Arrays, Facts, FitTask, Measured
from consumer.scoring.tokenizer import ItemTokenizer, Span

NAME = "language-model"
STATISTICS = ("mean", "max", "top3", "sum")


class Prepared(NamedTuple):
    """Items ready for the device."""

    packed: Packed
    plan: list[Laid]

    @property
    def covered(self) -> int:
        """Tokens of the items."""
        return training.tokens_of(self.packed)

    @property
    def computed(self) -> int:
        """Tokens computed for them: the context of windows again, a beginning that is shared once."""
        return sum(laid.tokens for laid in self.plan)


class Surprisals(NamedTuple):
    """Surprisal of every token of every item; item i is `nats[bounds[i] + 1:bounds[i + 1]]`."""

    nats: Floats
    bounds: Ints

    def of(self, item: int) -> Floats:
        return self.nats[self.bounds[item] + 1 : self.bounds[item + 1]]


def summarise(surprisals: Surprisals) -> Measured:
    """[items, 4] in the order of STATISTICS, and token counts. An item without tokens measures zero."""
    nats, bounds = surprisals
    counts = np.diff(bounds) - 1
    if not len(counts):
        return Measured(np.zeros((0, len(STATISTICS))), counts)
    starts = bounds[:-1]
    total = np.add.reduceat(nats, starts)
    few = np.maximum(1, np.minimum(3, counts))
    top3 = _greatest(surprisals, 3) / few
    columns = [total / np.maximum(1, counts), np.maximum.reduceat(nats, starts), top3, total]
    return Measured(np.column_stack(columns), counts)


def _greatest(surprisals: Surprisals, count: int) -> Floats:
    """Sum of each item's `count` greatest values. The mark's zero stands in where there are fewer."""
    nats, bounds = surprisals
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    order = np.lexsort((-nats, owner))
    rank = np.arange(len(nats)) - bounds[owner]
    ordered = np.where(rank < count, nats[order], 0.0)
    sums: Floats = np.add.reduceat(ordered, bounds[:-1])
    return sums


class FittedLanguageModel:
    """A trained model on its device. `measure` is `prepare`, `compute` and `summarise` in a row;
    apart, they let the caller keep Python work on one thread and the device's on another."""

    name = NAME
    statistics = STATISTICS

    def __init__(
        self, tokenizer: ItemTokenizer, engine: Engine, windowing: Windowing, hint: training.Hint
    ) -> None:
        self.hint = hint
        self.engine = engine
        self._tokenizer = tokenizer
        self._windowing = windowing

    @property
    def fingerprint(self) -> str:
        """What beside the weights changes a measurement by more than rounding."""
        return f"{PRECISION} {self._windowing.width}/{self._windowing.context}"

    def prepare(self, items: Sequence[str]) -> Prepared:
        """Tokenise, cut into windows, and fill device batches. Python and numpy only."""
        packed = pack(self._tokenizer.ids(items), self._tokenizer.mark, self._windowing)
        return Prepared(packed, self.engine.plan(packed))

    def compute(self, prepared: Prepared) -> Surprisals:
        """Blocks on the device. Raises ScorerFailed."""
        return Surprisals(unpack(prepared.packed, self.engine.run(prepared.plan)), prepared.packed.bounds)

    def measure(self, items: Sequence[str]) -> Measured:
        """Statistics of each item; equal to within float rounding whatever its neighbours are."""
        return summarise(self.compute(self.prepare(items)))

    def summarise(self, surprisals: Surprisals) -> Measured:
        """The statistics of what `compute` found."""
        return summarise(surprisals)

    def spans(self, item: str) -> list[Span]:
        """The characters of the item that each token covers, in the order of its surprisals."""
        return self._tokenizer.spans(item)

    def warm_up(self) -> None:
        """Compute the largest device batch once."""
        self.engine.warm_up(self._windowing.width)

    def save(self) -> tuple[Arrays, Facts]:
        """Weights under transformers' names; config.json and tokenizer.json as texts."""
        model = self.engine.model
        arrays = {name: tensor.cpu().numpy() for name, tensor in _own_weights(model).items()}
        texts = {
            "config.json": model.config.to_json_string(use_diff=False),
            "tokenizer.json": self._tokenizer.to_json(),
        }
        facts = {
            "precision": PRECISION,
            "windowing": msgspec.to_builtins(self._windowing),
            "hint": msgspec.to_builtins(self.hint),
        }
        return arrays, {**facts, TEXTS: texts}


def _own_weights(model: GPT2LMHeadModel) -> dict[str, torch.Tensor]:
    """Without the output layer, which shares the embedding's weights."""
    return {k: v.detach().contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}


class _Stored(msgspec.Struct, frozen=True):
    """The facts that `load` needs."""

    precision: str
    windowing: Windowing
    hint: training.Hint
    texts: dict[str, str]


class LanguageModel:
    """Learns on `device` (`auto`, `cpu` or `cuda`); `budget` as in Engine."""

    name = NAME

    def __init__(self, device: str = "auto", budget: int = 2_048) -> None:
        self._device = choose_device(device)
        self._budget = budget

    def fit(self, task: FitTask) -> FittedLanguageModel:
        """Learn the BPE and the model. Without a hint the best number of steps is searched first."""
        tokenizer = ItemTokenizer.learn(task.items)
        lesson = Lesson(task, tokenizer, Windowing(), self._device)
        if isinstance(task.hint, training.Hint):
            hint, model = task.hint, lesson.learn(task.hint)
        else:
            hint, model = lesson.search()
        return FittedLanguageModel(tokenizer, Engine(model, self._device, self._budget), Windowing(), hint)

    def load(self, arrays: Arrays, facts: Facts) -> FittedLanguageModel:
        """Raises Misconfigured for facts or weights that do not belong together."""
        try:
            stored = msgspec.convert(facts, _Stored)
            if stored.precision != PRECISION:
                raise Misconfigured(
                    [f"{NAME}: precision {stored.precision!r}: this version knows {PRECISION!r}"]
                )
            tokenizer = ItemTokenizer.from_json(stored.texts["tokenizer.json"])
            model = _model(arrays, stored.texts["config.json"])
        except (msgspec.MsgspecError, KeyError, RuntimeError, ValueError) as error:
            raise Misconfigured(
                [f"{NAME}: unusable model: {error}; fit it again with `consumer fit`"]
            ) from error
        return FittedLanguageModel(
            tokenizer, Engine(model, self._device, self._budget), stored.windowing, stored.hint
        )


def _model(arrays: Arrays, config: str) -> GPT2LMHeadModel:
    """Made from bytes that were verified, without reading a file again; no code comes with a model."""
    facts = msgspec.json.decode(config, type=dict[str, object])
    model = GPT2LMHeadModel(GPT2Config.from_dict(facts))
    weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    problems = model.load_state_dict(weights, strict=False)
    if problems.unexpected_keys or set(problems.missing_keys) - {"lm_head.weight"}:
        raise ValueError(f"weights do not fit config.json: {problems}")
    return model

"""One fit of the language model: which texts decide when to stop, and for how long to learn."""

from __future__ import annotations

import numpy as np
import torch
from transformers import GPT2LMHeadModel

from consumer.packing import Packed, Windowing, pack
from consumer.scoring import training
from consumer.scoring.engine import Engine
from consumer.scoring.parts import FitTask
from consumer.scoring.tokenizer import ItemTokenizer

STAGE = "language-model"
_HELD_OUT = 8  # one text in so many is held out when the task holds out none


class Lesson:
    """Learns the items of a task, all of them with the same weight however often they were seen."""

    def __init__(
        self, task: FitTask, tokenizer: ItemTokenizer, windowing: Windowing, device: torch.device
    ) -> None:
        self._task = task
        self._tokenizer = tokenizer
        self._windowing = windowing
        self._device = device
        many = len(task.items) + len(task.held_out) > training.HIDE_ABOVE
        self._hidden = training.HIDDEN if many else 0.0

    def search(self) -> tuple[training.Hint, GPT2LMHeadModel]:
        """Train until held-out texts are predicted worse again; where they were predicted best, and
        the model of that step."""
        items, held_out = self._split()
        packed, watched = self._pack(items), self._pack(held_out)
        tokens = training.tokens_of(packed)
        width = training.width_for(tokens + training.tokens_of(watched))
        model = self._new_model(width)
        course = training.search_course(packed, self._hidden, self._task.seed)
        engine = Engine(model, self._device, training.tokens_a_step(tokens))
        watch = training.Watch(engine, watched, course.steps)
        training.train(model, packed, course, self._device, self._told(watch, course.steps))
        hint = training.Hint(watch.step / max(1, tokens), watch.step / course.schedule, width)
        return hint, watch.best()

    def learn(self, hint: training.Hint) -> GPT2LMHeadModel:
        """A model that learnt all items for as many steps as the hint says."""
        packed = self._pack(list(self._task.items))
        model = self._new_model(hint.width)
        course = training.course(packed, hint, self._hidden, self._task.seed)
        done = self._told(lambda _: False, course.steps)
        training.train(model, packed, course, self._device, done)
        return model

    def _split(self) -> tuple[list[str], list[str]]:
        items = list(self._task.items)
        if self._task.held_out:
            return items, list(self._task.held_out)
        order = np.random.default_rng(self._task.seed).permutation(len(items)).tolist()
        count = max(1, len(items) // _HELD_OUT)
        return [items[i] for i in order[count:]] or items, [items[i] for i in order[:count]]

    def _pack(self, items: list[str]) -> Packed:
        return pack(self._tokenizer.ids(items), self._tokenizer.mark, self._windowing)

    def _new_model(self, width: int) -> GPT2LMHeadModel:
        shape = training.Shape(self._tokenizer.size, self._windowing.width, width)
        return training.new_model(shape, self._task.seed)

    def _told(self, done: training.StepDone, steps: int) -> training.StepDone:
        """`done`, with the task's progress told at every step."""

        def told(step: int) -> bool:
            self._task.progress(STAGE, step, steps)
            return done(step)

        return told

"""Fitted models to and from model directories; which parts make a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from consumer.masks import Mask, Masks
from consumer.normalize import Normalizer
from consumer.scoring import language_model, model_dir, novelty, severity
from consumer.scoring.judge import FittedModel, load_model
from consumer.scoring.language_model import FittedLanguageModel, LanguageModel
from consumer.scoring.no_language_model import NoLanguageModel
from consumer.scoring.novelty import Novelty
from consumer.scoring.parts import PART_NAMES, Part
from consumer.scoring.severity import Severity
from consumer.scoring.severity_words import Words
from consumer.scoring.threads import available_threads
from consumer.settings import Scoring

# Scored when a model is written and again by every self-test. No fit text looks like it, so that
# every part has something to say.
REFERENCE = "consumer self-test: the quick brown fox jumps over 13 lazy dogs at /dev/null"


class StoredModel(NamedTuple):
    """A model directory, loaded."""

    fitted: FittedModel
    normalizer: Normalizer
    manifest: model_dir.Manifest
    version: str

    @property
    def language_model(self) -> FittedLanguageModel | NoLanguageModel:
        """The part that needs the device; a stand-in in models that were fitted without it."""
        found = (part for part in self.fitted.parts if isinstance(part, FittedLanguageModel))
        return next(found, NoLanguageModel())


def make_parts(
    scoring: Scoring, names: Sequence[str] = PART_NAMES, words: Words | None = None
) -> tuple[Part, ...]:
    """The parts of these names in their order. `words` for the severity part, if not the shipped ones.
    Sets torch's threads: the setting, or what we may use. Raises Misconfigured for a device that is not
    there."""
    torch.set_num_threads(scoring.threads or available_threads())
    makers: dict[str, Callable[[], Part]] = {
        language_model.NAME: lambda: LanguageModel(scoring.device, scoring.max_padded_tokens),
        novelty.NAME: Novelty,
        severity.NAME: lambda: Severity(words),
    }
    return tuple(makers[name]() for name in names)


def save_fitted(
    directory: Path, fitted: FittedModel, name: str, masks: Masks, training: Mapping[str, object]
) -> str:
    """Write a model directory and return the model's version. `training`: facts for people; what the
    model knows of itself is added. Raises Misconfigured for a directory that holds something else."""
    facts = {**training, **_learnt(fitted)}
    item = Normalizer(masks).model_input(None, REFERENCE)
    reference = model_dir.Reference(REFERENCE, *fitted.examine(item))
    rules = tuple((mask.name, mask.pattern) for mask in masks.rules)
    description = model_dir.Description(name, rules, reference, facts)
    return model_dir.write_model(directory, description, fitted.save())


def load_stored(scoring: Scoring) -> StoredModel:
    """Verify and load what `scoring.model` names. Raises Misconfigured with every problem found."""
    directory = model_dir.locate(scoring.model)
    model = model_dir.read_model(directory)
    masks = Masks(tuple(Mask(name, pattern) for name, pattern in model.manifest.masks))
    names = [name for name in model.manifest.sections if name in PART_NAMES]
    fitted = load_model(model.sections, make_parts(scoring, names))
    return StoredModel(fitted, Normalizer(masks), model.manifest, model.version)


def _learnt(fitted: FittedModel) -> dict[str, object]:
    rule = fitted.rule
    return {
        "pi": rule.pi,
        "calibration_items": rule.n,
        "smallest_rate": rule.smallest_rate,
        "known_items": len(fitted.known),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }

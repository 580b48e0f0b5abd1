"""A model without one of its parts, calibrated anew: what that part is worth."""

from __future__ import annotations

from collections.abc import Sequence

from consumer.calibration import fit_calibration
from consumer.errors import Misconfigured
from consumer.scoring.judge import FittedModel
from consumer.scoring.parts import Measured


def without(model: FittedModel, part: int) -> FittedModel:
    """The model without its part of that number. The other parts stay as they are; their calibration is
    computed again from what they measured on the calibration items. Raises Misconfigured for a model
    that was written without these values, or has no other part."""
    if not model.evidence:
        raise Misconfigured(["the model was written without its calibration items' values: fit it again"])
    if len(model.parts) < 2:
        raise Misconfigured([f"the model has no part beside {model.part_names[0]}: nothing to leave out"])
    evidence = rest(model.evidence, part)
    parts = tuple(each for number, each in enumerate(model.parts) if number != part)
    return model._replace(parts=parts, calibration=fit_calibration(evidence), evidence=evidence)


def rest(measured: Sequence[Measured], part: int) -> tuple[Measured, ...]:
    """What all parts but that one measured."""
    return tuple(each for number, each in enumerate(measured) if number != part)

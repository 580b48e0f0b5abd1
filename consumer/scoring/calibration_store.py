"""Calibration as arrays and facts, and back. Float64 throughout: a score can be computed again exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from consumer.calibration import (
    Calibration,
    KnownShare,
    LengthLine,
    PartCalibration,
    RecordRule,
    Tail,
)
from consumer.errors import Misconfigured
from consumer.scoring.parts import Arrays, Facts, Measured

_Positive = Annotated[float, Meta(gt=0)]


class _TailFacts(msgspec.Struct, forbid_unknown_fields=True):
    start: float
    scale: _Positive
    floor: float


class _LineFacts(msgspec.Struct, forbid_unknown_fields=True):
    location: tuple[float, float]
    scale: tuple[float, float]
    least: _Positive


class _PartFacts(msgspec.Struct, forbid_unknown_fields=True):
    lines: list[_LineFacts | None]
    tails: list[_TailFacts]
    total: _TailFacts


class _CalibrationFacts(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[_PartFacts]
    total: _TailFacts


class _RuleFacts(msgspec.Struct, forbid_unknown_fields=True):
    pi: Annotated[float, Meta(gt=0, le=1)]
    n: Annotated[int, Meta(ge=1)]


def save_calibration(calibration: Calibration) -> tuple[Arrays, Facts]:
    """Arrays `total`, `<part>.total` and `<part>.<statistic>` by number; the rest are facts."""
    arrays: dict[str, npt.NDArray[np.generic]] = {"total": calibration.total.values}
    for i, part in enumerate(calibration.parts):
        arrays[f"{i}.total"] = part.total.values
        arrays |= {f"{i}.{j}": tail.values for j, tail in enumerate(part.tails)}
    facts = _CalibrationFacts(
        [_part_facts(part) for part in calibration.parts], _tail_facts(calibration.total)
    )
    return arrays, msgspec.to_builtins(facts)


def load_calibration(arrays: Arrays, facts: Facts) -> Calibration:
    """Raises Misconfigured for what `save_calibration` did not write."""
    try:
        read = msgspec.convert(facts, _CalibrationFacts)
        parts = tuple(_part(arrays, i, part) for i, part in enumerate(read.parts))
        return Calibration(parts, _tail(arrays, "total", read.total))
    except (msgspec.ValidationError, KeyError, ValueError) as error:
        raise Misconfigured([f"calibration: damaged ({error}); fit the model again"]) from error


def save_rule(rule: RecordRule) -> tuple[Arrays, Facts]:
    """Arrays `counts` and `shares`; pi and n are facts."""
    facts = msgspec.to_builtins(_RuleFacts(rule.pi, rule.n))
    return {"counts": rule.known.counts, "shares": rule.known.shares}, facts


def load_rule(arrays: Arrays, facts: Facts) -> RecordRule:
    """Raises Misconfigured for what `save_rule` did not write."""
    try:
        read = msgspec.convert(facts, _RuleFacts)
        known = KnownShare(arrays["counts"].astype(np.int64), arrays["shares"].astype(np.float64))
    except (msgspec.ValidationError, KeyError, ValueError) as error:
        raise Misconfigured([f"record rule: damaged ({error}); fit the model again"]) from error
    return RecordRule(read.pi, known, read.n)


def save_evidence(measured: Sequence[Measured]) -> tuple[Arrays, Facts]:
    """Arrays `<part>.values` and `<part>.lengths` by number."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for i, each in enumerate(measured):
        arrays |= {f"{i}.values": each.values, f"{i}.lengths": each.lengths}
    return arrays, {"items": len(measured[0].lengths) if measured else 0}


def load_evidence(arrays: Arrays, parts: int) -> tuple[Measured, ...]:
    """The inverse of `save_evidence` for a model of so many parts. Raises Misconfigured."""
    if not arrays:
        return ()
    try:
        measured = tuple(
            Measured(arrays[f"{i}.values"].astype(np.float64), arrays[f"{i}.lengths"].astype(np.int64))
            for i in range(parts)
        )
        if {each.values.shape[:1] for each in measured} != {measured[0].lengths.shape}:
            raise ValueError("parts measured different numbers of items")
    except (KeyError, ValueError, IndexError) as error:
        raise Misconfigured([f"evidence: damaged ({error}); fit the model again"]) from error
    return measured


def _tail_facts(tail: Tail) -> _TailFacts:
    return _TailFacts(tail.start, tail.scale, tail.floor)


def _part_facts(part: PartCalibration) -> _PartFacts:
    lines = [None if line is None else _LineFacts(*line) for line in part.lines]
    return _PartFacts(lines, [_tail_facts(tail) for tail in part.tails], _tail_facts(part.total))


def _tail(arrays: Mapping[str, npt.NDArray[np.generic]], name: str, facts: _TailFacts) -> Tail:
    values = arrays[name].astype(np.float64)
    if not len(values) or not np.isfinite(values).all() or (np.diff(values) < 0).any():
        raise ValueError(f"array {name!r} is not a sorted sample")
    return Tail(values, facts.start, facts.scale, facts.floor)


def _part(arrays: Arrays, i: int, facts: _PartFacts) -> PartCalibration:
    lines = tuple(None if f is None else LengthLine(f.location, f.scale, f.least) for f in facts.lines)
    tails = tuple(_tail(arrays, f"{i}.{j}", tail) for j, tail in enumerate(facts.tails))
    return PartCalibration(lines, tails, _tail(arrays, f"{i}.total", facts.total))

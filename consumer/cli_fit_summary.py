"""What `consumer fit` says when it is done: what was learnt, and what it can be trusted with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from consumer.cli_fit_input import MAX_ITEMS, Collected
from consumer.scoring.fit import Odd
from consumer.scoring.judge import FittedModel

_ODD_SHOWN = 5
_ODD_CHARS = 90


class Written(NamedTuple):
    """A model and where it was written; `odd` are the texts of the fit that a person should look at."""

    model: FittedModel
    odd: tuple[Odd, ...]
    directory: Path
    name: str
    version: str


def summary(collected: Collected, written: Written, seconds: float) -> list[str]:
    """Lines for standard output."""
    rule = written.model.rule
    reasons = ", ".join(f"{count} {reason}" for reason, count in collected.rejected.most_common())
    return [
        f"read:        {collected.read} records, {collected.empty} of them empty",
        f"rejected:    {collected.rejected.total()}" + (f" ({reasons})" if reasons else ""),
        *(f"             {line}" for line in collected.named),
        f"learnt from: {collected.records} records, {len(collected.tally)} different texts",
        f"held out:    {rule.n} texts, new to what scored them",
        f"supports:    false-alarm rates down to {rule.smallest_rate:.2g} of all records",
        f"known texts: {len(written.model.known)} of {len(collected.tally)} kept",
        *_odd_lines(written.odd),
        f"model:       {written.directory} (name {written.name}, version {written.version})",
        f"time:        {seconds:.0f} s",
    ]


def warnings(collected: Collected, model: FittedModel, rate: float) -> Iterator[str]:
    """`rate`: the false-alarm rate that the settings ask for."""
    if collected.full:
        yield (
            f"reading ended after {collected.read} records, at {MAX_ITEMS} different texts: "
            "an id that no mask covers makes every record different; add one with --mask"
        )
    if rate < model.rule.smallest_rate:
        yield (
            f"the false-alarm rate of {rate:g} is less than {model.rule.smallest_rate:.2g}, which is all "
            "that these texts support; learn from more, or ask for a higher rate"
        )


def _odd_lines(odd: Sequence[Odd]) -> list[str]:
    """For a person to decide: what is not normal must not be learnt as normal."""
    if not odd:
        return []
    shown = [f"             {each.score:.1f}  {each.item[:_ODD_CHARS]}" for each in odd[:_ODD_SHOWN]]
    return [f"look at:     {len(odd)} texts that look odd beside the others; are they normal?", *shown]

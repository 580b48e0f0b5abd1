"""How to fit: the options that `consumer fit` and `consumer evaluate` share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from consumer.masks import DEFAULT_MASKS, Mask, Masks
from consumer.scoring.fit import FitOptions
from consumer.scoring.parts import PART_NAMES, Part
from consumer.scoring.severity_words import Words, read_words

if TYPE_CHECKING:
    from consumer.settings import Scoring

Command = Callable[..., Any]
_OPTIONS = ("blocks", "seed", "masks", "parts", "severity_words")


class Fitting(NamedTuple):
    """What to learn with. `words_from`: the file of the severity words, None for the built-in ones."""

    blocks: int
    seed: int
    masks: Masks
    parts: tuple[str, ...]
    words_from: Path | None

    @property
    def options(self) -> FitOptions:
        return FitOptions(blocks=self.blocks, seed=self.seed)

    def words(self) -> Words | None:
        """Raises Misconfigured for a file that is no word list."""
        return None if self.words_from is None else read_words(self.words_from)

    def make_parts(self, scoring: Scoring) -> tuple[Part, ...]:
        """Imports torch. Raises Misconfigured."""
        words = self.words()
        from consumer.scoring.stored import make_parts  # noqa: PLC0415 - torch takes seconds

        return make_parts(scoring, self.parts, words)

    def facts(self) -> dict[str, object]:
        """For people, kept in the manifest."""
        words = "built-in" if self.words_from is None else str(self.words_from)
        named = {"severity_words": words} if "severity" in self.parts else {}
        return {"blocks": self.blocks, "seed": self.seed, "parts": list(self.parts), **named}


def fitting_options(command: Command) -> Command:
    """Give a command these options and the parameter `fitting: Fitting`."""

    @functools.wraps(command)
    def with_fitting(*args: Any, **given: Any) -> Any:
        blocks, seed, masks, parts, words = (given.pop(name) for name in _OPTIONS)
        return command(*args, fitting=Fitting(int(blocks), seed, masks, parts, words), **given)

    for option in reversed(_DECLARED):
        with_fitting = option(with_fitting)
    return with_fitting


def _masks(_: click.Context, __: click.Parameter, values: Sequence[str]) -> Masks:
    """Masks of the user come before the built-in ones."""
    pairs = [value.partition("=") for value in values]
    masks = Masks((*(Mask(name, pattern) for name, _, pattern in pairs), *DEFAULT_MASKS))
    if problems := masks.problems():
        raise click.BadParameter("; ".join(problems))
    return masks


def _parts(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    """In the order that they have in every model, each once."""
    asked = {name.strip() for name in value.split(",")} - {""}
    if unknown := asked - set(PART_NAMES):
        raise click.BadParameter(f"there is no {sorted(unknown)[0]!r}; there are {', '.join(PART_NAMES)}")
    if not asked:
        raise click.BadParameter(f"name one at least of {', '.join(PART_NAMES)}")
    return tuple(name for name in PART_NAMES if name in asked)


_DECLARED = (
    click.option(
        "--parts",
        default=",".join(PART_NAMES),
        show_default=True,
        callback=_parts,
        metavar="NAME,...",
        help="What the model is made of; `consumer evaluate --ablate` tells what each is worth.",
    ),
    click.option(
        "--severity-words",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Your own words of alarm, one and its weight a line: `fail* 3`. [default: forty English ones]",
    ),
    click.option(
        "--blocks",
        type=click.Choice(["4", "8"]),
        default="8",
        show_default=True,
        help="Calibration blocks for up to 1500 different texts; 4 is twice as fast, 8 is truer.",
    ),
    click.option(
        "--seed",
        default=0,
        show_default=True,
        type=int,
        help="Of everything random; same seed, same model.",
    ),
    click.option(
        "--mask",
        "masks",
        multiple=True,
        callback=_masks,
        metavar="NAME=REGEX",
        help="One more kind of variable that texts hold, such as an order number; repeatable.",
    ),
)

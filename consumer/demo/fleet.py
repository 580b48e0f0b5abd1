"""What a seed decides once: the words a fleet owns, the wording of its messages, its hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import msgspec

from consumer.demo.grammar import Shape, incident_shapes, normal_shapes, seeded, word_lists

SHARES: Final = {"access": 12, "web": 38, "auth": 16, "database": 16, "batch": 11, "kernel": 7}
"""Of a hundred records, how many each service writes (stack traces are among those of web and batch)."""

_COMMON: Final = 20  # shapes of this weight and above are in every fleet
_ABSENT: Final = 0.12  # the chance that a fleet does without a rarer one
_REWORDED: Final = 0.15  # the chance that the later release says it in other words
_ADDED: Final = 0.7  # the chance that a shape of the later release is in this fleet
_NEW_WEIGHT: Final = 2.0
_TRACES: Final = 3  # recurrent stack traces of each service that has any
_TRACE_WEIGHT: Final = 1.5


class Template(msgspec.Struct, frozen=True):
    """A message of one fleet: worded, its slots open. `level` is `-` where the format has none."""

    service: str
    level: str
    text: str
    weight: float

    @property
    def name(self) -> str:
        """Equal exactly for equal templates, also across fleets."""
        return f"{self.service} {self.level} {self.text}"


class Fleet(msgspec.Struct, frozen=True):
    """`releases[0]` is what each service says at first, `releases[1]` after its upgrade half-way."""

    seed: int
    words: Mapping[str, Sequence[str]]
    hosts: Mapping[str, Sequence[str]]
    releases: tuple[Mapping[str, Sequence[Template]], Mapping[str, Sequence[Template]]]

    def templates(self) -> list[Template]:
        """Every template of both releases, once."""
        found = {t.name: t for release in self.releases for group in release.values() for t in group}
        return list(found.values())


def build_fleet(seed: int) -> Fleet:
    """The same fleet for the same seed, on every machine."""
    rng = seeded("fleet", seed)
    words = {name: _owned(rng, share, all_words) for name, (share, all_words) in word_lists().items()}
    first, second = _releases(rng, words)
    return Fleet(seed, words, {service: _hosts(rng, service) for service in SHARES}, (first, second))


def incidents(fleet: Fleet, rng: Random, count: int) -> list[Template]:
    """`count` messages that no healthy day has, all different as long as there are shapes left."""
    shapes = incident_shapes()
    rounds = -(-count // len(shapes))
    drawn = [shape for _ in range(rounds) for shape in rng.sample(shapes, len(shapes))][:count]
    return [_new_trace(fleet, rng) if rng.random() < 0.15 else _settled(rng, shape) for shape in drawn]


def _owned(rng: Random, share: float, words: Sequence[str]) -> tuple[str, ...]:
    """What one fleet has of a list. A list that is owned whole keeps its order: it is by frequency."""
    return tuple(words) if share >= 1 else tuple(rng.sample(list(words), max(2, round(share * len(words)))))


def _hosts(rng: Random, service: str) -> tuple[str, ...]:
    stem = rng.choice((service, f"{service[:2]}-node", f"shop-{service}", f"{service}-eu"))
    return tuple(f"{stem}-{number}" for number in range(1, rng.randint(3, 7)))


def _settled(rng: Random, shape: Shape) -> Template:
    weight = (shape.weight or _NEW_WEIGHT) * rng.lognormvariate(0, 0.4)
    return Template(shape.service, shape.level, shape.worded(rng), weight)


def _releases(
    rng: Random, words: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[Template]], dict[str, list[Template]]]:
    first: dict[str, list[Template]] = {service: [] for service in SHARES}
    second: dict[str, list[Template]] = {service: [] for service in SHARES}
    for shape in normal_shapes():
        for _ in range(shape.count):
            before, after = _life(rng, shape)
            first[shape.service] += before
            second[shape.service] += after
    for service in ("web", "batch"):
        traces = [_trace(rng, words, service, _recurrent(rng)) for _ in range(_TRACES)]
        first[service] += traces[:-1]
        second[service] += traces[1:]
    return first, second


def _life(rng: Random, shape: Shape) -> tuple[list[Template], list[Template]]:
    """What the two releases say of a shape: the same, other words, or nothing in one or both."""
    if shape.weight == 0:
        return [], [_settled(rng, shape)] if rng.random() < _ADDED else []
    if shape.weight < _COMMON and rng.random() < _ABSENT:
        return [], []
    before = _settled(rng, shape)
    after = _settled(rng, shape) if rng.random() < _REWORDED else before
    return [before], [after]


def _recurrent(rng: Random) -> str:
    return rng.choice(("exception_java", "exception_java", "exception_python"))


def _new_trace(fleet: Fleet, rng: Random) -> Template:
    return _trace(rng, fleet.words, rng.choice(("web", "batch")), "exception_new")


def _trace(rng: Random, words: Mapping[str, Sequence[str]], service: str, kind: str) -> Template:
    """A stack trace of several lines; the slots in it are line numbers."""
    head = f"{rng.choice(words[kind])}: {rng.choice(words['trace_text'])}"
    frames = range(rng.randint(3, 6))
    if "." in head.split(":", maxsplit=1)[0]:
        lines = [head, *(_java_frame(rng, words) for _ in frames)]
    else:
        lines = ["Traceback (most recent call last):", *(_python_frame(rng, words) for _ in frames), head]
    return Template(service, "ERROR", "\n".join(lines), _TRACE_WEIGHT)


def _java_frame(rng: Random, words: Mapping[str, Sequence[str]]) -> str:
    package, name, call = (rng.choice(words[part]) for part in ("package", "class", "call"))
    return f"\tat com.example.{package}.{name}.{call}({name}.java:{{n}})"


def _python_frame(rng: Random, words: Mapping[str, Sequence[str]]) -> str:
    module = rng.choice(words["package"]).replace(".", "/")
    return f'  File "/srv/{module}.py", line {{n}}, in {rng.choice(words["call"])}'

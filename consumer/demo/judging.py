"""Labels and outputs brought together by the record's id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from consumer.demo.evaluation import Judged
from consumer.demo.labels import Labelled
from consumer.demo.outputs import DeadLetter, Output, Result
from consumer.normalize import Normalizer


def judge(
    labelled: Sequence[Labelled], ids: Sequence[str], outputs: Mapping[str, Sequence[Output]]
) -> list[Judged]:
    """What came out for each record, beside what it is. A record without output counts as not flagged."""
    normalizer = Normalizer()
    return [
        _judged(each, identity, outputs.get(identity), normalizer)
        for each, identity in zip(labelled, ids, strict=True)
    ]


def top(outputs: Iterable[Sequence[Output]], count: int) -> tuple[list[Result], int]:
    """The `count` oddest anomalies, each text once, and how many different texts were flagged."""
    normalizer = Normalizer()
    flagged = [o for each in outputs for o in each[:1] if isinstance(o, Result) and o.is_anomaly]
    flagged.sort(key=lambda result: -result.score)
    once = {normalizer.model_input(r.level, r.message): r for r in reversed(flagged)}
    different = sorted(once.values(), key=lambda result: -result.score)
    return different[:count], len(different)


def _judged(
    each: Labelled, identity: str, outputs: Sequence[Output] | None, normalizer: Normalizer
) -> Judged:
    first = outputs[0] if outputs else None
    if isinstance(first, Result) and first.outcome == "scored":
        item = normalizer.model_input(first.level, first.message)
        return Judged(each.truth, item, first.is_anomaly, first.known)
    return Judged(each.truth, identity, isinstance(first, DeadLetter))

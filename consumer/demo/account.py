"""Where every record went. Pure: ids and outputs in, one line for each way out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from consumer.demo.outputs import Output, Result


class Account(msgspec.Struct, frozen=True):
    """`outcomes`: records by what came out first for them. `missing`: nothing did. `duplicated`: more
    than once. `unknown`: ids that nobody produced."""

    produced: int
    outcomes: Mapping[str, int]
    missing: int
    duplicated: int
    unknown: int

    @property
    def exact(self) -> bool:
        """Every produced record has exactly one output record, and nothing else came out."""
        return not (self.missing or self.duplicated or self.unknown)


def account(ids: Sequence[str], outputs: Mapping[str, Sequence[Output]]) -> Account:
    produced = set(ids)
    if len(produced) != len(ids):
        raise ValueError("two produced records have the same id")
    seen = [outputs[i] for i in ids if i in outputs]
    outcomes = Counter(_outcome(each[0]) for each in seen)
    return Account(
        produced=len(ids),
        outcomes=dict(outcomes.most_common()),
        missing=len(ids) - len(seen),
        duplicated=sum(len(each) > 1 for each in seen),
        unknown=len(outputs.keys() - produced),
    )


def _outcome(output: Output) -> str:
    return output.outcome if isinstance(output, Result) else f"dead letter: {output.reason}"

"""What is left of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from confluent_kafka import Message

from tests.chaos.faults import Guarantee
from tests.chaos.fleet import Exit
from tests.chaos.schedule import Step
from tests.chaos.storm import Struck
from tests.kafka.checker import Violation
from tests.kafka.history import History


class Plan(NamedTuple):
    """What a trial is about. `seconds`: how long it is fed and struck."""

    seed: int
    guarantee: Guarantee
    assignor: str
    records: int
    seconds: float
    steps: Sequence[Step]

    @property
    def exact(self) -> bool:
        return self.guarantee is Guarantee.EXACTLY_ONCE


class Outcome(NamedTuple):
    """`history`: as a read_committed subscriber saw it. `committed` is what that one got, `everything` what
    a read_uncommitted one got. `found`: what strikes and the calm after the storm found wrong. `taken_back`:
    records of aborted transactions in the input."""

    plan: Plan
    history: History
    committed: Sequence[Message]
    everything: Sequence[Message]
    struck: Sequence[Struck]
    exits: Sequence[Exit]
    found: Sequence[Violation]
    taken_back: int
    partitions: int

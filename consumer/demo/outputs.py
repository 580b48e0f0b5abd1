"""Results and dead letters as a subscriber sees them: only what their public formats promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec


class Token(msgspec.Struct, frozen=True):
    """Characters [start, end) of the message that surprised the model."""

    start: int
    end: int
    surprisal: float


class Result(msgspec.Struct, frozen=True):
    """What is used of a result. schemas/result.schema.json has the rest."""

    id: str
    outcome: Literal["scored", "empty", "duplicate"]
    score: float = 0.0
    is_anomaly: bool = False
    threshold: float = 0.0
    parts: Mapping[str, float | None] = {}
    message: str = ""
    level: str | None = None
    tokens: tuple[Token, ...] = ()

    @property
    def known(self) -> bool:
        """The model saw this text in fitting: no part has an opinion of its own on it."""
        return self.outcome == "scored" and all(value is None for value in self.parts.values())


class DeadLetter(msgspec.Struct, frozen=True):
    id: str
    reason: str
    value: bytes = b""


Output: TypeAlias = Result | DeadLetter

"""How much of a user's own log is learnt in a demonstration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from consumer.codec import EventCodec
from consumer.normalize import Normalizer
from consumer.records import Event, Record
from consumer.settings import Input

FIT_LINES: Final = 15_000
FIT_CHARS: Final = 80_000
"""Learning ends at so many lines, or at so many characters of different texts, so that it takes minutes."""

_LEAST_TEXTS: Final = 150


def learnable(lines: Sequence[bytes]) -> int:
    """How many lines are learnt: those in front that hold at most FIT_CHARS characters of different
    model inputs, but enough of these for a threshold of 1 %; never more than half of all."""
    half = lines[: min(len(lines) // 2, FIT_LINES)]
    codec, normalizer, seen, chars = EventCodec(Input()), Normalizer(), set[str](), 0
    for index, value in enumerate(half):
        event = codec.decode(Record("file", 0, index, value))
        if isinstance(event, Event):
            item = normalizer.model_input(event.level, event.message)
            chars += 0 if item in seen else len(item)
            seen.add(item)
        if chars > FIT_CHARS and len(seen) > _LEAST_TEXTS:
            return index
    return len(half)

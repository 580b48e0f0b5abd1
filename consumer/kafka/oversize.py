"""Which result a broker found too large, when it refuses a whole request for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from consumer.kafka.messages import Outgoing
from consumer.records import Output, Reason, Rejection, TopicPartition

TOO_LARGE: Final = Rejection(Reason.UNPUBLISHABLE, "the broker refuses the result as too large")
DEAD_LETTER_TOO_LARGE: Final = (
    "dead letter larger than the topic's max.message.bytes (lower output.max_bytes)"
)

_Place = tuple[TopicPartition, int]


class Oversize:
    """Remembers over the repeats of a transaction who was refused: together with others it is a
    suspect, to be sent alone; alone it is a culprit, whose dead letter takes its place."""

    def __init__(self) -> None:
        self._refused: set[_Place] = set()
        self._suspects: set[_Place] = set()
        self._culprits: set[_Place] = set()

    def refused(self, outputs: Sequence[Output]) -> None:
        """These were in a request that the broker found too large."""
        self._refused.update(map(_place, outputs))

    def judged(self) -> str | None:
        """The transaction was aborted: draw the conclusions; the reason, if one is found that no repeat
        will mend."""
        culprits = self._refused & self._suspects
        hopeless = bool(culprits & self._culprits)
        self._culprits |= culprits
        self._suspects |= self._refused
        self._refused = set()
        return DEAD_LETTER_TOO_LARGE if hopeless else None

    def clear(self) -> None:
        """The transaction was committed: who is in it needs no memory any more."""
        self._suspects.clear()
        self._culprits.clear()

    def replaced(self, outputs: Sequence[Output]) -> Sequence[Output]:
        """With the dead letter in the place of each culprit."""
        if not self._culprits:
            return outputs
        return [Output(o.entry, TOO_LARGE) if _place(o) in self._culprits else o for o in outputs]

    def groups(
        self, outputs: Sequence[Output], messages: Sequence[Outgoing]
    ) -> Iterator[tuple[bool, Sequence[Outgoing]]]:
        """The messages in order, in groups that may share a request; True: alone, since it is suspect."""
        if not self._suspects:
            yield False, messages
            return
        numbered = enumerate(zip(outputs, messages, strict=True))
        suspects = ((n if _place(o) in self._suspects else -1, m) for n, (o, m) in numbered)
        for number, group in groupby(suspects, key=lambda each: each[0]):
            yield number >= 0, [message for _, message in group]


def _place(output: Output) -> _Place:
    record = output.entry.record
    return record.source, record.offset

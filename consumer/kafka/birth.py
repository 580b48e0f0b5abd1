"""How many partitions the input had when the group was born, carried in the metadata of its commits.

A partition beyond that count was added later: whatever it holds came after the group had begun, so it is
read from its beginning also where `input.start` is `latest`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from confluent_kafka import TopicPartition as KafkaPartition

from consumer.records import TopicPartition

_NOTE: Final = re.compile(r"partitions=(\d{1,9})")


class Births:
    """What each owned partition's commits say, as they said it before."""

    def __init__(self) -> None:
        self._notes: dict[TopicPartition, str] = {}

    def keep(self, partition: TopicPartition, committed: KafkaPartition) -> None:
        """The group has committed this one before: its note stays as it is."""
        self._notes[partition] = committed.metadata or ""

    def begin(self, partition: TopicPartition, count: int) -> None:
        """Its first commit will tell that the group was born with so many partitions."""
        self._notes[partition] = f"partitions={count}"

    def position(self, partition: TopicPartition, offset: int) -> KafkaPartition:
        """What is committed for an owned partition."""
        note = self._notes.get(partition)
        return KafkaPartition(*partition, offset, note) if note else KafkaPartition(*partition, offset)


def known_at_birth(committed: Iterable[KafkaPartition]) -> int | None:
    """The least count that the group's commits tell; None where none tells any."""
    notes = (_NOTE.fullmatch(each.metadata or "") for each in committed if each.offset >= 0)
    return min((int(note[1]) for note in notes if note), default=None)

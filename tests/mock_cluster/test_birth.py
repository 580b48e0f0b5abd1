"""What the group's commits say of its birth."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.kafka.birth import Births, known_at_birth
from consumer.records import TopicPartition

P0 = TopicPartition("events", 0)


def test_the_first_commit_of_a_partition_tells_how_many_there_were() -> None:
    births = Births()
    births.begin(P0, 6)
    position = births.position(P0, 17)
    assert (position.topic, position.partition, position.offset) == ("events", 0, 17)
    assert known_at_birth([position]) == 6


def test_what_was_told_before_stays() -> None:
    births = Births()
    births.keep(P0, KafkaPartition("events", 0, 5, "partitions=3"))
    assert births.position(P0, 6).metadata == "partitions=3"


def test_a_commit_of_somebody_who_tells_nothing_is_followed_by_ones_that_tell_nothing() -> None:
    """An earlier version, or an operator who moved the offset."""
    births = Births()
    births.keep(P0, KafkaPartition("events", 0, 5))
    position = births.position(P0, 6)
    assert position.offset == 6
    assert not position.metadata


@pytest.mark.parametrize("note", ["", "partitions=", "partitions=x", "a note of somebody else"])
def test_other_notes_tell_nothing(note: str) -> None:
    assert known_at_birth([KafkaPartition("events", 0, 5, note)]) is None


def test_the_least_of_what_is_told_counts_and_nothing_without_an_offset() -> None:
    told = [
        KafkaPartition("events", 0, 5, "partitions=8"),
        KafkaPartition("events", 1, 5, "partitions=6"),
        KafkaPartition("events", 2, -1001, "partitions=2"),
        KafkaPartition("events", 3, 5),
    ]
    assert known_at_birth(told) == 6

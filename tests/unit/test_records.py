"""Runs of records that share a partition."""

from __future__ import annotations

from consumer.records import Record, runs

from .world.scene import P0, P1


def records(*partitions: int) -> list[Record]:
    return [Record("in", partition, offset, b"x") for offset, partition in enumerate(partitions)]


def test_no_records_have_no_runs() -> None:
    assert list(runs([])) == []


def test_one_partition_is_one_run() -> None:
    assert list(runs(records(0, 0, 0))) == [(P0, 0, 3)]


def test_a_partition_that_comes_back_begins_another_run() -> None:
    assert list(runs(records(0, 1, 1, 0))) == [(P0, 0, 1), (P1, 1, 3), (P0, 3, 4)]


def test_the_same_number_in_another_topic_is_another_partition() -> None:
    mixed = [Record("in", 0, 5, b"x"), Record("other", 0, 5, b"x")]
    assert [(tp.topic, first, end) for tp, first, end in runs(mixed)] == [("in", 0, 1), ("other", 1, 2)]

"""What an audit reads: settled from the brokers' answers, in the order that a running consumer allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import click
import pytest

from consumer.cli_verify import _partitions, _time
from consumer.errors import Misconfigured
from consumer.settings import DeadLetter, Input, Results, Settings
from consumer.verify.broker import At
from consumer.verify.plan import Asked, Plan, make_plan
from consumer.verify.reader import Span
from consumer.verify.window import Range

SETTINGS = Settings(
    input=Input(topic="in"), output=Results(topic="out"), dead_letter=DeadLetter(topic="dead")
)
ONE_MINUTE = 60_000


class FakeBroker:
    """Answers as told, and remembers in which order it was asked. Record n of a partition is n minutes old,
    counted from the epoch."""

    def __init__(self, **changes: Any) -> None:
        self.bounds: dict[str, list[tuple[int, int]]] = {
            "in": [(0, 100), (20, 50)],
            "out": [(0, 90), (0, 10)],
            "dead": [(0, 0)],
        } | changes.get("bounds", {})
        self.commits: dict[int, int] = changes.get("commits", {0: 80, 1: 40})
        self.compacted: dict[str, bool | None] = changes.get("compacted", {})
        self.asked: list[str] = []

    def partitions(self, topic: str) -> list[int]:
        return list(range(len(self.bounds[topic])))

    def committed(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        self.asked.append("commits")
        return {p: self.commits[p] for p in partitions if p in self.commits}

    def lows(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return {p: self.bounds[topic][p][0] for p in partitions}

    def highs(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        self.asked.append(f"end of {topic}")
        return {p: self.bounds[topic][p][1] for p in partitions}

    def since(self, topic: str, partitions: Sequence[int], timestamp: int) -> dict[int, At]:
        found = {}
        for p in partitions:
            low, high = self.bounds[topic][p]
            offset = max(low, -(-timestamp // ONE_MINUTE))
            found[p] = At(offset, offset * ONE_MINUTE) if offset < high else At(-1, -1)
        return found

    def is_compacted(self, topic: str) -> bool | None:
        return self.compacted.get(topic, False)


def plan(asked: Asked = Asked(), **changes: Any) -> Plan:  # noqa: B008 - a frozen value
    return make_plan(FakeBroker(**changes), SETTINGS, asked)  # type: ignore[arg-type]


def spans(made: Plan) -> dict[int, tuple[int, int]]:
    return {p: (each.start, each.end) for p, each in made.ranges.items()}


def test_from_the_first_readable_record_to_the_commit_and_all_of_the_output() -> None:
    made = plan()
    assert made.ranges == {0: Range(0, 80, 80, 0, 100), 1: Range(20, 40, 40, 20, 50)}
    assert made.outputs == {"out": {0: Span(0, 90), 1: Span(0, 10)}, "dead": {0: Span(0, 0)}}
    assert (made.known, made.removed_until, made.notes) == (frozenset({0, 1}), None, ())


def test_commits_are_asked_before_the_ends_of_the_output_and_the_input_last() -> None:
    broker = FakeBroker()
    make_plan(broker, SETTINGS, Asked())  # type: ignore[arg-type]
    assert broker.asked == ["commits", "end of out", "end of dead", "end of in"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Asked(from_offset=30), {0: (30, 80), 1: (30, 40)}),
        (Asked(until_offset=30), {0: (0, 30), 1: (20, 30)}),
        (Asked(from_offset=90), {0: (90, 90), 1: (90, 90)}),
        (Asked(partitions=frozenset({1})), {1: (20, 40)}),
        (Asked(since=25 * ONE_MINUTE), {0: (25, 80), 1: (25, 40)}),
        (Asked(until=25 * ONE_MINUTE), {0: (0, 25), 1: (20, 25)}),
        (Asked(since=200 * ONE_MINUTE), {0: (100, 100), 1: (50, 50)}),
        (Asked(until=200 * ONE_MINUTE), {0: (0, 80), 1: (20, 40)}),
    ],
    ids=str,
)
def test_a_range_is_where_all_limits_meet(asked: Asked, expected: dict[int, tuple[int, int]]) -> None:
    assert spans(plan(asked)) == expected


def test_a_commit_beyond_the_log_ends_the_range_at_the_log() -> None:
    made = plan(commits={0: 120, 1: 40})
    assert made.ranges[0] == Range(0, 100, 120, 0, 100)


def test_what_cannot_be_audited_of_a_partition_is_told() -> None:
    assert "[1]: the group has committed nothing" in plan(commits={0: 80}).notes[0]
    assert "[1]: retention removed offsets 5 to 19" in plan(commits={0: 80, 1: 5}).notes[0]


def test_output_that_was_removed_is_as_old_as_the_oldest_that_is_left() -> None:
    removed = {"out": [(30, 90), (5, 10)]}
    assert plan(bounds=removed).removed_until == 30 * ONE_MINUTE
    assert plan(bounds={"dead": [(7, 7)]}).removed_until == inf


def test_a_compacted_output_topic_may_have_lost_anything_and_an_unknown_one_is_noted() -> None:
    made = plan(compacted={"out": True, "in": True, "dead": None})
    assert (made.removed_until, made.compacted) == (inf, {"out", "in"})
    assert made.notes == ("topic dead: taken as not compacted, since its configuration may not be read",)
    assert plan(compacted={"in": True}).removed_until is None


@pytest.mark.parametrize(
    ("asked", "changes", "why"),
    [
        (Asked(), {"commits": {}}, "has committed nothing"),
        (Asked(partitions=frozenset({0, 7})), {}, "no partition 7, only 0 to 1"),
        (Asked(memory=1), {"bounds": {"in": [(0, 10**6), (0, 0)]}, "commits": {0: 10**6}}, "13 MiB"),
    ],
    ids=["no commit", "no partition", "too much"],
)
def test_what_cannot_be_audited_at_all_is_refused(asked: Asked, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        plan(asked, **changes)


# ------------------------------------------------------------------------------------------- the options


CONTEXT: Any = None


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, None), ("0", {0}), ("0,3-5", {0, 3, 4, 5}), (" 7 , 1", {1, 7})],
)
def test_partitions_are_numbers_and_spans(text: str | None, expected: set[int] | None) -> None:
    assert _partitions(CONTEXT, CONTEXT, text) == expected


@pytest.mark.parametrize("text", ["", "a", "1,", "-1", "1-", "1-2-3", "5-3", "99999999"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        _partitions(CONTEXT, CONTEXT, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, None), ("1764500000000", 1_764_500_000_000), ("2025-11-30T10:53:20Z", 1_764_500_000_000),
     ("2025-11-30T10:53:20", 1_764_500_000_000), ("2025-11-30T12:53:20+02:00", 1_764_500_000_000)],
)  # fmt: skip
def test_a_time_is_a_moment_in_utc_unless_it_says_otherwise(text: str | None, expected: int | None) -> None:
    assert _time(CONTEXT, CONTEXT, text) == expected


def test_a_time_may_be_a_while_ago() -> None:
    hour, day = _time(CONTEXT, CONTEXT, "1h"), _time(CONTEXT, CONTEXT, "1d")
    assert hour is not None
    assert day is not None
    assert 22.9 < (hour - day) / 3_600_000 < 23.1


@pytest.mark.parametrize("text", ["", "yesterday", "2h30m", "-1h", "2026-13-01"])
def test_any_other_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        _time(CONTEXT, CONTEXT, text)

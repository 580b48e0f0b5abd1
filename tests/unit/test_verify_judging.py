"""What the audit makes of input and output records, once read: each fault alone, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.verify.findings import Findings, Kind, Where, breaks
from consumer.verify.judge import Judge, Part, Side
from consumer.verify.order import Line
from consumer.verify.outputs import Output
from consumer.verify.report import Partition, Report, Verdict
from consumer.verify.tally import Excuses, tally
from consumer.verify.text import lines
from consumer.verify.window import EMPTY, OLD, SEEN, Models, Range, Window

KEY, PRINT = 7, 99


class Scene:
    """One input partition, number 3, of ten records at offsets 100 to 109, all committed; the log holds ten
    more."""

    def __init__(self, end: int = 110, committed: int | None = 110, **side: Any) -> None:
        self.part = Part("events", 3, Range(100, end, committed, 100, 120))
        self.judge = Judge(Side("group", "events", "scores", "dead", **side), {3: self.part}, {2, 3})
        self.at = 0

    def see(self, *offsets: int, flags: int = 0) -> Scene:
        for offset in offsets:
            self.part.window.see(offset, KEY, flags)
        return self

    def take(self, *offsets: int, **changes: Any) -> Scene:
        """Right output records of these, but for `changes`."""
        for offset in offsets:
            usual: dict[str, Any] = {
                "place": 0,
                "at": self.at,
                "dead": False,
                "group": "group",
                "topic": "events",
                "partition": 3,
                "offset": offset,
                "id": f"events|3|{offset}",
                "outcome": "scored",
                "key": KEY,
                "fingerprint": PRINT,
                "score": 1.0,
                "model": "m",
            }
            self.judge.take(Output(**(usual | changes)))
            self.at += 1
        return self

    def reject(self, *offsets: int, **changes: Any) -> Scene:
        return self.take(*offsets, **({"dead": True, "outcome": "invalid", "model": None} | changes))

    def partition(self, excuses: Excuses = Excuses()) -> Partition:  # noqa: B008 - a frozen value
        self.judge.end()
        return tally(self.part, excuses, self.judge.findings)

    def found(self, excuses: Excuses = Excuses()) -> dict[Kind, int]:  # noqa: B008 - a frozen value
        """Of every kind that was found, how many."""
        of_partition = self.partition(excuses).found
        unplaced = self.judge.findings.of(None)
        return {kind: n for kind in Kind if (n := of_partition[kind] + unplaced[kind])}


ALL = range(100, 110)


def test_one_output_record_for_each_input_record_is_what_is_promised() -> None:
    scene = Scene().see(*ALL).take(*range(100, 108)).take(108, outcome="empty").reject(109)
    part = scene.partition()
    assert not any(part.found.values())
    assert (part.records, part.results, part.dead_letters) == (10, {"scored": 8, "empty": 1}, {"invalid": 1})


def test_offsets_without_a_readable_record_are_not_missing() -> None:
    assert Scene().see(100, 105).take(100, 105).found() == {}


def test_a_record_without_an_output_record_is_missing_and_named() -> None:
    scene = Scene().see(*ALL).take(100, 101, 104, 105, 107, 108, 109)
    assert scene.found() == {Kind.MISSING: 3}
    assert [(f.at, f.what.split()[0]) for f in scene.judge.findings.named()] == [
        ("events[3]@102", "2"),
        ("events[3]@106", "1"),
    ]


def test_a_run_of_missing_records_goes_on_over_a_gap_without_records() -> None:
    scene = Scene().see(100, 101, 108, 109).take(100, 109)
    assert scene.found() == {Kind.MISSING: 2}
    assert [f.at for f in scene.judge.findings.named()] == ["events[3]@101"]


def test_missing_ones_right_below_the_commit_are_a_commit_ahead_of_the_output() -> None:
    scene = Scene().see(*ALL).take(*range(100, 107))
    assert scene.found() == {Kind.MISSING: 3, Kind.AHEAD: 3}
    assert scene.judge.findings.named()[-1].at == "events[3]@107"


def test_missing_ones_at_the_end_of_a_range_that_ends_earlier_are_only_missing() -> None:
    assert Scene(end=108).see(*range(100, 108)).take(*range(100, 106)).found() == {Kind.MISSING: 2}


def test_a_commit_beyond_the_log_is_ahead_of_it() -> None:
    assert Scene(committed=125).see(*ALL).take(*ALL).found() == {Kind.AHEAD: 5}


def test_a_partition_without_a_commit_has_nothing_to_answer_for() -> None:
    assert Scene(end=100, committed=None).take(100, 119).found() == {}


def test_the_same_again_is_a_duplicate_and_no_break_of_at_least_once() -> None:
    assert Scene().see(*ALL).take(*ALL).take(104, 105, 104).found() == {Kind.DUPLICATE: 3}
    assert Kind.DUPLICATE not in breaks("at-least-once")
    assert Kind.DUPLICATE in breaks("exactly-once")
    assert all(Kind.RESCORED not in breaks(guarantee) for guarantee in ("at-least-once", "exactly-once"))


@pytest.mark.parametrize(("score", "kind"), [(1.001, Kind.DUPLICATE), (1.1, Kind.DIFFERING)])
def test_the_score_of_a_repeat_may_move_by_the_tolerance_only(score: float, kind: Kind) -> None:
    assert Scene().see(*ALL).take(*ALL).take(104, score=score).found() == {kind: 1}


def test_a_repeat_with_another_content_differs() -> None:
    assert Scene().see(*ALL).take(*ALL).take(104, fingerprint=1).found() == {Kind.DIFFERING: 1}


def test_a_repeat_by_another_model_is_named_apart_and_what_follows_is_compared_with_it() -> None:
    scene = Scene().see(*ALL).take(*ALL).take(104, model="n", score=3.0).take(104, model="n", score=3.0)
    assert scene.found() == {Kind.RESCORED: 1, Kind.DUPLICATE: 1}
    assert scene.judge.models() == ["m", "n"]


def test_a_result_and_a_dead_letter_for_one_record_contradict_each_other() -> None:
    assert Scene().see(*ALL).take(*ALL).reject(104).found() == {Kind.CONFLICT: 1}


def test_whether_an_event_came_before_may_be_answered_in_two_ways() -> None:
    changes = {"outcome": "duplicate", "fingerprint": 1, "score": 0.0, "first": (3, 100)}
    assert Scene().see(*ALL).take(*ALL).take(104, **changes).found() == {Kind.DUPLICATE: 1}


def test_a_duplicate_of_a_record_that_does_not_exist_suppressed_the_only_copy() -> None:
    scene = Scene().see(*range(100, 109)).take(*range(100, 108))
    assert scene.take(108, outcome="duplicate", first=(3, 109)).found() == {Kind.WRONG_OUTCOME: 1}


def test_the_first_record_of_a_duplicate_may_lie_where_the_audit_does_not_look() -> None:
    for first in ((3, 50), (3, 115), (2, 5)):
        scene = Scene().see(*ALL).take(*range(100, 109)).take(109, outcome="duplicate", first=first)
        assert scene.found() == {}


def test_an_output_record_of_no_readable_record_is_a_phantom() -> None:
    assert Scene().see(*range(100, 109)).take(*ALL).found() == {Kind.PHANTOM: 1}


@pytest.mark.parametrize(("partition", "offset"), [(3, 120), (3, 10**15), (4, 100), (-1, 100)])
def test_an_output_record_of_a_place_that_no_log_has_is_a_phantom(partition: int, offset: int) -> None:
    scene = Scene().see(*ALL).take(*ALL)
    name = f"events|{partition}|{offset}"
    assert scene.take(offset, partition=partition, id=name).found() == {Kind.PHANTOM: 1}


def test_on_both_sides_of_the_range_output_records_are_counted_and_not_judged() -> None:
    part = Scene().see(*ALL).take(99, 5).take(*ALL).take(110, 119, 115).partition()
    assert (part.before, part.beyond) == (2, 3)
    assert not any(part.found.values())


def test_in_a_compacted_input_a_result_without_its_record_proves_nothing() -> None:
    scene = Scene(compacted_input=True).see(*range(100, 109)).take(*ALL)
    assert scene.found() == {}
    assert sum(scene.judge.others.values()) == 1


@pytest.mark.parametrize(
    "changes",
    [{"group": "other"}, {"topic": "other", "id": "other|3|100"}, {"id": "old-events|3|100"}, {"partition": 2,
     "id": "events|2|100"}, {"dead": True, "group": None}],
    ids=str,
)  # fmt: skip
def test_what_is_not_this_groups_is_counted_apart(changes: dict[str, Any]) -> None:
    scene = Scene().see(*ALL).take(*ALL).take(100, **changes)
    assert scene.found() == {}
    assert sum(scene.judge.others.values()) == 1


def test_an_id_prefix_is_honoured() -> None:
    scene = Scene(prefix="v2-").see(100).take(100, id="v2-events|3|100").take(100)
    assert scene.found() == {}
    assert scene.judge.others == {"other id prefixes": 1}


@pytest.mark.parametrize("name", ["events|3|101", "events|4|100", "", "events-3-100"])
def test_an_id_that_is_not_that_of_the_coordinates_is_wrong(name: str) -> None:
    assert Scene().see(100).take(100, id=name).found() == {Kind.WRONG_ID: 1}


def test_another_key_than_the_inputs_is_wrong_unless_it_was_cut() -> None:
    assert Scene().see(100).take(100, key=8).found() == {Kind.WRONG_KEY: 1}
    assert Scene().see(100).reject(100, key=None).found() == {}


def test_an_empty_record_cannot_be_scored() -> None:
    assert Scene().see(100, flags=EMPTY).take(100).found() == {Kind.WRONG_OUTCOME: 1}
    assert Scene().see(100, flags=EMPTY).take(100, outcome="empty").found() == {}


def test_faults_of_the_record_itself_are_counted_and_it_still_answers_for_its_input() -> None:
    faults = ((Kind.NON_FINITE, "score"), (Kind.MALFORMED, "odd"))
    assert Scene().see(100).take(100, faults=faults).found() == {Kind.NON_FINITE: 1, Kind.MALFORMED: 1}


def test_what_cannot_be_placed_is_counted_without_a_partition() -> None:
    scene = Scene().see(100).take(100)
    scene.take(
        0, group=None, topic=None, partition=None, offset=None, id=None, faults=((Kind.MALFORMED, "x"),)
    )
    assert scene.found() == {Kind.MALFORMED: 1}
    assert scene.judge.findings.of(None)[Kind.MALFORMED] == 1


# ---------------------------------------------------------------------------------------------- excuses


def test_behind_an_open_transaction_nothing_is_called_missing() -> None:
    scene = Scene().see(*ALL).take(*range(100, 107))
    part = scene.partition(Excuses(output_held=True))
    assert (part.blocked, part.found[Kind.MISSING], part.found[Kind.AHEAD]) == (3, 0, 0)


def test_records_as_old_as_removed_output_are_expired_and_younger_ones_missing() -> None:
    scene = Scene().see(100, 101, flags=OLD).see(*range(102, 110)).take(101, *range(103, 110))
    part = scene.partition()
    assert (part.expired, part.found[Kind.MISSING]) == (1, 1)


def test_where_output_was_removed_while_it_was_read_nothing_is_called_missing() -> None:
    part = Scene().see(*ALL).take(105).partition(Excuses(output_removed=True))
    assert (part.expired, part.found[Kind.MISSING]) == (9, 0)


def test_a_group_that_may_have_begun_anywhere_began_at_its_first_output_record() -> None:
    part = Scene().see(*ALL).take(104, 105, 107, 108, 109).partition(Excuses(late_start=True))
    assert (part.before_first, part.found[Kind.MISSING]) == (4, 1)


def test_input_that_was_removed_during_the_audit_is_not_judged() -> None:
    scene = Scene().see(*range(104, 110))
    scene.part.window.forget_below(104)
    part = scene.take(102, *range(104, 110)).partition()
    assert (part.start, part.before, part.records) == (104, 1, 6)
    assert not any(part.found.values())


def test_input_that_could_not_be_read_is_not_judged() -> None:
    scene = Scene().see(*range(100, 106))
    scene.part.window.forget_from(106)
    part = scene.take(*range(100, 110)).partition()
    assert (part.end, part.beyond, part.records) == (106, 4, 6)
    assert not any(part.found.values())


# ------------------------------------------------------------------------------------------------- order


def late(offsets: list[int], *, exact: bool = False) -> int:
    """How many are out of order in a log of results of one partition."""
    line, seen, count = Line(exact=exact), set[int](), 0
    for at, offset in enumerate(offsets):
        found = line.take(offset, at, first=offset not in seen)
        seen.add(offset)
        count += found.records if found else 0
    found = line.end()
    return count + (found.records if found else 0)


@pytest.mark.parametrize(
    ("offsets", "broken"),
    [
        ([1, 2, 3, 7, 9], 0),
        ([1, 2, 3, 2, 3, 4], 0),  # a restart repeats the end
        ([1, 2, 3, 1, 2, 3, 1, 2, 3, 4], 0),
        ([1, 3, 2, 4], 1),
        ([1, 3, 2], 1),
        ([1, 4, 5, 2, 3, 6], 2),
        ([1, 3, 4, 2, 3, 4, 5], 0),  # a send of 2 failed for good: it and all behind it are repeated
        ([1, 3, 4, 2, 3, 5], 1),  # not all of it
        ([1, 3, 4, 2, 3], 1),
        ([5, 4, 5, 3, 4, 5, 6], 0),
        ([1, 2, 3, 4, 5, 2, 3], 0),  # a former owner's late deliveries
    ],
    ids=str,
)
def test_first_results_are_in_order_unless_all_that_overtook_them_is_repeated(
    offsets: list[int], broken: int
) -> None:
    assert late(offsets) == broken


@given(st.lists(st.integers(0, 12), max_size=40))
def test_exactly_once_counts_every_first_result_that_comes_behind_a_later_record(offsets: list[int]) -> None:
    firsts = list(dict.fromkeys(offsets))
    behind = sum(offset < max(firsts[: i + 1]) for i, offset in enumerate(firsts))
    assert late(offsets, exact=True) == behind
    assert late(offsets) <= behind


def test_results_of_one_partition_in_several_output_partitions_have_an_order_each() -> None:
    scene = Scene().see(*ALL)
    for even, odd in zip(range(108, 98, -2), range(109, 99, -2), strict=True):
        scene.take(208 - even, place=0).take(210 - odd, place=1)
    assert scene.found() == {}


def test_an_order_break_is_named_where_its_result_lies() -> None:
    scene = Scene().see(*ALL).take(100, 101, 103, 102, *range(104, 110))
    assert scene.found() == {Kind.ORDER: 1}
    assert scene.judge.findings.named()[0].at == "scores[0]@3"


# --------------------------------------------------------------------------------------- window, findings


def test_a_window_of_no_offsets_is_one() -> None:
    window = Window(5, 5)
    assert window.index(5) is None
    assert not window.has(SEEN).any()
    assert list(window.runs(window.has(SEEN))) == []


@given(st.lists(st.sampled_from("gsm"), max_size=30))
def test_runs_are_the_wanted_records_between_unwanted_ones(states: list[str]) -> None:
    window = Window(10, 10 + len(states))
    for i, state in enumerate(states):
        if state != "g":
            window.see(10 + i, 0, EMPTY if state == "m" else 0)
    pieces = "".join(state for state in states if state != "g").split("s")
    runs = list(window.runs(window.has(EMPTY)))
    assert [count for _, count in runs] == [len(piece) for piece in pieces if piece]
    assert all(states[first - 10] == "m" for first, _ in runs)


def test_versions_beyond_the_last_number_share_it() -> None:
    models = Models()
    numbers = [models.number(str(i)) for i in range(300)]
    assert numbers[:254] == list(range(1, 255))
    assert set(numbers[254:]) == {255}
    assert models.number("7") == 8


def test_only_the_first_few_of_a_kind_are_named_and_all_are_counted() -> None:
    findings = Findings()
    for i in range(20):
        findings.add(Kind.PHANTOM, 1, Where("t", 0, i), "x", 2)
    assert findings.of(1)[Kind.PHANTOM] == 40
    assert len(findings.named()) == 5


# ------------------------------------------------------------------------------------------------ report


def report(*scenes: Scene, guarantee: str = "at-least-once", **changes: Any) -> Report:
    values: dict[str, Any] = {
        "group": "group",
        "guarantee": guarantee,
        "input": "events",
        "results": "scores",
        "dead_letters": "dead",
        "partitions": [scene.partition() for scene in scenes],
        "unplaced": Findings().of(None),
        "findings": [],
        "held": [],
        "others": {},
        "models": ["m"],
        "notes": [],
        "doubts": [],
        "seconds": 1.0,
    }
    return Report(**(values | changes))


def test_a_guarantee_holds_breaks_or_stays_open() -> None:
    good, repeated = Scene().see(*ALL).take(*ALL), Scene().see(*ALL).take(*ALL).take(100)
    assert report(good).verdict() is Verdict.HOLDS
    assert report(good, doubts=["why"]).verdict() is Verdict.CANNOT_SAY
    assert report(repeated).verdict() is Verdict.HOLDS
    assert report(repeated, guarantee="exactly-once", doubts=["why"]).verdict() is Verdict.BROKEN


def test_the_sentence_says_what_is_proven_and_what_is_not() -> None:
    good = Scene().see(*ALL).take(*ALL)
    assert report(good).sentence() == "at-least-once holds for 10 records"
    assert "cannot say" in report(good, doubts=["so it is"]).sentence()
    old = Scene().see(100, 101, flags=OLD).see(102).take(102)
    assert report(old).sentence() == "at-least-once holds for 1 record; of 2 the output may have been removed"
    broken = report(Scene().see(*ALL).take(*range(100, 109)))
    assert broken.sentence() == "at-least-once is broken: 1 missing, 1 commit ahead"


def test_the_text_has_a_row_for_each_partition_and_a_sum() -> None:
    text = list(lines(report(Scene().see(*ALL).take(*ALL).reject(104), Scene().see(100).take(100))))
    assert text[0] == "group group, at-least-once: events -> scores, dead"
    head, first, second, total = (line.split() for line in text[1:5])
    assert "result and dead letter" in text[1]
    assert first[:3] == ["3", "100..110", "10"]
    assert second[:3] == ["3", "100..110", "1"]
    assert total[:2] == ["all", "11"]
    assert {len(line) for line in text[1:5]} == {len(text[1])}
    assert head[0] == "partition"

"""How many bad records are too many."""

from __future__ import annotations

import pytest

from consumer.errors import Fatal
from consumer.limits import BadRecordLimits
from consumer.records import Empty, Entry, Output, Reason, Record, Rejection, TopicPartition, Verdict
from consumer.settings import DeadLetter

from .world.scene import P0, P1

BAD = Rejection(Reason.UNDECODABLE, "not JSON")


def outputs(pattern: str, partition: TopicPartition = P0, first: int = 0) -> list[Output]:
    """A batch: `x` is a bad record, `.` a good one."""
    made = []
    for offset, letter in enumerate(pattern, first):
        record = Record(*partition, offset, b"x")
        verdict: Verdict = BAD if letter == "x" else Empty()
        made.append(Output(Entry(record, Empty()), verdict))
    return made


def limits(max_run: int = 3, max_ratio: float = 0.5, ratio_window: int = 10) -> BadRecordLimits:
    return BadRecordLimits(DeadLetter(max_run=max_run, max_ratio=max_ratio, ratio_window=ratio_window))


def test_a_run_up_to_the_limit_is_fine() -> None:
    limits().check(outputs(".xxx.xxx."))


def test_a_longer_run_is_fatal_and_names_place_reason_and_setting() -> None:
    with pytest.raises(Fatal, match=r"4 bad records in a row on in\[0\], last at offset 4 \(undecodable"):
        limits().check(outputs(".xxxx"))
    with pytest.raises(Fatal, match=r"raise dead_letter.max_run \(now 3\)"):
        limits().check(outputs(".xxxx"))


def test_a_run_goes_on_from_one_batch_to_the_next() -> None:
    some = limits()
    some.check(outputs("..xx"))
    with pytest.raises(Fatal, match="4 bad records in a row"):
        some.check(outputs("xx..", first=4))


def test_a_run_in_the_middle_of_a_batch_is_seen() -> None:
    with pytest.raises(Fatal):
        limits().check(outputs("..xxxx.."))


def test_runs_are_counted_per_partition_even_when_their_records_alternate() -> None:
    mixed = [o for pair in zip(outputs("xxx"), outputs("...", P1), strict=True) for o in pair]
    some = limits()
    some.check(mixed)
    some.check(outputs("xx", P1))
    with pytest.raises(Fatal, match=r"on in\[0\]"):
        some.check(outputs("x", first=3))


def test_a_share_within_the_limit_is_fine() -> None:
    some = limits()
    for _ in range(20):
        some.check(outputs("x.x."))


def test_a_larger_share_is_fatal_once_the_window_is_full() -> None:
    some = limits()
    some.check(outputs("xx.xx.xx."))  # nine records: not a window yet
    with pytest.raises(Fatal, match=r"7 of the last 10 records are bad.*dead_letter.max_ratio \(now 0.5\)"):
        some.check(outputs("x"))


def test_the_share_is_taken_over_the_recent_past_only() -> None:
    some = limits()
    for _ in range(100):
        some.check(outputs("....."))
    some.check(outputs("xx.xx"))
    with pytest.raises(Fatal, match=r"dead_letter\.max_ratio"):
        some.check(outputs("x.xx."))


def test_one_batch_may_be_larger_than_the_window() -> None:
    with pytest.raises(Fatal, match="12 of the last 18"):
        limits().check(outputs("xx." * 6))


def test_a_partition_that_left_begins_anew() -> None:
    some = limits()
    some.check(outputs("xxx"))
    some.forget(P0)
    some.forget(P1)
    some.check(outputs("xxx", first=3))


def test_good_records_never_stop_the_process_whatever_the_past_was() -> None:
    some = limits(max_run=100, max_ratio=0.5, ratio_window=4)
    with pytest.raises(Fatal):
        some.check(outputs("xxxx"))
    some.check(outputs("."))

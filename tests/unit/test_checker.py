"""The judge is judged: a sound history passes, and every planted fault is found by its rule."""

from __future__ import annotations

import pytest

from tests.kafka.checker import check
from tests.kafka.commits import stale_reads
from tests.kafka.history import Action, Happening, History, Sent, Written, owned_at, samples_until_recovery
from tests.unit.planted import (
    happenings,
    output,
    repeated,
    rules,
    sample,
    sound,
    with_happenings,
    with_written,
)


def test_a_sound_history_passes_although_offsets_have_gaps() -> None:
    assert check(sound()) == []
    assert rules(sound()) == set()


@pytest.mark.parametrize("at", range(20))
def test_a_lost_record_is_found_wherever_it_is(at: int) -> None:
    assert {"I1", "I5", "I2"} <= rules(with_written(lambda outputs: outputs.pop(at)))


def test_a_record_lost_above_the_last_commit_is_found_by_equality_alone() -> None:
    history = with_written(lambda outputs: outputs.pop(9))
    history = history._replace(samples=[s for s in history.samples if s.committed[0] <= 7])
    assert rules(history) == {"I5"}


@pytest.mark.parametrize("partition", [0, 1])
def test_a_commit_ahead_of_the_output_is_found_in_a_single_sample(partition: int) -> None:
    history = sound()
    early = history.samples[1]
    early = early._replace(committed={**early.committed, partition: 3})
    assert rules(history._replace(samples=[*history.samples[:1], early, *history.samples[2:]])) == {"I2"}


def test_a_commit_ahead_of_a_dead_letter_is_found() -> None:
    history = sound()
    late = history.samples[3]
    ends = {place: end for place, end in late.ends.items() if place[0] != "dead"}
    samples = [*history.samples[:3], late._replace(ends=ends), history.samples[4]]
    assert rules(history._replace(samples=samples)) == {"I2"}


def test_a_committed_offset_that_goes_back_is_found_between_samples() -> None:
    history = sound()
    back = sample(9.0, 2, history.written, history.sent)
    assert rules(history._replace(samples=[*history.samples, back])) == {"I3"}


def test_a_committed_offset_that_goes_back_is_found_in_the_log_of_one_owner() -> None:
    asked = Happening(3.4, "a", Action.ASKED, {0: 6})
    accepted = Happening(3.5, "a", Action.COMMITTED, {0: 6})
    assert rules(with_happenings(asked, accepted)) == {"I3"}


def test_an_answer_that_comes_late_is_no_commit_that_goes_back() -> None:
    assert rules(with_happenings(Happening(3.4, "a", Action.COMMITTED, {0: 6}))) == set()


def read_stale(moved: float | None, healed: bool) -> History:
    """A sample tells what was committed before the one before it; then the truth again, or not."""
    history = sound()
    stale = history.samples[2]._replace(at=4.5)
    truth = [history.samples[4]._replace(at=5.0)] if healed else []
    more = [] if moved is None else [Happening(moved, "the rig", Action.MOVED)]
    return history._replace(
        samples=[*history.samples, stale, *truth], happenings=sorted([*history.happenings, *more])
    )


def test_a_broker_that_took_the_group_over_may_tell_for_a_moment_what_was_committed_before() -> None:
    assert rules(read_stale(moved=4.2, healed=True)) == set()
    assert stale_reads(read_stale(moved=4.2, healed=True)) == 2  # in each of two partitions
    assert rules(read_stale(moved=None, healed=True)) == {"I3"}
    assert rules(read_stale(moved=4.2, healed=False)) == {"I3"}


def test_an_owner_that_starts_behind_an_accepted_commit_is_found() -> None:
    behind = [h if h.at != 2.5 else h._replace(offsets={1: 5}) for h in happenings()]
    behind = [h if h.at != 2.6 else h._replace(offsets={1: 5}, counts={1: 7}) for h in behind]
    assert rules(sound()._replace(happenings=behind)) == {"I3"}


def test_a_result_without_an_input_record_is_found() -> None:
    ghost = output(Sent(0, 3, None, None, "scored"), ("results", 5), 0)
    assert rules(with_written(lambda outputs: outputs.append(ghost))) == {"I7"}


def test_a_result_with_the_id_of_another_record_is_found() -> None:
    def rename(outputs: list[Written]) -> None:
        outputs[2] = outputs[2]._replace(claimed=outputs[3].claimed)

    assert rules(with_written(rename)) == {"I7"}


@pytest.mark.parametrize("score", [None, float("nan"), float("inf"), 0.5])
def test_a_score_that_is_missing_not_finite_or_another_is_found(score: float | None) -> None:
    def spoil(outputs: list[Written]) -> None:
        outputs[2] = outputs[2]._replace(score=score)

    assert rules(with_written(spoil)) == {"I9"}


def test_a_poll_that_skips_a_readable_record_is_found() -> None:
    later = [h if h.at != 2.7 else h._replace(offsets={0: 7}, counts={0: 5}) for h in happenings()]
    assert rules(sound()._replace(happenings=later)) == {"I10"}


def test_a_poll_that_leaves_out_a_record_in_its_middle_is_found() -> None:
    fewer = [h if h.at != 2.7 else h._replace(counts={0: 5}) for h in happenings()]
    assert rules(sound()._replace(happenings=fewer)) == {"I10"}


def test_a_poll_of_a_partition_that_is_not_owned_is_found() -> None:
    stray = Happening(0.5, "b", Action.POLLED, {0: 0}, {0: 0}, {0: 1})
    assert rules(with_happenings(stray)) == {"I10"}


def test_a_rewind_without_an_assignment_is_found() -> None:
    again = Happening(2.9, "a", Action.POLLED, {0: 6}, {0: 12}, {0: 6})
    assert rules(with_happenings(again)) == {"I10"}


def test_a_former_owner_whose_commit_is_accepted_is_found() -> None:
    asked = Happening(2.6, "a", Action.ASKED, {1: 8})
    acknowledged = Happening(2.65, "a", Action.COMMITTED, {1: 8})
    assert rules(with_happenings(asked, acknowledged)) == {"I11"}


def test_a_former_owner_whose_commit_is_refused_passes() -> None:
    asked = Happening(2.6, "a", Action.ASKED, {1: 8})
    refused = Happening(2.65, "a", Action.REFUSED, {1: 8})
    assert rules(with_happenings(asked, refused)) == set()


def test_a_record_with_two_classifications_is_found() -> None:
    history = repeated(times=1, events=1)
    last = history.written[-1]._replace(outcome="empty", score=None)
    assert rules(history._replace(written=[*history.written[:-1], last])) == {"I12"}


def test_a_bad_record_that_was_scored_is_found() -> None:
    changed = [s._replace(expected="undecodable") if s.offset == 2 else s for s in sound().sent]
    found = {violation.rule for violation in check(sound()._replace(sent=changed))}
    assert found == {"I12"}


@pytest.mark.parametrize("part", ["key", "value", "headers"])
def test_a_dead_letter_that_lost_a_part_of_its_record_is_found(part: str) -> None:
    def cut(outputs: list[Written]) -> None:
        at = next(i for i, w in enumerate(outputs) if w.topic == "dead")
        outputs[at] = outputs[at]._replace(**{part: () if part == "headers" else None})

    assert rules(with_written(cut)) == {"I13"}


def test_what_a_replica_owned_follows_its_own_log() -> None:
    assert owned_at(happenings(), "a", 1.0) == {0, 1}
    assert owned_at(happenings(), "a", 3.0) == {0}
    assert owned_at(happenings(), "b", 2.0) == set()


def test_samples_until_recovery_end_when_every_orphaned_partition_has_moved_on() -> None:
    history = sound()
    killed = Happening(1.5, "a", Action.KILLED)
    assert [s.at for s in samples_until_recovery(history, killed)] == [2.0]
    assert samples_until_recovery(history, killed._replace(at=99.0)) == []

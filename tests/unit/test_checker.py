"""The judge is judged: a sound history passes, and every planted fault is found by its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.kafka.checker import check
from tests.kafka.commits import stale_reads
from tests.kafka.history import (
    Action,
    Happening,
    History,
    Limits,
    Sample,
    Sent,
    Written,
    owned_at,
    samples_until_recovery,
)

TOPIC = "events"
LIMITS = Limits(depth=2, batch_count=3, max_uncommitted=4)
READABLE = [0, 1, 2, 5, 6, 7, 8, 10, 11, 12]  # gaps as transaction markers and compaction leave them
BAD = {6: "undecodable", 11: "poison"}


def sent(partition: int) -> list[Sent]:
    return [Sent(partition, o, b"k", b"v%d" % o, BAD.get(o, "scored"), (("h", b"1"),)) for o in READABLE]


def written(inputs: Sequence[Sent]) -> list[Written]:
    """Each input once: results of partition p in results[p], its dead letters in dead[0]."""
    ends: dict[tuple[str, int], int] = {}
    outputs = []
    for s in inputs:
        place = ("results", s.partition) if s.expected == "scored" else ("dead", 0)
        at = ends[place] = ends.get(place, -1) + 1
        outputs.append(output(s, place, at))
    return outputs


def output(s: Sent, place: tuple[str, int], at: int) -> Written:
    claimed = f"{TOPIC}|{s.partition}|{s.offset}"
    score = float(s.offset) if s.expected == "scored" else None
    return Written(*place, at, (s.partition, s.offset), claimed, s.expected, score, s.key, s.value, s.headers)


def sample(at: float, committed: int, outputs: Sequence[Written], inputs: Sequence[Sent]) -> Sample:
    """Partitions 0 and 1 committed up to `committed`, and the output as far as that needs."""
    need = {(s.partition, s.offset) for s in inputs if s.offset < committed}
    ends: dict[tuple[str, int], int] = {}
    for w in outputs:
        if w.source in need:
            ends[w.topic, w.partition] = max(ends.get((w.topic, w.partition), 0), w.offset + 1)
    return Sample(at, {0: committed, 1: committed}, ends)


def happenings() -> list[Happening]:
    """Replica a reads all of partition 0; partition 1 goes from a to b at offset 7."""
    return [
        Happening(0.0, "a", Action.ASSIGNED, {0: 0, 1: 0}),
        Happening(0.1, "a", Action.POLLED, {0: 0, 1: 0}, {0: 5, 1: 6}, {0: 4, 1: 5}),
        Happening(1.0, "a", Action.ASKED, {0: 6, 1: 7}),
        Happening(1.1, "a", Action.COMMITTED, {0: 6, 1: 7}),
        Happening(2.0, "a", Action.REVOKED, {1: 0}),
        Happening(2.5, "b", Action.ASSIGNED, {1: 7}),
        Happening(2.6, "b", Action.POLLED, {1: 7}, {1: 12}, {1: 5}),
        Happening(2.7, "a", Action.POLLED, {0: 6}, {0: 12}, {0: 6}),
        Happening(3.0, "b", Action.ASKED, {1: 13}),
        Happening(3.1, "b", Action.COMMITTED, {1: 13}),
        Happening(3.2, "a", Action.ASKED, {0: 13}),
        Happening(3.3, "a", Action.COMMITTED, {0: 13}),
    ]


def sound() -> History:
    inputs = sent(0) + sent(1)
    outputs = written(inputs)
    samples = [sample(float(i), committed, outputs, inputs) for i, committed in enumerate([0, 2, 6, 7, 13])]
    return History(TOPIC, inputs, outputs, samples, happenings(), LIMITS)


def rules(history: History) -> set[str]:
    scores = {(s.partition, s.offset): float(s.offset) for s in history.sent}
    return {violation.rule for violation in check(history, scores)}


def with_written(change: Callable[[list[Written]], object]) -> History:
    history = sound()
    outputs = list(history.written)
    change(outputs)
    return history._replace(written=outputs)


def with_happenings(*more: Happening) -> History:
    return sound()._replace(happenings=sorted([*happenings(), *more], key=lambda h: h.at))


def renumbered(outputs: Sequence[Written]) -> list[Written]:
    """The same records in this order, with the offsets of such a log."""
    ends: dict[tuple[str, int], int] = {}
    log = []
    for w in outputs:
        place = (w.topic, w.partition)
        at = ends[place] = ends.get(place, -1) + 1
        log.append(w._replace(offset=at))
    return log


def repeated(times: int, events: int) -> History:
    """The last two results of partition 0 written `times` times more, with this many kills."""
    history = sound()
    results = [w for w in history.written if (w.topic, w.partition) == ("results", 0)]
    log = renumbered([*history.written, *(results[-2:] * times)])
    kills = [Happening(9.0 + i, "a", Action.KILLED) for i in range(events)]
    return history._replace(written=log, happenings=[*happenings(), *kills])


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


def test_the_end_of_a_process_that_had_no_records_explains_no_duplicate() -> None:
    never_at_work = Happening(9.0, "c", Action.KILLED)
    assert with_happenings(never_at_work).events() == 0


def test_duplicates_without_an_event_are_found() -> None:
    assert "I4" in rules(repeated(times=1, events=0))


def test_duplicates_within_the_bound_of_the_events_pass() -> None:
    assert LIMITS.per_event == 10
    assert rules(repeated(times=1, events=1)) == set()


def test_duplicates_beyond_the_bound_of_the_events_are_found() -> None:
    assert rules(repeated(times=6, events=1)) == {"I4", "I6"}


def test_a_giving_up_a_loss_and_a_failed_send_are_events_as_a_kill_is() -> None:
    for action in (Action.GIVEN_UP, Action.LOST, Action.SEND_FAILED, Action.KILLED):
        assert with_happenings(Happening(9.0, "a", action, {1: 0})).events() == 1


@pytest.mark.parametrize("at", [0, 2, 6])
def test_two_results_that_changed_places_are_found(at: int) -> None:
    def swap(outputs: list[Written]) -> None:
        outputs[at], outputs[at + 1] = outputs[at + 1], outputs[at]
        outputs[:] = renumbered(outputs)

    history = with_written(swap)
    assert "I6" in rules(history._replace(samples=[]))


def replayed(*offsets: int, events: Sequence[Action] = ()) -> set[str]:
    """The results of partition 0 once, and then again those of these input offsets."""
    history = repeated(times=0, events=5)
    by_offset = {w.source[1]: w for w in history.written if (w.topic, w.partition) == ("results", 0)}
    log = renumbered([*history.written, *(by_offset[offset] for offset in offsets)])
    more = [Happening(10.0, "a", action, {0: 0}) for action in events]
    return rules(history._replace(written=log, happenings=[*history.happenings, *more]))


@pytest.mark.parametrize("late", [Action.LOST, Action.GIVEN_UP, Action.HELD])
def test_what_a_former_owner_had_sent_may_arrive_between_what_its_successor_sends(late: Action) -> None:
    among_each_other = (2, 5, 1, 2, 7, 8)
    assert replayed(*among_each_other) == {"I6"}
    assert replayed(*among_each_other, events=[late]) == set()


def test_a_former_owner_has_no_more_batches_under_way_than_the_settings_allow() -> None:
    once, twice = (0, 2, 0, 2), (0, 2, 0, 2, 0, 2)
    assert replayed(*once, events=[Action.HELD]) == set()
    assert replayed(*twice, events=[Action.HELD]) == {"I6"}


def test_a_result_that_comes_before_its_predecessor_needs_a_send_that_failed() -> None:
    def repeat_after_failure(outputs: list[Written]) -> None:
        """Of results 7 and 8 in one batch 7 was not acknowledged, and both were sent again."""
        at = next(i for i, w in enumerate(outputs) if w.source == (0, 7))
        outputs[at : at + 2] = [outputs[at + 1], outputs[at], outputs[at + 1]]
        outputs[:] = renumbered(outputs)

    history = with_written(repeat_after_failure)._replace(samples=[])
    failed = Happening(0.9, "a", Action.SEND_FAILED)
    assert "I6" in rules(history)
    assert rules(history._replace(happenings=sorted([*happenings(), failed]))) == set()


def test_where_exactly_once_was_promised_no_event_excuses_a_repeat() -> None:
    assert rules(repeated(times=1, events=1)._replace(exact=True)) == {"I4", "I6"}
    assert rules(sound()._replace(exact=True)) == set()


def test_a_replay_that_skips_a_record_is_found() -> None:
    history = repeated(times=0, events=1)
    results = [w for w in history.written if (w.topic, w.partition) == ("results", 0)]
    log = renumbered([*history.written, results[-3], results[-1]])
    assert rules(history._replace(written=log)) == {"I6"}


def test_a_repeat_in_another_output_partition_is_found() -> None:
    history = repeated(times=0, events=1)
    stray = history.written[0]._replace(partition=7, offset=0)
    assert "I6" in rules(history._replace(written=[*history.written, stray]))


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

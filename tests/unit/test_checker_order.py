"""The judge is judged: repeats and the order of results, I4 and I6."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.kafka.history import Action, Happening, Written
from tests.unit.planted import (
    LIMITS,
    happenings,
    renumbered,
    repeated,
    rules,
    sound,
    with_happenings,
    with_written,
)


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

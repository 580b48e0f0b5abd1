"""Finding the poison among its neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from consumer.errors import Fatal, ScorerFailed
from consumer.isolation import Isolating
from consumer.ports import ModelInfo, ScorerStats
from consumer.records import Event, Reason, Rejection, Score


class Done:
    def __init__(self, verdicts: Sequence[Score | Rejection] | Exception) -> None:
        self._verdicts = verdicts

    def done(self) -> bool:
        return True

    def wait(self, deadline: float) -> bool:
        return True

    def result(self) -> Sequence[Score | Rejection]:
        if isinstance(self._verdicts, Exception):
            raise self._verdicts
        return self._verdicts


class Touchy:
    """Scores a number by its value; fails on a batch that holds one of `poison`."""

    model = ModelInfo("touchy", "1")

    def __init__(self, *poison: int, well: bool = True) -> None:
        self.poison = {str(p) for p in poison}
        self.well = well
        self.batches: list[list[str]] = []
        self.self_tests = 0
        self.closed = False

    def submit(self, events: Sequence[Event]) -> Done:
        self.batches.append([e.message for e in events])
        if self.poison.intersection(self.batches[-1]):
            return Done(ScorerFailed("bad kernel"))
        return Done([Score(float(e.message), False, 2.0) for e in events])

    def self_test(self) -> bool:
        self.self_tests += 1
        return self.well

    def stats(self) -> ScorerStats:
        return ScorerStats(device_batches=len(self.batches))

    def close(self) -> None:
        self.closed = True


def verdicts(scorer: Touchy, *numbers: int, max_failures: int = 20) -> list[float | Reason]:
    pending = Isolating(scorer, max_failures).submit([Event(str(n)) for n in numbers])
    assert pending.done()
    return [v.score if isinstance(v, Score) else v.reason for v in pending.result()]


def test_a_healthy_batch_is_scored_in_one_go() -> None:
    scorer = Touchy()
    assert verdicts(scorer, 1, 2, 3) == [1.0, 2.0, 3.0]
    assert (len(scorer.batches), scorer.self_tests) == (1, 0)


@pytest.mark.parametrize("place", range(9))
def test_the_neighbours_of_a_poison_record_are_scored_in_their_places(place: int) -> None:
    expected: list[float | Reason] = [float(n) for n in range(9)]
    expected[place] = Reason.POISON
    assert verdicts(Touchy(place), *range(9)) == expected


def test_several_poison_records_are_found() -> None:
    found = verdicts(Touchy(0, 3, 4, 7), *range(8))
    assert [n for n, v in enumerate(found) if v is Reason.POISON] == [0, 3, 4, 7]


def test_the_search_costs_about_twice_the_logarithm_of_the_batch() -> None:
    scorer = Touchy(700)
    verdicts(scorer, *range(1024))
    assert len(scorer.batches) == 1 + 2 * 10


def test_the_reference_text_is_scored_after_a_record_that_fails_alone_and_only_then() -> None:
    scorer = Touchy(2)
    verdicts(scorer, *range(8))
    assert scorer.self_tests == 1


def test_when_the_reference_text_fails_too_it_is_not_the_record() -> None:
    with pytest.raises(Fatal, match="device or the model is broken"):
        verdicts(Touchy(2, well=False), *range(4))


def test_poison_in_a_row_beyond_max_failures_is_fatal_and_names_the_setting() -> None:
    assert verdicts(Touchy(0, 1), 0, 1, max_failures=2) == [Reason.POISON] * 2
    with pytest.raises(Fatal, match=r"scoring\.max_failures"):
        verdicts(Touchy(0, 1, 2), 0, 1, 2, max_failures=2)


def test_poison_in_a_row_counts_across_batches_until_something_is_scored() -> None:
    isolating = Isolating(Touchy(1, 2), max_failures=2)

    def judge(number: int) -> object:
        pending = isolating.submit([Event(str(number))])
        assert pending.done()
        return pending.result()[0]

    assert isinstance(judge(1), Rejection)
    assert isinstance(judge(2), Rejection)
    assert isinstance(judge(9), Score)
    assert isinstance(judge(1), Rejection)
    assert isinstance(judge(2), Rejection)
    with pytest.raises(Fatal):
        judge(1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_never_handed_on(value: float) -> None:
    class Drunk(Touchy):
        def submit(self, events: Sequence[Event]) -> Done:
            return Done([Score(value if e.message == "1" else 0.5, False, 2.0) for e in events])

    assert verdicts(Drunk(), 0, 1, 2) == [0.5, Reason.POISON, 0.5]


def test_a_scorer_that_returns_another_number_of_verdicts_is_broken() -> None:
    class Forgetful(Touchy):
        def submit(self, events: Sequence[Event]) -> Done:
            return Done([Score(0.5, False, 2.0)])

    with pytest.raises(Fatal, match="1 verdicts for 2 events"):
        verdicts(Forgetful(), 0, 1)


def test_a_fatal_scorer_is_not_searched_any_further() -> None:
    class Dead(Touchy):
        def submit(self, events: Sequence[Event]) -> Done:
            self.batches.append([])
            return Done(Fatal("sticky CUDA error"))

    scorer = Dead()
    with pytest.raises(Fatal, match="sticky"):
        verdicts(scorer, 0, 1, 2, 3)
    assert len(scorer.batches) == 1


def test_nothing_to_score_is_done_at_once() -> None:
    scorer = Touchy()
    assert verdicts(scorer) == []
    assert scorer.batches == []


def test_one_range_is_on_the_device_at_a_time() -> None:
    class Slow(Done):
        ready = False

        def done(self) -> bool:
            return self.ready

        def wait(self, deadline: float) -> bool:
            return self.ready

    class Queue(Touchy):
        def submit(self, events: Sequence[Event]) -> Done:
            done = super().submit(events)
            slow = Slow(done._verdicts)
            open_ones.append(slow)
            return slow

    open_ones: list[Slow] = []
    pending = Isolating(Queue(0), 20).submit([Event("0"), Event("1")])
    for step in range(3):
        assert not pending.done()
        assert not pending.wait(1.0)
        assert len(open_ones) == step + 1
        open_ones[step].ready = True
    assert pending.wait(1.0)
    assert [type(v) for v in pending.result()] == [Rejection, Score]


def test_the_detail_of_a_poison_record_is_one_bounded_line() -> None:
    class Chatty(Touchy):
        def submit(self, events: Sequence[Event]) -> Done:
            return Done(ScorerFailed("x" * 10_000))

    pending = Isolating(Chatty(), 20).submit([Event("0")])
    assert pending.done()
    (verdict,) = pending.result()
    assert isinstance(verdict, Rejection)
    assert len(verdict.detail) <= 300


def test_everything_else_is_the_inner_scorers() -> None:
    scorer = Touchy()
    isolating = Isolating(scorer, 20)
    isolating.close()
    assert (isolating.model, isolating.self_test(), scorer.closed) == (scorer.model, True, True)
    assert isolating.stats() == scorer.stats()

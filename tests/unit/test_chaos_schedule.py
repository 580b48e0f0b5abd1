"""A schedule of faults is a pure function of its seed, and a storm keeps to it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS, Fault, Guarantee, Lane, possible
from tests.chaos.schedule import Step, halves, whole
from tests.chaos.storm import Storm, Strike

SEEDS = range(300)


def test_the_same_seed_gives_the_same_storm_also_in_another_process() -> None:
    program = (
        "from tests.chaos.schedule import halves, whole; print(halves(7, 100), whole(7, 'exactly-once', 300))"
    )
    command = [sys.executable, "-c", program]
    root = Path(__file__).parents[2]
    other = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout
    assert other.strip() == f"{halves(7, 100)} {whole(7, Guarantee.EXACTLY_ONCE, 300)}"


def test_another_seed_gives_another_storm() -> None:
    assert len({str(halves(seed, 100)) for seed in SEEDS}) == len(SEEDS)


def test_the_two_halves_together_have_every_fault_once_and_each_where_it_means_something() -> None:
    for storms in (halves(seed, 100) for seed in SEEDS):
        assert Counter(step.fault for steps in storms.values() for step in steps) == Counter(FAULTS)
        for guarantee, steps in storms.items():
            assert {step.fault for step in steps} <= set(possible(guarantee))
        sizes = [len(steps) for steps in storms.values()]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("guarantee", Guarantee)
@pytest.mark.parametrize("seconds", [10.0, 420.0])
def test_a_whole_storm_has_every_fault_of_its_guarantee(guarantee: Guarantee, seconds: float) -> None:
    for seed in SEEDS:
        assert {step.fault for step in whole(seed, guarantee, seconds)} == set(possible(guarantee))


def test_every_order_of_two_faults_comes_up() -> None:
    firsts = Counter(next(iter(halves(seed, 100)[Guarantee.AT_LEAST_ONCE])).fault.name for seed in SEEDS)
    assert len(firsts) > len(FAULTS) // 2


def test_steps_lie_within_the_storm_in_ascending_order() -> None:
    for seed in SEEDS:
        times = [step.at for step in whole(seed, Guarantee.AT_LEAST_ONCE, 420.0)]
        assert times == sorted(times)
        assert times[0] >= 4.0
        assert times[-1] <= 420.0


def test_a_long_run_has_the_brokers_away_for_longer() -> None:
    away = {s.seconds for s in whole(1, Guarantee.AT_LEAST_ONCE, 420.0) if s.fault.name == "all brokers away"}
    assert away == {30.0}


class _Journal:
    """Strikes that wait as they are told to, and tell when they ran."""

    def __init__(self, waits: float) -> None:
        self.waits = waits
        self.lines: list[str] = []

    def begin(self, step: Step) -> Strike:
        self.lines.append(f"{step.fault.name} begins")
        try:
            yield self.waits
        finally:
            self.lines.append(f"{step.fault.name} is healed")
        return step.pick > 0


def _step(at: float, name: str, lane: Lane, pick: int = 1) -> Step:
    return Step(at, Fault(name, lane), 0.0, pick)


def test_faults_of_one_lane_wait_for_each_other_and_those_of_two_overlap() -> None:
    journal = _Journal(waits=5.0)
    storm = Storm(
        [_step(0, "a", Lane.WIRE), _step(1, "b", Lane.WIRE), _step(1, "c", Lane.REDIS)], journal.begin
    )
    for now in (0.0, 1.0, 5.0, 6.0, 10.0, 11.0):
        storm.advance(now)
    assert journal.lines == [
        "a begins", "c begins", "a is healed", "c is healed", "b begins", "b is healed",
    ]  # fmt: skip
    assert storm.over
    assert [(s.step.fault.name, s.began, s.ended) for s in storm.struck] == [
        ("a", 0.0, 5.0), ("c", 1.0, 6.0), ("b", 6.0, 11.0),
    ]  # fmt: skip


def test_nothing_strikes_before_its_time() -> None:
    journal = _Journal(waits=1.0)
    storm = Storm([_step(3, "a", Lane.WIRE)], journal.begin)
    storm.advance(2.9)
    assert journal.lines == []
    assert not storm.over


def test_a_storm_tells_which_faults_hit_nobody() -> None:
    storm = Storm([_step(0, "a", Lane.WIRE, pick=0), _step(0, "b", Lane.REDIS)], _Journal(0.0).begin)
    storm.advance(0.0)
    storm.advance(0.0)
    assert {s.step.fault.name: s.hit for s in storm.struck} == {"a": False, "b": True}


def test_a_storm_that_is_given_up_heals_what_is_broken() -> None:
    journal = _Journal(waits=5.0)
    storm = Storm([_step(0, "a", Lane.WIRE)], journal.begin)
    storm.advance(0.0)
    storm.close()
    assert journal.lines == ["a begins", "a is healed"]

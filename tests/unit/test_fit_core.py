"""Cross-fitting, calibration and verdicts together, with the parts that need no torch."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from consumer.calibration import threshold_for
from consumer.errors import Misconfigured, ScorerFailed
from consumer.scoring.fit import FitOptions, fit, held_out_sets, learn
from consumer.scoring.judge import FittedModel, load_model
from consumer.scoring.known import KnownItems, Tally, known_items, load_known
from consumer.scoring.novelty import Novelty
from consumer.scoring.parts import Arrays, Facts, FitTask, FittedPart, Measured
from consumer.scoring.severity import Severity

PARTS = (Novelty(), Severity())
RATE = threshold_for(0.01)


def normal_items(n: int, seed: int = 1) -> list[str]:
    """Different texts of one kind."""
    pick = random.Random(seed)
    verbs, things = (
        ["opened", "closed", "read", "wrote", "sent"],
        ["file", "socket", "page", "block", "queue"],
    )
    found: dict[str, None] = {}
    while len(found) < n:
        words = [
            pick.choice(verbs),
            pick.choice(things),
            "by",
            f"worker{chr(97 + pick.randrange(26))}",
            pick.choice(things),
        ]
        found[" ".join(words + [pick.choice(verbs)] * pick.randrange(3))] = None
    return list(found)


def tallied(items: Sequence[str], counts: Sequence[int] | None = None) -> Tally:
    tally = Tally(10**6)
    for item, count in zip(items, counts or [1] * len(items), strict=True):
        for _ in range(count):
            tally.add(item)
    return tally


class Spy:
    """A part that remembers its tasks and measures the length of a text."""

    name = "spy"

    def __init__(self) -> None:
        self.tasks: list[FitTask] = []

    def fit(self, task: FitTask) -> FittedPart:
        self.tasks.append(task)
        return FittedSpy(task, f"hint {len(self.tasks)}")

    def load(self, arrays: Arrays, facts: Facts) -> FittedPart:
        raise NotImplementedError


class FittedSpy:
    name = "spy"
    statistics = ("length",)

    def __init__(self, task: FitTask, hint: str) -> None:
        self.hint: object | None = hint
        self.learnt = set(task.items)
        self.measured: list[str] = []

    def measure(self, items: Sequence[str]) -> Measured:
        self.measured += items
        assert not self.learnt & set(items), "calibration items must be new to what scores them"
        values = np.array([[float(len(item))] for item in items]).reshape(len(items), 1)
        return Measured(values, np.zeros(len(items), np.int64))

    def save(self) -> tuple[Arrays, Facts]:
        return {}, {}


def test_up_to_the_limit_contiguous_blocks_cover_every_item_once() -> None:
    sets = held_out_sets(30, FitOptions(blocks=4))
    assert [len(each) for each in sets] == [8, 8, 7, 7]
    assert np.concatenate(sets).tolist() == list(range(30))


def test_beyond_the_limit_a_random_eighth_is_held_out_once() -> None:
    (held,) = held_out_sets(1_600, FitOptions(seed=3))
    assert len(held) == len(set(held.tolist())) == 200
    assert held.tolist() == sorted(held.tolist())
    assert held.tolist() != held_out_sets(1_600, FitOptions(seed=4))[0].tolist()


def test_every_block_is_scored_by_a_fit_without_it_and_the_last_fit_learns_all() -> None:
    items, spy = normal_items(20), Spy()
    model = fit(tallied(items), [spy], FitOptions(blocks=4))
    assert [len(task.items) for task in spy.tasks] == [15, 15, 15, 15, 20]
    assert list(spy.tasks[-1].items) == items
    assert model.calibration.n == 20


def test_what_the_first_fit_found_is_handed_to_the_others() -> None:
    spy = Spy()
    fit(tallied(normal_items(20)), [spy], FitOptions(blocks=4))
    assert [task.hint for task in spy.tasks] == [None, *["hint 1"] * 4]
    assert len(spy.tasks[0].held_out) == 5
    assert all(not task.held_out for task in spy.tasks[1:])


def test_a_held_out_eighth_is_never_learnt() -> None:
    items, spy = normal_items(100), Spy()
    model = fit(tallied(items), [spy], FitOptions(small=50))
    (task,) = spy.tasks
    assert set(task.items) | set(task.held_out) == set(items)
    assert len(task.held_out) == 12
    assert model.calibration.n == 12
    assert model.known.count(task.held_out[0]) == 1


def test_progress_names_part_and_round() -> None:
    stages: list[str] = []
    fit(tallied(normal_items(20)), PARTS, FitOptions(blocks=4), lambda stage, *_: stages.append(stage))
    assert stages[:5] == [f"novelty {i}/5" for i in range(1, 6)]
    assert stages[-1] == "calibrate"


def test_a_burst_of_anomalies_among_the_fit_texts_is_shown_to_a_person() -> None:
    burst = [f"fatal: segfault in unit {word}, memory corrupted" for word in ("ab", "cd", "ef", "gh")]
    items = normal_items(200)
    model, odd = learn(tallied([*items[:100], *burst, *items[100:]], [3] * 204), PARTS)
    assert {each.item for each in odd[:4]} == set(burst)
    assert [each.score for each in odd] == sorted((each.score for each in odd), reverse=True)
    assert len(odd) < 15
    assert all(model.known.count(each.item) == 3 for each in odd)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_fewer_than_eight_different_texts_are_refused_in_one_sentence(n: int) -> None:
    with pytest.raises(Misconfigured, match=f"only {n} different texts in {5 * n} records"):
        fit(tallied(normal_items(n), [5] * n), PARTS)


def test_eight_texts_are_enough_and_the_odd_one_still_comes_out_on_top() -> None:
    model = fit(tallied(normal_items(8)), PARTS)
    fresh = [item for item in normal_items(40) if item not in normal_items(8)][:5]
    scores = model.judge([*fresh, "kernel panic: fatal exception, corrupted stack"], RATE).scores
    assert np.isfinite(scores).all()
    assert int(scores.argmax()) == len(fresh)


@pytest.fixture(scope="module")
def model() -> FittedModel:
    items = normal_items(300)
    return fit(tallied(items, [1 + (i % 7) * 3 for i in range(300)]), PARTS)


def test_about_as_many_new_normal_texts_alert_as_asked(model: FittedModel) -> None:
    known = set(normal_items(300))
    fresh = [item for item in normal_items(1_200, seed=2) if item not in known]
    u = model.calibration.surprise(model.measure(fresh)).new
    assert np.mean(u >= -np.log(0.05)) < 0.1


def test_an_anomaly_is_found_and_a_known_text_never_is(model: FittedModel) -> None:
    odd = "segfault: memory corrupted at <n>, aborting"
    verdicts = model.judge([odd, normal_items(300)[0]], RATE)
    assert verdicts.anomalous.tolist() == [True, False]
    assert verdicts.known.tolist() == [False, True]
    assert float(verdicts.scores[0]) > RATE > float(verdicts.scores[1])
    assert np.isnan(verdicts.parts[1]).all()
    assert np.isfinite(verdicts.parts[0]).all()


def test_a_verdict_depends_on_the_item_alone(model: FittedModel) -> None:
    items = [*normal_items(310)[295:], "panic", "fatal: cannot open <path>", "panic"]
    together = model.judge(items, RATE)
    for i, item in enumerate(items):
        alone = model.judge([item], RATE)
        assert alone.scores[0] == together.scores[i]
        assert np.array_equal(alone.parts[0], together.parts[i], equal_nan=True)


def test_known_texts_alone_and_no_texts_at_all_are_judged(model: FittedModel) -> None:
    assert model.judge(normal_items(300)[:3], RATE).known.all()
    assert len(model.judge([], RATE).scores) == 0


def test_the_same_input_gives_the_same_model_and_a_saved_one_the_same_verdicts(model: FittedModel) -> None:
    twin = fit(tallied(normal_items(300), [1 + (i % 7) * 3 for i in range(300)]), PARTS)
    loaded = load_model(model.save(), PARTS)
    items = [*normal_items(320)[290:], "kernel panic"]
    for other in (twin, loaded):
        for a, b in zip(model.judge(items, RATE), other.judge(items, RATE), strict=True):
            assert np.array_equal(a, b, equal_nan=True)


def test_a_missing_section_is_named(model: FittedModel) -> None:
    sections = model.save()
    del sections["known"]
    with pytest.raises(Misconfigured, match="'known' is missing"):
        load_model(sections, PARTS)


def test_a_part_that_gives_no_number_fails_the_batch(model: FittedModel) -> None:
    broken = model.measure(["a", "b"])
    broken[0].values[1, 0] = np.nan
    with pytest.raises(ScorerFailed, match="no number"):
        model.judge_new(broken, RATE)


def test_the_share_of_first_sights_is_that_of_the_records() -> None:
    model = fit(tallied(normal_items(10), [4] * 10), PARTS)
    assert model.rule.pi == 0.25
    assert model.rule.smallest_rate == 0.25 / 11


def test_a_full_tally_takes_repeats_and_refuses_new_items() -> None:
    tally = Tally(2)
    assert [tally.add(item) for item in "abacb"] == [True, True, True, False, True]
    assert (list(tally.items), list(tally.counts), tally.records) == (["a", "b"], [2, 2], 4)


def test_the_known_set_keeps_the_most_frequent_and_of_equals_the_first() -> None:
    known = known_items([("a", 1), ("b", 9), ("c", 1), ("d", 3)], 3)
    assert [known.count(item) for item in "abcde"] == [1, 9, None, 3, None]
    assert len(known) == 3


def test_known_items_hold_no_text_and_come_back_as_they_were() -> None:
    known = known_items([("secret <n>", 4), ("\ud800", 2)], 10)
    arrays = known.save()
    assert b"secret" not in b"".join(array.tobytes() for array in arrays.values())
    again = load_known(arrays)
    assert (again.count("secret <n>"), again.count("\ud800"), len(again)) == (4, 2, 2)
    assert len(load_known(KnownItems({}).save())) == 0


def test_damaged_known_items_are_refused() -> None:
    arrays = known_items([("a", 1), ("b", 2)], 9).save()
    for damaged in ({}, {**arrays, "counts": arrays["counts"][:1]}):
        with pytest.raises(Misconfigured, match="known items"):
            load_known(damaged)

"""p-values: their order, that they stay finite, and the numbers of the recipe worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumer.calibration import (
    Calibration,
    Floats,
    RecordRule,
    cap,
    fit_calibration,
    fit_known_share,
    fit_length,
    fit_tail,
    threshold_for,
)
from consumer.errors import Misconfigured
from consumer.scoring.calibration_store import load_calibration, load_rule, save_calibration, save_rule

NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, 1.0, 1e308, -1e308, 5e-324]
)
SAMPLES = st.lists(NUMBERS, min_size=8, max_size=80) | st.integers(8, 80).flatmap(
    lambda n: st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n)
)


def array(values: list[float]) -> Floats:
    return np.array(values, np.float64)


@settings(deadline=None)
@given(SAMPLES, st.lists(NUMBERS, min_size=2, max_size=20))
def test_surprise_is_finite_positive_and_never_falls_as_a_value_grows(
    sample: list[float], new: list[float]
) -> None:
    tail = fit_tail(array(sample))
    u = tail.surprise(np.sort(array(sample + new)))
    assert np.isfinite(u).all()
    assert (u > 0).all()
    assert (np.diff(u) >= 0).all()


@settings(deadline=None)
@given(SAMPLES, NUMBERS)
def test_capped_surprise_is_finite_and_strictly_ordered_below_and_above_the_bend(
    sample: list[float], x: float
) -> None:
    n = len(sample)
    u = np.sort(np.append(fit_tail(array(sample)).surprise(array([x])), [0.1, 0.2, 3.0, 50.0, 1e108]))
    capped = cap(u, n)
    assert np.isfinite(capped).all()
    assert (np.diff(capped)[np.diff(u) > 1e-6 * u[1:]] > 0).all()
    assert (capped <= u).all()


def test_the_bulk_is_the_mid_rank_and_ties_share_it() -> None:
    tail = fit_tail(array([1, 2, 2, 3, 4, 5, 6, 7, 8, 9]))
    p = np.exp(-tail.surprise(array([0.0, 1.0, 2.0, 4.0])))
    # (number greater + half of the equal ones + 1/2)/(n + 1); q is .5 here, so 4 is below the tail
    assert p == pytest.approx(np.array([10.5, 10.0, 8.5, 6.0]) / 11)


def test_the_tail_is_exponential_with_the_recipes_scale() -> None:
    sample = np.arange(1.0, 101.0)
    tail = fit_tail(sample)
    start = float(np.quantile(sample, 0.9))
    excess = sample[sample > start] - start
    scale = (excess.sum() + sample.std() / 4) / (len(excess) + 1)
    u = tail.surprise(array([start + 20.0]))
    assert float(u[0]) == pytest.approx(-math.log(11 / 101) + 20.0 / scale)


@pytest.mark.parametrize("constant", [0.0, 3.0, -1e6])
def test_above_a_constant_column_surprise_begins_at_what_the_sample_proves_and_grows_slowly(
    constant: float,
) -> None:
    tail = fit_tail(np.full(100, constant))
    unit = max(abs(constant), 1.0)
    equal, above, far = tail.surprise(array([constant, constant + 1e-6 * unit, constant + 3 * unit]))
    assert equal == pytest.approx(math.log(2))
    assert above == pytest.approx(math.log(101), abs=1e-5)
    assert far == pytest.approx(math.log(101) + 3)


def test_a_part_that_was_always_silent_does_not_outshout_the_others_when_it_speaks() -> None:
    """Two parts: noise, and one that said 0 of all calibration items and now says 3 of one."""
    random = np.random.default_rng(0)
    none = np.zeros(400, np.int64)
    calibration = fit_calibration([(random.standard_normal((400, 3)), none), (np.zeros((400, 1)), none)])
    odd = [(np.array([[0.0] * 3, [9.0] * 3]), none[:2]), (np.array([[3.0], [0.0]]), none[:2])]
    spoke, clear = calibration.surprise(odd).new
    assert math.log(20) < spoke < clear


def test_evidence_is_kept_up_to_the_bend_and_grows_slowly_beyond() -> None:
    n = 999
    bend = math.log(50.0)
    u = array([bend - 1, bend, bend + 1.5, bend + 150])
    assert cap(u, n) == pytest.approx([bend - 1, bend, bend + 1.5 * math.log(2), bend + 1.5 * math.log(101)])
    assert float(cap(array([1e9]), 8)[0]) < 1.0 + math.log(1.5)


def test_not_a_number_is_refused_where_it_enters() -> None:
    with pytest.raises(ValueError, match="not a number"):
        fit_tail(array([1.0] * 8)).surprise(array([math.nan]))


def test_the_length_line_takes_out_what_length_explains_whatever_a_few_items_do() -> None:
    random = np.random.default_rng(3)
    lengths = random.integers(2, 400, 300)
    t = np.log(lengths)
    x = 5.0 + 3.0 * t + (1.0 + 0.5 * t) * random.standard_normal(300)
    x[:15] += 500.0
    residual = fit_length(x, lengths).residual(x, lengths)[15:]
    assert abs(np.corrcoef(residual, t[15:])[0, 1]) < 0.1
    assert abs(np.corrcoef(np.abs(residual), t[15:])[0, 1]) < 0.1
    assert abs(np.median(residual)) < 0.3


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.integers(0, 10**9)), min_size=8, max_size=40))
@example([(0.0, 0)] * 6 + [(0.0, 2), (1.1e9, 0)])
def test_the_length_line_is_finite_for_any_values_and_lengths(rows: list[tuple[float, int]]) -> None:
    x, lengths = array([value for value, _ in rows]), np.array([length for _, length in rows], np.int64)
    line = fit_length(x, lengths)
    assert np.isfinite(fit_tail(line.residual(x, lengths)).surprise(line.residual(x, lengths))).all()


def fitted(n: int, seed: int = 0) -> Calibration:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 50, n)
    nats = random.gamma(2.0, size=(n, 4)) * np.log1p(lengths)[:, None]
    return fit_calibration([(nats, lengths), (random.standard_normal((n, 2)), np.zeros(n, np.int64))])


@pytest.mark.parametrize("n", [8, 30, 500])
def test_new_normal_items_are_not_odder_than_asked_and_with_enough_items_about_as_odd(n: int) -> None:
    """The null: texts from where the calibration items come from. Pooled over twenty fits."""
    p: list[float] = []
    for seed in range(20):
        calibration = fitted(n, seed)
        random = np.random.default_rng(1_000 + seed)
        lengths = random.integers(1, 50, 500)
        nats = random.gamma(2.0, size=(500, 4)) * np.log1p(lengths)[:, None]
        other = (random.standard_normal((500, 2)), np.zeros(500, np.int64))
        p += np.exp(-calibration.surprise([(nats, lengths), other]).new).tolist()
    for asked in (0.5, 0.2):
        got = np.mean(np.array(p) <= asked)
        assert got <= asked + 0.08
        assert n < 30 or got >= asked - 0.1


def test_a_part_cannot_shout_louder_than_its_sample_can_prove() -> None:
    calibration = fitted(100)
    nats = np.full((1, 4), 1e308)
    quiet = (np.zeros((1, 2)), np.zeros(1, np.int64))
    mad = (np.full((1, 2), 1e308), np.zeros(1, np.int64))
    lengths = np.array([10])
    one, both = (calibration.surprise([(nats, lengths), other]) for other in (quiet, mad))
    assert float(both.new[0]) > float(one.new[0])
    assert float(both.new[0]) < 100.0


def test_every_new_item_ranks_above_every_known_one() -> None:
    rule = RecordRule(0.3, fit_known_share([1, 1, 1, 50, 400]), 20)
    least_odd = rule.new_score(np.array([1e-12]))
    assert float(least_odd[0]) > float(rule.known_score(np.array([1])).max())


def test_a_known_item_scores_by_the_share_of_records_that_are_at_most_as_common() -> None:
    rule = RecordRule(0.25, fit_known_share([1, 1, 2, 4]), 4)
    p = 10.0 ** -rule.known_score(np.array([0, 1, 2, 3, 4, 9]))
    assert p == pytest.approx([0.25, 0.25 + 0.75 * 0.25, 0.25 + 0.75 * 0.5, 0.25 + 0.75 * 0.5, 1.0, 1.0])


def test_an_anomaly_is_new_rare_enough_and_odd_among_new_items() -> None:
    rule = RecordRule(0.004, fit_known_share([1] * 4 + [996]), 99)
    u = -np.log(np.array([0.9, 0.5, 0.009]))
    assert rule.anomalous(u, threshold_for(0.01)).tolist() == [False, True, True]
    assert rule.anomalous(u, threshold_for(0.0001)).tolist() == [False, False, True]
    assert rule.extrapolated(u).tolist() == [False, False, True]
    assert rule.smallest_rate == pytest.approx(0.004 / 100)


def test_what_is_saved_gives_the_same_scores_to_the_last_bit() -> None:
    calibration, rule = fitted(60), RecordRule(1 / 3, fit_known_share([3, 1, 1, 7]), 60)
    again, same = load_calibration(*save_calibration(calibration)), load_rule(*save_rule(rule))
    random = np.random.default_rng(9)
    new = [
        (random.gamma(3.0, size=(40, 4)), random.integers(1, 90, 40)),
        (random.standard_normal((40, 2)), np.zeros(40, int)),
    ]
    assert np.array_equal(calibration.surprise(new).new, again.surprise(new).new)
    assert np.array_equal(calibration.surprise(new).parts, again.surprise(new).parts)
    assert np.array_equal(rule.known_score(np.arange(9)), same.known_score(np.arange(9)))
    assert same.pi == rule.pi
    assert same.n == rule.n


def test_a_damaged_calibration_is_refused() -> None:
    arrays, facts = save_calibration(fitted(20))
    unsorted = {**arrays, "total": arrays["total"][::-1].copy()}
    for a, f in [(unsorted, facts), ({}, facts), (arrays, {**facts, "extra": 1}), (arrays, {"parts": []})]:
        with pytest.raises(Misconfigured, match="calibration"):
            load_calibration(a, f)

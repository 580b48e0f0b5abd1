"""The scorer's promises: a verdict for each event in order, and the same verdict in any company."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consumer.errors import Misconfigured, ScorerFailed
from consumer.records import Event, Score
from consumer.scoring.scorer import TOLERANCE, ModelScorer, load_scorer
from consumer.settings import Scoring
from tests.scoring.conftest import normal_events, scoring

pytestmark = pytest.mark.torch

_ODD = [
    Event("kernel panic: segfault at 7f3a in libc-2.31.so, core dumped", level="error"),
    Event("session session closed opened alice by queue"),
    Event("'; DROP TABLE users; --"),
    Event("x" * 3_000),
    Event("\u200b \u00e9\u4e2d\U0001f600 <n> <info> <|endoftext|>"),
    Event("  "),
    Event("worker handed over to user alice in 5 ms " * 40, truncated=True),
]
_POOL = [*_ODD, *normal_events(40, seed=9)]


def _verdicts(scorer: ModelScorer, events: Sequence[Event]) -> list[Score]:
    pending = scorer.submit(events)
    assert pending.wait(time.monotonic() + 60)
    verdicts = pending.result()
    assert all(isinstance(verdict, Score) for verdict in verdicts)
    return list(verdicts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def forgetful(model: Path) -> ModelScorer:
    return load_scorer(scoring(model, cache_size=0), explain_from=1.0)


@pytest.fixture(scope="module")
def alone(forgetful: ModelScorer) -> list[Score]:
    """Each event of the pool, scored in a batch of its own."""
    return [_verdicts(forgetful, [event])[0] for event in _POOL]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=st.lists(st.integers(0, len(_POOL) - 1), max_size=30), budget=st.sampled_from([64, 512, 2_048]))
def test_a_verdict_depends_on_its_event_alone_and_keeps_its_place(
    forgetful: ModelScorer, alone: list[Score], chosen: list[int], budget: int
) -> None:
    forgetful._language_model.engine.budget = budget
    for index, verdict in zip(chosen, _verdicts(forgetful, [_POOL[i] for i in chosen]), strict=True):
        expected = alone[index]
        assert abs(verdict.score - expected.score) <= TOLERANCE
        assert (verdict.truncated, verdict.threshold) == (expected.truncated, expected.threshold)
        assert [t.text for t in verdict.tokens] == [t.text for t in expected.tokens]


def test_a_remembered_verdict_is_the_one_that_was_computed(scorer: ModelScorer) -> None:
    first = _verdicts(scorer, _POOL)
    misses = scorer.stats().cache_misses
    assert _verdicts(scorer, _POOL) == first
    assert scorer.stats().cache_misses == misses


def test_a_batch_of_remembered_texts_is_done_at_once_and_asks_nothing_of_the_device(
    scorer: ModelScorer,
) -> None:
    _verdicts(scorer, _POOL)
    batches = scorer.stats().device_batches
    assert scorer.submit(_POOL).done()
    assert scorer.stats().device_batches == batches


def test_new_numbers_in_a_line_are_the_same_text(scorer: ModelScorer) -> None:
    _verdicts(scorer, [Event("disk 7 of array 12 replaced by spare 3")])
    assert scorer.submit([Event("disk 6 of array 10 replaced by spare 2")]).done()


def test_a_text_seen_in_fitting_carries_its_rarity_alone_and_is_no_anomaly(scorer: ModelScorer) -> None:
    for verdict in _verdicts(scorer, normal_events(60)):
        assert set(verdict.parts.values()) == {None}
        assert not verdict.is_anomaly
        assert not verdict.extrapolated


def test_every_new_text_ranks_above_every_known_one(scorer: ModelScorer) -> None:
    known = _verdicts(scorer, normal_events(60))
    new = _verdicts(scorer, _ODD)
    assert max(v.score for v in known) < min(v.score for v in new)
    assert all(None not in v.parts.values() for v in new)


def test_tokens_are_words_of_the_original_text_with_the_most_surprising_first(model: Path) -> None:
    scorer = load_scorer(scoring(model), explain_from=0.0)
    message = "session opened for  user 4711 at 10.20.30.40 by zxqvkj in 12 ms"
    (verdict,) = _verdicts(scorer, [Event(message, level="error")])
    assert 1 <= len(verdict.tokens) <= 5
    assert [message[t.start : t.end] for t in verdict.tokens] == [t.text for t in verdict.tokens]
    surprisals = [t.surprisal for t in verdict.tokens]
    assert surprisals == sorted(surprisals, reverse=True)
    assert verdict.tokens[0].text == "zxqvkj"


def test_a_mask_is_explained_by_the_text_it_stands_for(model: Path) -> None:
    scorer = load_scorer(scoring(model), explain_from=0.0)
    texts = ["10.20.30.40 10.1.2.3, 55.66.77.88", "9.8.7.6 1.2.3.4, 10.20.30.41"]
    for text in texts:
        (verdict,) = _verdicts(scorer, [Event(text)])
        assert verdict.tokens
        assert all(t.text == text[t.start : t.end] != "<ip>" for t in verdict.tokens)


def test_a_text_that_looks_like_a_level_is_explained_like_any_other(model: Path) -> None:
    scorer = load_scorer(scoring(model), explain_from=0.0)
    with_level, without = _verdicts(scorer, [Event("zxqv", level="ERROR"), Event("<error> zxqv")])
    assert with_level.score == without.score
    assert [(t.text, t.start) for t in with_level.tokens] == [("zxqv", 0)]
    assert ("zxqv", 8) in [(t.text, t.start) for t in without.tokens]


def test_below_the_limit_nothing_is_explained(model: Path) -> None:
    scorer = load_scorer(scoring(model), explain_from=99.0)
    assert all(verdict.tokens == () for verdict in _verdicts(scorer, _POOL))


def test_every_text_is_counted_once(scorer: ModelScorer) -> None:
    for start in (0, 10, 20):
        _verdicts(scorer, [*_POOL[start:], *_POOL[:15]])
    s = scorer.stats()
    asked = sum(len(_POOL) - start + 15 for start in (0, 10, 20))
    assert s.known + s.repeats + s.cache_hits + s.cache_misses == asked
    assert min(s.known, s.repeats, s.cache_hits, s.cache_misses) > 0
    assert 0 < s.tokens_computed <= s.tokens_padded
    assert s.tokens_computed < s.tokens_covered, "these texts begin alike"


def test_the_reference_text_gets_its_stored_score(scorer: ModelScorer) -> None:
    assert scorer.self_test()


def test_a_device_that_computes_wrongly_fails_the_reference_text(scorer: ModelScorer) -> None:
    with torch.no_grad():
        scorer._language_model.engine.model.transformer.h[0].mlp.c_fc.weight *= 1.5
    assert not scorer.self_test()


def test_a_value_that_is_not_finite_fails_the_batch_and_is_not_remembered(scorer: ModelScorer) -> None:
    weight = scorer._language_model.engine.model.transformer.wte.weight
    good = weight.detach().clone()
    for bad in (float("nan"), float("inf")):
        with torch.no_grad():
            weight[5] = bad
        with pytest.raises(ScorerFailed):
            _verdicts(scorer, _ODD)
        assert not scorer.self_test()
    with torch.no_grad():
        weight.copy_(good)
    assert all(v.score > 0 for v in _verdicts(scorer, _ODD))


def test_whatever_fails_while_computing_fails_the_batch_alone(
    scorer: ModelScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(scorer._language_model, "compute", lambda _: 1 / 0)
        pending = scorer.submit(_ODD)
        assert pending.wait(time.monotonic() + 60)
        with pytest.raises(ScorerFailed, match="ZeroDivisionError"):
            pending.result()
    assert len(_verdicts(scorer, _ODD)) == len(_ODD)


def test_whatever_fails_while_preparing_fails_the_batch_alone(
    scorer: ModelScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer._language_model, "prepare", lambda _: {}["nothing"])
    pending = scorer.submit(_ODD)
    assert pending.done()
    with pytest.raises(ScorerFailed, match="KeyError"):
        pending.result()


def test_nothing_to_score_is_done_at_once(scorer: ModelScorer) -> None:
    pending = scorer.submit([])
    assert pending.done()
    assert list(pending.result()) == []


def test_the_model_is_named_by_its_manifest(scorer: ModelScorer, model: Path) -> None:
    again = load_scorer(scoring(model), explain_from=1.0)
    assert scorer.model == again.model
    assert (scorer.model.name, len(scorer.model.version)) == ("small", 16)


def test_a_stricter_rate_raises_the_threshold_and_moves_no_score(model: Path, scorer: ModelScorer) -> None:
    strict = load_scorer(scoring(model, false_alarm_rate=0.0001), explain_from=1.0)
    for loose, tight in zip(_verdicts(scorer, _ODD), _verdicts(strict, _ODD), strict=True):
        assert abs(loose.score - tight.score) <= TOLERANCE
        assert (loose.threshold, tight.threshold) == (pytest.approx(2), pytest.approx(4))
        assert tight.is_anomaly <= loose.is_anomaly


def test_a_missing_model_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="consumer fit"):
        load_scorer(Scoring(model=str(tmp_path / "none")), explain_from=1.0)

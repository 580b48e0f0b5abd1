"""`scoring.factory`: what is made of somebody else's object, and what is said of one that does not fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from consumer.errors import Fatal, Misconfigured, ScorerFailed
from consumer.isolation import Isolating
from consumer.loading import load
from consumer.ports import Scorer
from consumer.records import Event, Reason, Rejection, Score
from consumer.scoring.own import load_own
from consumer.scoring.simple import Simple
from consumer.settings import Scoring

_HERE = __name__


class Lengths:
    """A score is the length of the text; texts that are asked for by name misbehave."""

    name, version, threshold = "lengths", "7", 5.0

    def __init__(self) -> None:
        self.broken = False
        self.closed = False

    def score(self, events: Sequence[Event]) -> Any:
        if self.broken or any(event.message == "raise" for event in events):
            raise ValueError("cannot")
        return [self._answer(event.message) for event in events]

    def close(self) -> None:
        self.closed = True

    def _answer(self, text: str) -> float | Score | Rejection:
        special: dict[str, float | Score | Rejection] = {
            "nan": float("nan"),
            "whole": Score(9.0, True, 1.0, {"mine": 9.0}),
            "reject": Rejection(Reason.INVALID, "not for us"),
        }
        return special.get(text, float(len(text)))


class Short(Lengths):
    def score(self, events: Sequence[Event]) -> Any:
        return [1.0]


class Silent(Lengths):
    def score(self, events: Sequence[Event]) -> Any:
        threading.Event().wait(0.3)
        return [1.0] * len(events)


def make_lengths(scoring: Scoring) -> Lengths:
    return Lengths()


def make_short(scoring: Scoring) -> Lengths:
    return Short()


def make_silent(scoring: Scoring) -> Lengths:
    return Silent()


def make_infinite(scoring: Scoring) -> Any:
    made: Any = Lengths()
    made.reference = Event("nan")
    return made


def make_raising(scoring: Scoring) -> Any:
    made = Lengths()
    made.broken = True
    return made


def make_nothing(scoring: Scoring) -> None:
    return None


def make_error(scoring: Scoring) -> None:
    raise OSError(f"no weights in {scoring.model}")


def make_half(scoring: Scoring) -> Any:
    return type("Half", (), {"submit": None, "model": None})()


def make_sick(scoring: Scoring) -> Any:
    scorer = Simple(Lengths(), 1.0)
    scorer.self_test = lambda: False  # type: ignore[method-assign]
    return scorer


def make_full(scoring: Scoring) -> Scorer:
    return Simple(Lengths(), 1.0)


NOT_CALLABLE = "a text"


def _load(name: str, **settings: Any) -> Scorer:
    return load_own(Scoring(factory=f"{_HERE}:{name}", **settings))


def _answers(scorer: Scorer, *texts: str) -> Sequence[Score | Rejection]:
    pending = scorer.submit([Event(text) for text in texts])
    assert pending.wait(time.monotonic() + 10)
    return pending.result()


def test_a_number_becomes_a_score_beside_the_threshold_of_its_scorer() -> None:
    scorer = _load("make_lengths")
    assert _answers(scorer, "four", "fives") == [Score(4.0, False, 5.0), Score(5.0, True, 5.0)]
    assert (scorer.model.name, scorer.model.version) == ("lengths", "7")
    scorer.close()


def test_whole_scores_and_rejections_pass_as_they_are() -> None:
    found = _answers(_load("make_lengths"), "whole", "reject")
    assert found == [Score(9.0, True, 1.0, {"mine": 9.0}), Rejection(Reason.INVALID, "not for us")]


def test_a_text_that_was_cut_is_told_in_its_score() -> None:
    pending = _load("make_lengths").submit([Event("a", truncated=True)])
    assert pending.wait(time.monotonic() + 10)
    assert pending.result() == [Score(1.0, False, 5.0, truncated=True)]


def test_the_texts_that_it_was_asked_are_counted_as_those_of_the_device() -> None:
    scorer = _load("make_lengths")
    _answers(scorer, "a", "b")
    _answers(scorer, "a")
    stats = scorer.stats()
    assert (stats.cache_misses, stats.device_batches, stats.device) == (3, 2, "cpu")


def test_a_batch_counts_once_it_has_come_back_so_that_one_that_hangs_is_no_progress() -> None:
    held = threading.Event()

    class Holding(Lengths):
        def score(self, events: Sequence[Event]) -> Any:
            assert held.wait(10)
            return super().score(events)

    held.set()
    scorer = Simple(Holding(), stall_after=10.0)
    held.clear()
    pending = scorer.submit([Event("a")])
    assert scorer.stats().device_batches == 0
    held.set()
    assert pending.wait(time.monotonic() + 10)
    assert scorer.stats().device_batches == 1
    scorer.close()


@pytest.mark.parametrize("bad", ["raise", "nan"])
def test_a_record_that_it_fails_on_is_found_and_its_neighbours_are_scored(bad: str) -> None:
    scorer = Isolating(_load("make_lengths"), max_failures=3)
    first, poison, last = _answers(scorer, "a", bad, "bb")
    assert (first, last) == (Score(1.0, False, 5.0), Score(2.0, False, 5.0))
    assert isinstance(poison, Rejection)
    assert poison.reason is Reason.POISON


def test_a_scorer_that_breaks_altogether_is_fatal_and_condemns_no_record() -> None:
    inner = Lengths()
    scorer = Isolating(Simple(inner, 1.0), max_failures=3)
    inner.broken = True
    with pytest.raises(Fatal, match="not the record"):
        _answers(scorer, "a", "b")


def test_a_wrong_number_of_answers_while_running_is_fatal_and_names_the_setting() -> None:
    inner = Lengths()
    scorer = Simple(inner, 1.0)
    inner.score = lambda events: [1.0]  # type: ignore[method-assign]
    with pytest.raises(Fatal, match=r"scoring\.factory: score\(\) returned 1 answers for 3 events"):
        _answers(scorer, "a", "b", "c")


def test_what_it_raises_is_told_with_the_batch() -> None:
    with pytest.raises(ScorerFailed, match="ValueError: cannot"):
        _answers(_load("make_lengths"), "raise")


def test_it_is_closed_with_the_service() -> None:
    inner = Lengths()
    Simple(inner, 1.0).close()
    assert inner.closed


def test_a_full_scorer_is_taken_as_it_is() -> None:
    assert _answers(_load("make_full"), "four") == [Score(4.0, False, 5.0)]


WRONG: dict[str, str] = {
    "no_such_module": "is not of the form package.module:function",
    "no_such_module:make": "cannot be imported: No module named 'no_such_module'; install it",
    f"{_HERE}:make_no": "has no make_no",
    f"{_HERE}:NOT_CALLABLE": "NOT_CALLABLE is not callable",
    f"{_HERE}:make_error": "failed to make a scorer: OSError: no weights in m",
    f"{_HERE}:make_nothing": "returned a NoneType without name, version, threshold, score",
    f"{_HERE}:make_half": "returned a Half without stats, self_test, close",
    f"{_HERE}:make_short": "score() returned 1 answers for 2 events",
    f"{_HERE}:make_silent": "no score for the reference event within 0.1 s",
    f"{_HERE}:make_infinite": "not a finite score",
    f"{_HERE}:make_raising": "ValueError: cannot",
    f"{_HERE}:make_sick": "self_test() of its scorer is false",
}


@pytest.mark.parametrize("spec", WRONG, ids=lambda spec: spec.replace(f"{_HERE}:", ""))
def test_what_is_wrong_with_it_is_one_line_that_names_the_setting(spec: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load_own(Scoring(factory=spec, model="m", stall_after=0.1))
    (line,) = caught.value.problems
    assert line.startswith(f"scoring.factory = '{spec}': ")
    assert WRONG[spec] in line
    assert "\n" not in line


@pytest.mark.parametrize("name", ["make_error", "make_raising"])
def test_what_their_code_raises_is_told_with_its_place(name: str) -> None:
    with pytest.raises(Misconfigured, match=rf"\({Path(__file__)}:\d+\)"):
        _load(name)


def test_a_module_that_fails_while_it_is_imported_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_scorer.py").write_text("\n\nraise RuntimeError('half installed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Misconfigured, match=r"RuntimeError: half installed \(.*broken_scorer\.py:3\)"):
        load_own(Scoring(factory="broken_scorer:make"))


def test_a_factory_may_refuse_its_settings_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(scoring: Scoring) -> None:
        raise Misconfigured(["scoring.model = 'x': mend it"])

    module: dict[str, Callable[[Scoring], None]] = globals()
    monkeypatch.setitem(module, "make_refusal", refuse)
    with pytest.raises(Misconfigured, match=r"scoring\.model = 'x': mend it"):
        _load("make_refusal")


def test_a_shared_cache_beside_it_is_refused_for_it_would_never_be_asked() -> None:
    given = {"scoring.factory": "a:b", "redis.url": "redis://localhost"}
    (problem,) = load(given, {}).problems
    assert problem.startswith("redis.url = ")
    assert "scoring.factory" in problem
    assert not load({"scoring.factory": "a:b"}, {}).problems

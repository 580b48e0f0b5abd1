"""The example of a scorer of one's own, run by the command as it ships."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from consumer.records import Event
from consumer.settings import Scoring
from tests.kafka.checker import check
from tests.kafka.items import mixed
from tests.kafka.replicas import ROOT, SERVICE
from tests.kafka.scenario import Scenario

EXAMPLE = ROOT / "examples" / "keyword_scorer.py"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/own-model.md says: its folder on PYTHONPATH."""
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE.parent))


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("keyword_scorer", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_is_twenty_lines() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 20


def test_the_example_scores_a_topic_and_delivery_and_dead_letters_are_those_of_any_scorer(
    scenario: Scenario,
) -> None:
    scenario.prepare({"input": 3}, scoring__factory="keyword_scorer:make_scorer")
    items = [item for item in mixed(900, seed=61, every=30) if item.expected != "poison"]
    panics = [item._replace(value=b"kernel panic: image corrupt") for item in items[-5:]]
    scenario.feed(items + panics).finish()
    replica = scenario.start("own", "--stop-at-end", program=SERVICE)
    assert replica.wait(60) == 0, replica.log[-3000:]
    assert not check(scenario.history())
    results = [msgspec.json.decode(m.value() or b"") for m in scenario.results()]
    scored = [r for r in results if r["outcome"] == "scored"]
    assert {tuple(r["model"].values()) for r in scored} == {("keywords", "1")}
    expected = _scores([r["message"] for r in scored])
    assert [r["score"] for r in scored] == expected
    assert [r["is_anomaly"] for r in scored] == [score >= 2.0 for score in expected]
    assert expected.count(6.0) == len(panics)


def _scores(texts: Sequence[str]) -> list[float]:
    made = _example().make_scorer(Scoring())
    scores: list[float] = made.score([Event(text) for text in texts])
    return scores


def test_what_is_wrong_with_it_ends_the_service_before_it_joins_the_group(scenario: Scenario) -> None:
    scenario.prepare(scoring__factory="keyword_scorer:make_scorers")
    replica = scenario.start("wrong", program=SERVICE)
    assert replica.wait(60) == 2
    assert (
        "scoring.factory = 'keyword_scorer:make_scorers': keyword_scorer has no make_scorers" in replica.log
    )
    assert scenario.members() == 0

"""One small real model for all tests here: fitted once, by the same code as `consumer fit`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="scoring needs torch")

from consumer.masks import Masks
from consumer.normalize import Normalizer
from consumer.records import Event
from consumer.scoring.fit import FitOptions, fit
from consumer.scoring.judge import FittedModel
from consumer.scoring.known import Tally
from consumer.scoring.scorer import ModelScorer, load_scorer
from consumer.scoring.stored import make_parts, save_fitted
from consumer.settings import Scoring

_SUBJECTS = ("session", "worker", "cache", "index", "upload", "backup", "mailer")
_VERBS = ("opened for", "closed by", "refreshed after", "handed over to", "skipped for")
_OBJECTS = ("user alice", "tenant blue", "node north", "job nightly", "queue main")
THREADS = 1


def normal_events(count: int, seed: int = 0) -> list[Event]:
    """Normal records of an invented service, many of them alike."""
    rng = random.Random(seed)
    return [
        Event(
            f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)} in {rng.randrange(900)} ms",
            level=rng.choice(["info", "info", "warning", None]),
        )
        for _ in range(count)
    ]


def scoring(model: Path, **changes: object) -> Scoring:
    return Scoring(model=str(model), device="cpu", threads=THREADS, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def fitted() -> FittedModel:
    normalizer = Normalizer(Masks())
    tally = Tally(1_000)
    for event in normal_events(60):
        tally.add(normalizer.model_input(event.level, event.message))
    return fit(tally, make_parts(Scoring(device="cpu", threads=THREADS)), FitOptions(blocks=2))


@pytest.fixture(scope="session")
def model(fitted: FittedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("fitted") / "model"
    save_fitted(directory, fitted, "small", Masks(), {"records": 60})
    return directory


@pytest.fixture
def scorer(model: Path) -> Iterator[ModelScorer]:
    loaded = load_scorer(scoring(model), explain_from=1.0)
    yield loaded
    loaded.close()

"""The scorer that the pipeline calls: Python work on the caller's thread, the device's on a worker.

Every distinct text of a micro-batch is answered once: from what fitting knew, from what was scored
before, here or by another replica, or by the model. A verdict is a function of the record and the
model alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from consumer.calibration import threshold_for
from consumer.errors import ConsumerError, ScorerFailed
from consumer.flight import Settled
from consumer.normalize import Normalized, level_prefix
from consumer.ports import ModelInfo, Pending, ScorerStats
from consumer.records import Event, Rejection, Score, Token
from consumer.scoring.cache import Cache, digest
from consumer.scoring.explain import Word, surprising_words, tokens
from consumer.scoring.shared import Shared, join, share, split
from consumer.scoring.worker import Task, Worker, failure
from consumer.settings import Scoring
from consumer.sharing import SharedStats, SharedStore

if TYPE_CHECKING:  # torch takes seconds to import
    from consumer.scoring.judge import Verdicts
    from consumer.scoring.language_model import Prepared, Surprisals
    from consumer.scoring.parts import Floats, Measured
    from consumer.scoring.stored import StoredModel

# How far a score may move with the neighbours of its text in a device batch, or between devices.
TOLERANCE = 1e-2
_SHORT = 256  # characters up to which a text is its own key


class Known(NamedTuple):
    """What is remembered of an item: its score without tokens, and its surprising words."""

    score: Score
    words: tuple[Word, ...]
    fitted: bool  # seen in fitting


class _Failed(Settled):
    """The texts could not even be prepared."""

    def __init__(self, error: Exception) -> None:
        super().__init__(())
        self._error = error

    def result(self) -> Sequence[Score | Rejection]:
        raise failure(self._error)


class _Batch(NamedTuple):
    """A micro-batch with texts to compute: `fresh` ones in the order of `prepared`; the other parts
    of the model have measured them already."""

    events: Sequence[Event]
    items: Sequence[str]
    found: dict[str, Known | None]
    fresh: list[str]
    others: Mapping[str, Measured]


class _Computing:
    """A batch on the device."""

    def __init__(self, scorer: ModelScorer, batch: _Batch, task: Task[Surprisals]) -> None:
        self._scorer = scorer
        self._batch = batch
        self._task = task

    def done(self) -> bool:
        return self._task.done()

    def wait(self, deadline: float) -> bool:
        return self._task.wait(deadline)

    def result(self) -> Sequence[Score | Rejection]:
        return self._scorer.finish(self._batch, self._task.result())


class ModelScorer:
    """A Scorer over one loaded model, by itself or `shared` with other replicas. One thread calls it;
    `stats` may be called from any."""

    def __init__(
        self, stored: StoredModel, scoring: Scoring, explain_from: float, shared: Shared | None = None
    ) -> None:
        self.model = ModelInfo(stored.manifest.name, stored.version)
        self._stored = stored
        self._fitted = stored.fitted
        self._language_model = stored.language_model
        self._threshold = threshold_for(scoring.false_alarm_rate)
        self._explain_from = explain_from
        self._stall_after = scoring.stall_after
        self._cache: Cache[str | bytes, Known] = Cache(scoring.cache_size)
        self._shared = shared
        self._worker = Worker("scorer")
        self._counts = ScorerStats()

    def submit(self, events: Sequence[Event]) -> Pending:
        """Start scoring. Done at once when every text is known or remembered. Blocks on the shared
        cache, if there is one, for as long as its settings allow."""
        try:
            return self._submit(events)
        except Exception as error:  # whatever Python work fails on, the batch fails, not the process
            return _Failed(error)

    def _submit(self, events: Sequence[Event]) -> Pending:
        items = [self._stored.normalizer.model_input(event.level, event.message) for event in events]
        found = {item: self._look_up(item) for item in dict.fromkeys(items)}
        recalled = self._recall([item for item, known in found.items() if known is None])
        found.update(recalled)
        fresh = [item for item, known in found.items() if known is None]
        self._count(len(items), found, len(recalled), len(fresh))
        if not fresh:
            return Settled(self._verdicts(events, items, found))
        prepared = self._language_model.prepare(fresh)
        self._count_tokens(prepared)
        task = self._worker.submit(lambda: self._language_model.compute(prepared))
        return _Computing(self, _Batch(events, items, found, fresh, self._measure_others(fresh)), task)

    def finish(self, batch: _Batch, surprisals: Surprisals) -> Sequence[Score]:
        """The verdicts of a computed batch, in arrival order. Raises ScorerFailed."""
        if not np.isfinite(surprisals.nats).all():
            raise ScorerFailed("the model gave a value that is not finite")
        by_part = {**batch.others, self._language_model.name: self._language_model.summarise(surprisals)}
        measured = [by_part[name] for name in self._fitted.part_names]
        nats = [surprisals.of(index) for index in range(len(batch.fresh))]
        judged = self._judge(batch.fresh, measured, nats)
        if self._shared is not None:
            self._shared.keep(dict(zip(batch.fresh, join(measured, nats), strict=True)))
        return self._verdicts(batch.events, batch.items, {**batch.found, **judged})

    def stats(self) -> ScorerStats:
        engine = self._language_model.engine
        return self._counts._replace(
            device=engine.device_name,
            tokens_padded=engine.padded,
            device_batches=engine.batches,
            halvings=engine.halvings,
            budget_tokens=engine.budget,
            cache_entries=len(self._cache),
            known_texts=len(self._fitted.known),
            shared=SharedStats() if self._shared is None else self._shared.stats(),
        )

    def self_test(self) -> bool:
        """Blocks at most `scoring.stall_after`; a device that hangs that long has failed."""
        reference = self._stored.manifest.reference
        item = self._stored.normalizer.model_input(reference.level, reference.message)
        task = self._worker.submit(lambda: self._fitted.examine(item))
        if not task.wait(time.monotonic() + self._stall_after):
            return False
        try:
            score, statistics = task.result()
        except ConsumerError:
            return False
        found, wanted = (score, *statistics), (reference.score, *reference.statistics)
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(
            math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in pairs
        )

    def close(self) -> None:
        self._worker.close()
        if self._shared is not None:
            self._shared.close()

    def _look_up(self, item: str) -> Known | None:
        key = _key(item)
        known = self._cache.get(key)
        if known is None and (count := self._fitted.known.count(item)) is not None:
            verdict = self._fitted.judge_known(np.array([count]))
            known = Known(self._score(verdict, 0), (), fitted=True)
            self._cache.put(key, known)
        return known

    def _measure_others(self, fresh: list[str]) -> Mapping[str, Measured]:
        """Every part but the one whose work is the worker's."""
        parts = (part for part in self._fitted.parts if part is not self._language_model)
        return {part.name: part.measure(fresh) for part in parts}

    def _recall(self, items: list[str]) -> dict[str, Known]:
        """Those of the items that another replica measured. Never raises: what cannot be used is missed."""
        found = {} if self._shared is None or not items else self._shared.find(items)
        if self._shared is None or not found:
            return {}
        measured = split(self._shared.shape, list(found.values()))
        try:
            return self._judge(list(found), measured, [each.nats for each in found.values()])
        except (ConsumerError, ValueError):
            return {}

    def _judge(
        self, items: Sequence[str], measured: Sequence[Measured], nats: Sequence[Floats]
    ) -> dict[str, Known]:
        """Verdicts from what each part measured and the surprisals of the tokens; remembered from now on."""
        verdicts = self._fitted.judge_new(measured, self._threshold)
        if not np.isfinite(verdicts.scores).all():
            raise ScorerFailed("the model gave a value that is not finite")
        judged: dict[str, Known] = {}
        for index, item in enumerate(items):
            words = self._words(item, float(verdicts.scores[index]), nats[index])
            judged[item] = known = Known(self._score(verdicts, index), words, fitted=False)
            self._cache.put(_key(item), known)
        return judged

    def _words(self, item: str, score: float, nats: Floats) -> tuple[Word, ...]:
        """Of the message in the item; empty below `output.explain_from`."""
        if score < self._explain_from:
            return ()
        return surprising_words(item, self._language_model.spans(item), nats.tolist())

    def _score(self, verdicts: Verdicts, index: int) -> Score:
        parts = zip(self._fitted.part_names, verdicts.parts[index].tolist(), strict=True)
        return Score(
            score=float(verdicts.scores[index]),
            is_anomaly=bool(verdicts.anomalous[index]),
            threshold=self._threshold,
            parts={name: None if math.isnan(value) else value for name, value in parts},
            extrapolated=bool(verdicts.extrapolated[index]),
        )

    def _verdicts(
        self, events: Sequence[Event], items: Sequence[str], found: Mapping[str, Known | None]
    ) -> list[Score]:
        verdicts = []
        for event, item in zip(events, items, strict=True):
            known = found[item]
            assert known is not None
            plain = not (known.words or event.truncated)
            verdicts.append(known.score if plain else self._of_record(event, known))
        return verdicts

    def _of_record(self, event: Event, known: Known) -> Score:
        """A remembered score with what belongs to this record alone."""
        explained: tuple[Token, ...] = ()
        if known.words:
            normalized: Normalized = self._stored.normalizer.spans(event.message)
            begin = len(level_prefix(event.level)) if event.level else 0
            explained = tokens(event.message, known.words, normalized, begin)
        return msgspec.structs.replace(known.score, truncated=event.truncated, tokens=explained)

    def _count(self, asked: int, found: Mapping[str, Known | None], recalled: int, fresh: int) -> None:
        fitted = sum(known is not None and known.fitted for known in found.values())
        c = self._counts
        self._counts = c._replace(
            known=c.known + fitted,
            repeats=c.repeats + asked - len(found),
            cache_hits=c.cache_hits + len(found) - fitted - recalled - fresh,
            cache_misses=c.cache_misses + fresh,
        )

    def _count_tokens(self, prepared: Prepared) -> None:
        c = self._counts
        self._counts = c._replace(
            tokens_covered=c.tokens_covered + prepared.covered,
            tokens_computed=c.tokens_computed + prepared.computed,
        )


def _key(item: str) -> str | bytes:
    return item if len(item) <= _SHORT else digest(item)


def load_scorer(scoring: Scoring, explain_from: float, store: SharedStore | None = None) -> ModelScorer:
    """Load and warm the model that `scoring.model` names; blocks for seconds. `store`: where replicas
    share what they measured. Raises Misconfigured."""
    from consumer.scoring.stored import load_stored  # noqa: PLC0415 - it imports torch

    stored = load_stored(scoring)
    stored.language_model.warm_up()
    return ModelScorer(stored, scoring, explain_from, None if store is None else share(stored, store))

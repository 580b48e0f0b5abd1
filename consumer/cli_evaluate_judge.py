"""The texts of a data set under one model and under the models that lack a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from consumer.calibration import threshold_for
from consumer.cli_evaluate_input import Dataset
from consumer.cli_evaluate_report import OfTexts, Scored, judged
from consumer.cli_fit_progress import Reporter
from consumer.scoring.ablation import rest, without
from consumer.scoring.judge import FittedModel
from consumer.scoring.parts import Measured

_AT_ONCE = 1_000  # texts between two reports of progress


class Judge:
    """Every text of the data is measured once, however many models are made of its values."""

    def __init__(self, model: FittedModel, data: Dataset, rate: float, shown: Reporter) -> None:
        self._model, self._data, self._rate = model, data, rate
        self._texts = np.unique(data.text_of)
        items = [data.items[text] for text in self._texts.tolist()]
        self._counts = [model.known.count(item) for item in items]
        fresh = [item for item, count in zip(items, self._counts, strict=True) if count is None]
        self._measured = _measure(model, fresh, shown)
        self.known = np.zeros(len(data.items), bool)
        self.known[self._texts] = [count is not None for count in self._counts]

    def whole(self) -> Scored:
        return self._scored(self._model, self._measured)

    def without(self, part: int) -> Scored:
        return self._scored(without(self._model, part), rest(self._measured, part))

    def _scored(self, model: FittedModel, measured: Sequence[Measured]) -> Scored:
        verdicts = model.judge_all(self._counts, measured, threshold_for(self._rate))
        scores, flagged = np.zeros(len(self._data.items)), np.zeros(len(self._data.items), bool)
        scores[self._texts], flagged[self._texts] = verdicts.scores, verdicts.anomalous
        return judged(self._data, OfTexts(scores, flagged), self._rate)


def _measure(model: FittedModel, items: Sequence[str], shown: Reporter) -> list[Measured]:
    """What each part says of the items."""
    found = [model.measure(each) for each in _chunks(items, len(items), shown)]
    by_part = zip(*found, strict=True)
    return [Measured(*(np.concatenate(column) for column in zip(*each, strict=True))) for each in by_part]


def _chunks(items: Sequence[str], total: int, shown: Reporter) -> Iterator[list[str]]:
    rest_of = iter(items)
    done = 0
    while chunk := list(islice(rest_of, _AT_ONCE)):
        shown.stage("score", done, total)
        yield chunk
        done += len(chunk)

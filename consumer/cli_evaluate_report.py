"""What `consumer evaluate` finds out, as one value: scores of texts and labelled records in, figures out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from consumer.cli_evaluate_input import Dataset
from consumer.evaluation import (
    Bools,
    Floats,
    Ranking,
    count_false_alarms,
    length_alone,
    level_alone,
    ranking,
)

_LINES = 10_000
_FEW = 20  # anomalous texts below which the figures are mostly chance


class Order(msgspec.Struct, frozen=True):
    """What the order of the scores is worth: of records, and with each distinct text counted once."""

    records: Ranking
    texts: Ranking


class Alerts(msgspec.Struct, frozen=True):
    """What alerted at the threshold that needs no labels. `asked`, `got`, `got_repeats_once`: false
    alarms per normal record, the last with repeats of a text counted once."""

    asked: float
    got: float
    got_repeats_once: float
    got_by_asked: float
    recall: float
    recall_texts: float
    precision_texts: float
    per_10000: float
    texts_per_10000: float


class Scored(msgspec.Struct, frozen=True):
    """One scorer on the evaluated records."""

    order: Order
    alerts: Alerts


class Data(msgspec.Struct, frozen=True):
    """What was evaluated. `texts_with_both_labels` count as anomalies; `known_records`: share of the
    records whose text the fit had seen."""

    records: int
    anomalies: int
    texts: int
    anomalous_texts: int
    texts_with_both_labels: int
    known_records: float
    read: int
    empty: int
    rejected: dict[str, int]
    label_in_model_input: int


class FittedOn(msgspec.Struct, frozen=True):
    """The part that was fitted on, where there was a split: only its normal records were learnt."""

    split: str
    fit_share: float
    seed: int
    records: int
    normal: int
    normal_texts: int


class Report(msgspec.Struct, frozen=True):
    """Everything, as `--json` prints it."""

    model: str
    version: str | None
    parts: tuple[str, ...]
    calibration_items: int
    smallest_rate: float
    fitted_on: FittedOn | None
    data: Data
    scored: Scored
    baselines: dict[str, Order]
    without: dict[str, Scored] = {}

    def warnings(self) -> list[str]:
        """What a reader should know before believing the figures."""
        found = []
        leaks, texts, asked = (
            self.data.label_in_model_input,
            self.data.anomalous_texts,
            self.scored.alerts.asked,
        )
        if leaks:
            found.append(
                f"the model input of {leaks} records holds their label as a word: if it was not there "
                "when the record was written, the figures are void"
            )
        if texts < _FEW:
            found.append(f"only {texts} different anomalous texts: another sample may give other figures")
        if asked < self.smallest_rate:
            found.append(
                f"the false-alarm rate of {asked:g} is less than {self.smallest_rate:.2g}, which is all "
                "that the calibration items support"
            )
        return found


class OfTexts(NamedTuple):
    """A scorer's answer for each text of a data set; what is not evaluated may hold anything."""

    scores: Floats
    flagged: Bools


def describe(data: Dataset, known: Bools) -> Data:
    """`known`: whether the fit had seen each text."""
    wrong, right = set(data.text_of[data.anomalous].tolist()), set(data.text_of[~data.anomalous].tolist())
    return Data(
        records=len(data.text_of),
        anomalies=int(data.anomalous.sum()),
        texts=len(wrong | right),
        anomalous_texts=len(wrong),
        texts_with_both_labels=len(wrong & right),
        known_records=float(known[data.text_of].mean()),
        read=data.read,
        empty=data.empty,
        rejected=dict(data.rejected),
        label_in_model_input=data.leaks,
    )


def judged(data: Dataset, answer: OfTexts, asked: float) -> Scored:
    """`asked`: the false-alarm rate behind the threshold."""
    scores = answer.scores[data.text_of]
    return Scored(order_of(data, scores), alerts_of(data, answer.flagged[data.text_of], asked))


def order_of(data: Dataset, scores: Floats) -> Order:
    """Of scores by record; a text counted once has the score of its first record."""
    once = data.first_of_each_text()
    return Order(ranking(data.anomalous, scores), ranking(data.anomalous[once], scores[once]))


def alerts_of(data: Dataset, flagged: Bools, asked: float) -> Alerts:
    normal = ~data.anomalous
    wrong = count_false_alarms(
        zip(data.text_of[normal].tolist(), flagged[normal].tolist(), strict=True),
    )
    once = data.first_of_each_text()
    hits = flagged[once] & data.anomalous[once]
    alerts = int(flagged[once].sum())
    return Alerts(
        asked=asked,
        got=wrong.raw_rate,
        got_repeats_once=wrong.rate,
        got_by_asked=wrong.raw_rate / asked,
        recall=float(flagged[data.anomalous].mean()),
        recall_texts=float(hits.sum() / data.anomalous[once].sum()),
        precision_texts=float(hits.sum() / alerts) if alerts else 1.0,
        per_10000=float(flagged.mean()) * _LINES,
        texts_per_10000=alerts / len(flagged) * _LINES,
    )


def baselines(data: Dataset, usual: Dataset) -> dict[str, Order]:
    """Trivial scorers: by length and, where there is more than one, by level. `usual`: the records that
    say what is usual."""
    chars = data.chars.astype(np.float64)
    found = {
        "longer is odder": order_of(data, chars),
        "unusual length": order_of(data, _each(length_alone(usual.chars.tolist()), data.chars.tolist())),
    }
    levels = data.level_of()
    if len(set(levels)) > 1:
        found["rare level"] = order_of(data, _each(level_alone(usual.level_of()), levels))
    return found


def _each(measure: Callable[[Any], float], values: Sequence[Any]) -> Floats:
    """Each different value is measured once."""
    by_value = {value: measure(value) for value in set(values)}
    return np.array([by_value[value] for value in values])

"""Labelled records of files, decoded and masked as in the service, each distinct text kept once."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from consumer.cli_evaluate_labels import Labelled, LabelSource
from consumer.codec import EventCodec
from consumer.errors import Misconfigured
from consumer.evaluation import Bools, Integers
from consumer.lines import Line
from consumer.normalize import Normalizer
from consumer.records import Empty, Event, Rejection
from consumer.scoring.known import Tally
from consumer.settings import Input

NO_LEVEL = "-"
_TOLD_EVERY = 5_000
_SHOWN = 5

Told = Callable[[int, int], None]


class Dataset(NamedTuple):
    """Records in order; record i has the text `items[text_of[i]]`. `chars`: length of its message.
    `levels`: one for each record, by number in `level_names`. `leaks`: records whose model input holds
    their label as a word."""

    items: list[str]
    text_of: Integers
    anomalous: Bools
    chars: Integers
    levels: Integers
    level_names: list[str]
    read: int
    empty: int
    rejected: Counter[str]
    leaks: int

    def part(self, chosen: Bools) -> Dataset:
        """The chosen records."""
        return self._replace(
            text_of=self.text_of[chosen],
            anomalous=self.anomalous[chosen],
            chars=self.chars[chosen],
            levels=self.levels[chosen],
        )

    def normal_tally(self) -> Tally:
        """What a fit on the normal records learns from."""
        tally = Tally(len(self.items))
        for text in self.text_of[~self.anomalous].tolist():
            tally.add(self.items[text])
        return tally

    def level_of(self) -> list[str]:
        """The level of each record; `-` for none."""
        return [self.level_names[level] for level in self.levels.tolist()]

    def first_of_each_text(self) -> Integers:
        """A record for each different text: an anomaly where it has one, else its first."""
        order = np.lexsort((np.arange(len(self.text_of)), ~self.anomalous, self.text_of))
        _, first = np.unique(self.text_of[order], return_index=True)
        return order[first].astype(np.int64)


def collect(
    records: Iterable[tuple[Line, Labelled]],
    settings: Input,
    normalizer: Normalizer,
    source: LabelSource,
    told: Told,
) -> Dataset:
    """Read everything. Raises Misconfigured for a record without a label, and unless there are both
    normal records and anomalies."""
    codec, found = EventCodec(settings), _Found(source.normal)
    for _, (record, label) in records:
        found.read += 1
        decoded = codec.decode(record)
        if isinstance(decoded, Rejection):
            found.rejected[decoded.reason] += 1
        elif isinstance(decoded, Empty):
            found.empty += 1
        else:
            found.add(decoded, normalizer.model_input(decoded.level, decoded.message), label())
        if found.read % _TOLD_EVERY == 0:
            told(found.read, len(found.texts))
    told(found.read, len(found.texts))
    return found.result()


class _Found:
    """What has been read so far; a record takes 25 bytes beside its text."""

    def __init__(self, normal: frozenset[str]) -> None:
        self._normal = normal
        self.texts: dict[str, int] = {}
        self._level_names: dict[str, int] = {}
        self._columns = tuple(array(kind) for kind in "qbqq")  # text, anomalous, chars, level
        self._labels: Counter[str] = Counter()
        self._checked: dict[tuple[int, str], bool] = {}
        self._leaks = 0
        self.read = self.empty = 0
        self.rejected: Counter[str] = Counter()

    def add(self, event: Event, item: str, label: str) -> None:
        text = self.texts.setdefault(item, len(self.texts))
        level = self._level_names.setdefault(event.level or NO_LEVEL, len(self._level_names))
        row = (text, label not in self._normal, len(event.message), level)
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._labels[label] += 1
        if (text, label) not in self._checked:
            self._checked[text, label] = holds_word(item, label)
        self._leaks += self._checked[text, label]

    def result(self) -> Dataset:
        text_of, anomalous, chars, levels = (np.array(column, np.int64) for column in self._columns)
        wrong = anomalous.astype(bool)
        if wrong.all() or not wrong.any():
            raise Misconfigured([self._one_kind_only(bool(wrong.any()))])
        return Dataset(
            items=list(self.texts),
            text_of=text_of,
            anomalous=wrong,
            chars=chars,
            levels=levels,
            level_names=list(self._level_names),
            read=self.read,
            empty=self.empty,
            rejected=self.rejected,
            leaks=self._leaks,
        )

    def _one_kind_only(self, any_anomaly: bool) -> str:
        total = self._labels.total()
        if not total:
            return f"none of {self.read} records can be scored: {dict(self.rejected)}"
        kind = "an anomaly" if any_anomaly else "normal"
        seen = ", ".join(f"{label!r} ({count})" for label, count in self._labels.most_common(_SHOWN))
        return f"every one of {total} records is {kind}; the labels are {seen}: check --normal-value"


def holds_word(text: str, label: str) -> bool:
    """Whether the label stands in the text as a word of its own, whatever the case. A label without a
    letter or digit tells nothing."""
    if not any(map(str.isalnum, label)):
        return False
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE) is not None

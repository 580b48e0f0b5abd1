"""What the replicas count, read off their /metrics: of one page, of all together, and per second."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from consumer.ops import catalogue as c

WINDOW: Final = 5.0  # seconds over which the present speed is measured

KNOWN, REPEATS, CACHE, DEVICE = "known texts", "repeats", "cache hits", "device"


class Figures(NamedTuple):
    """Counts since the start, but for `lag`, which is that of now. `batched`: records in all batches.
    `closed_by`: batches by what closed them; `answered_by`: texts by what gave their score."""

    records: int = 0
    anomalies: int = 0
    lag: int = 0
    batched: int = 0
    closed_by: Mapping[str, int] = dict.fromkeys(c.BATCHES.values, 0)
    answered_by: Mapping[str, int] = dict.fromkeys((KNOWN, REPEATS, CACHE, DEVICE), 0)

    @property
    def batches(self) -> int:
        return sum(self.closed_by.values())

    @property
    def texts(self) -> int:
        return sum(self.answered_by.values())

    @property
    def mean_size(self) -> float:
        """Records in a batch; 0 before the first one."""
        return self.batched / max(1, self.batches)


class Reading(NamedTuple):
    """`figures` of all replicas together at the time `at` (monotonic seconds), by the `answered` of
    `asked` replicas that told theirs just now and by what the others told last. `speed`: records per
    second in the last WINDOW seconds."""

    at: float = 0.0
    figures: Figures = Figures()
    speed: float = 0.0
    answered: int = 0
    asked: int = 0

    @property
    def settled(self) -> bool:
        """Every replica has answered, and nothing is left to do for any."""
        return self.answered == self.asked and not self.figures.lag


class Readings:
    """Puts together what was read of `asked` replicas, round by round."""

    def __init__(self, asked: int) -> None:
        self._told = [Figures()] * asked
        self._recent: deque[Reading] = deque()

    def add(self, at: float, answers: Sequence[Figures | None]) -> Reading:
        """One round: an answer for each replica, None for one that gave none. `at` grows."""
        self._told = [
            before if answer is None else answer for answer, before in zip(answers, self._told, strict=True)
        ]
        answered = sum(answer is not None for answer in answers)
        now = Reading(at, together(self._told), answered=answered, asked=len(answers))
        self._recent.append(now)
        while at - self._recent[0].at > WINDOW and len(self._recent) > 2:
            self._recent.popleft()
        return now._replace(speed=_speed(self._recent[0], now))


def figures_of(page: str) -> Figures:
    """The figures on one page of metrics in Prometheus's text format. Raises ValueError for other text.
    What is not on it counts as 0: the model's numbers are missing until it is loaded."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    sums: defaultdict[str, float] = defaultdict(float)
    for sample in samples:
        sums[sample.name] += sample.value
    return Figures(
        records=int(sums[c.RECORDS.name]),
        anomalies=int(sums[c.ANOMALIES.name]),
        lag=int(sums[c.LAG.name]),
        batched=int(sums[f"{c.BATCH_RECORDS.name}_sum"]),
        closed_by=_closed_by(samples),
        answered_by=_answered_by(sums),
    )


def together(figures: Iterable[Figures]) -> Figures:
    """The sum over replicas."""
    total = Figures()
    for one in figures:
        total = Figures(
            records=total.records + one.records,
            anomalies=total.anomalies + one.anomalies,
            lag=total.lag + one.lag,
            batched=total.batched + one.batched,
            closed_by=_added(total.closed_by, one.closed_by),
            answered_by=_added(total.answered_by, one.answered_by),
        )
    return total


def _closed_by(samples: Iterable[Sample]) -> Mapping[str, int]:
    (label,) = c.BATCHES.labels
    found = {s.labels[label]: int(s.value) for s in samples if s.name == c.BATCHES.name}
    return {value: found.get(value, 0) for value in c.BATCHES.values}


def _answered_by(sums: Mapping[str, float]) -> Mapping[str, int]:
    cached = sums[c.CACHE_HITS.name] + sums[c.SHARED_HITS.name]
    answered = {
        KNOWN: sums[c.KNOWN_TEXTS_HIT.name],
        REPEATS: sums[c.REPEATED_TEXTS.name],
        CACHE: cached,
        DEVICE: sums[c.CACHE_LOOKUPS.name] - cached,
    }
    return {what: int(count) for what, count in answered.items()}


def _added(some: Mapping[str, int], more: Mapping[str, int]) -> Mapping[str, int]:
    return {key: count + more[key] for key, count in some.items()}


def _speed(earlier: Reading, later: Reading) -> float:
    """Records per second between two readings; 0 when no time lies between them."""
    records, seconds = later.figures.records - earlier.figures.records, later.at - earlier.at
    return records / seconds if seconds > 0 else 0.0

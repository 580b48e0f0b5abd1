"""`python -m benchmarks.service JOB`: the service as `consumer run` starts it, with a stopwatch beside it.

Settings come from the environment. The stopwatch starts with the first record that a poll returned and
stops with the last commit that the broker acknowledged; after the last record we ask ourselves to stop.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import msgspec

from benchmarks.jobs import Stopwatch, answer, job_of_this_process
from consumer.app import Service
from consumer.loading import load
from consumer.ops.fan_out import FanOut
from consumer.pipeline import Ports
from consumer.ports import Observer, Scorer, ScorerStats
from consumer.records import Output
from consumer.settings import Settings


class Marks(Observer):
    """Holds the stopwatch, and what the scorer had counted before it started."""

    def __init__(self, records: int) -> None:
        self.watch = Stopwatch()
        self.published_records = 0
        self.scorer: Scorer
        self._records = records
        self._before = ScorerStats()

    def polled(self, records: int, seconds: float, now: float) -> None:  # noqa: ARG002 - the signature
        if records and not self.watch.running:
            self._before = self.scorer.stats()
            self.watch.start()

    def published(self, outputs: Sequence[Output], seconds: float) -> None:  # noqa: ARG002 - the signature
        self.published_records += len(outputs)
        if self.published_records == self._records:
            signal.raise_signal(signal.SIGTERM)

    def committed(self, partitions: int) -> None:  # noqa: ARG002 - the signature
        self.watch.stop()

    def facts(self) -> dict[str, float]:
        """How far the scorer's counters went; what is no number is left out."""
        before, now = self._before._asdict(), self.scorer.stats()._asdict()
        return {name: float(now[name] - then) for name, then in before.items() if isinstance(then, int)}


def main() -> int:
    job = job_of_this_process()
    settings = load({}, os.environ).require()
    marks = Marks(job.records)

    def wrap(ports: Ports) -> Ports:
        marks.scorer = ports.scorer
        return msgspec.structs.replace(ports, observer=FanOut([ports.observer, marks]))

    code = Service(settings, _load, wrap).run()
    answer(job, marks.watch.measured(marks.published_records, marks.facts()))
    return code


def _load(settings: Settings) -> Scorer:
    """As `consumer run` does."""
    if settings.scoring.factory is not None:
        from consumer.scoring.own import load_own  # noqa: PLC0415 - without torch

        return load_own(settings.scoring)
    from consumer.scoring.scorer import load_scorer  # noqa: PLC0415 - torch takes seconds to import

    return load_scorer(settings.scoring, settings.output.explain_from)


if __name__ == "__main__":
    sys.exit(main())

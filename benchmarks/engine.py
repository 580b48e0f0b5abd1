"""`python -m benchmarks.engine engine|scorer JOB`: what computes, without Kafka.

engine: the language model with its tokenizer over every text, in chunks of a micro-batch, repeats included.
scorer: the whole scorer as the service calls it, all parts, caches empty at first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.jobs import LONGEST, Job, Stopwatch, answer, job_of_this_process
from consumer.codec import EventCodec
from consumer.records import Event, Record
from consumer.scoring.scorer import ModelScorer
from consumer.scoring.stored import StoredModel, load_stored
from consumer.settings import Batch, Input, Results, Scoring

_SCORING = Scoring(model="demo")
_T = TypeVar("_T")


def chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    size = Batch().count
    return (values[start : start + size] for start in range(0, len(values), size))


def events(job: Job) -> list[Event]:
    codec = EventCodec(Input())
    lines = Path(job.values).read_bytes().splitlines()[: job.records]
    decoded = [codec.decode(Record("file", 0, number, line)) for number, line in enumerate(lines)]
    return [event for event in decoded if isinstance(event, Event)]


def engine(stored: StoredModel, work: Sequence[Event], watch: Stopwatch) -> dict[str, float]:
    items = [stored.normalizer.model_input(event.level, event.message) for event in work]
    part = stored.language_model
    covered = 0
    watch.start()
    for chunk in chunks(items):
        prepared = part.prepare(chunk)
        part.summarise(part.compute(prepared))
        covered += prepared.covered
    watch.stop()
    return {"tokens_covered": covered, "tokens_padded": part.engine.padded}


def scorer(stored: StoredModel, work: Sequence[Event], watch: Stopwatch) -> dict[str, float]:
    made = ModelScorer(stored, _SCORING, Results().explain_from)
    watch.start()
    for chunk in chunks(work):
        pending = made.submit(chunk)
        pending.wait(time.monotonic() + LONGEST)
        pending.result()
    watch.stop()
    made.close()
    return {}


MODES = {"engine": engine, "scorer": scorer}


def main() -> None:
    job, watch = job_of_this_process(), Stopwatch()
    stored = load_stored(_SCORING)
    stored.language_model.warm_up()
    stored.language_model.engine.padded = 0
    work = events(job)
    facts = MODES[sys.argv[1]](stored, work, watch)
    answer(job, watch.measured(len(work), facts))


if __name__ == "__main__":
    main()

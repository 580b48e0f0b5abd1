"""`make bench`: competitors on the same brokers, in turns; writes build/bench.json and build/bench.md."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import click
import msgspec

from benchmarks import jobs
from benchmarks.broker import brokers, fill
from benchmarks.jobs import Job, Measured
from benchmarks.races import Comparison, Competitor, Runs, by_cpu, by_rate, race
from benchmarks.report import Share, machine, markdown, share
from benchmarks.texts import Corpus, all_distinct, as_they_come, data_folder, distinct_ratio
from tests.kafka.topics import Topics

NULL = {"scoring.factory": "benchmarks.null_scorer:make_scorer"}
MODEL = {"scoring.model": "demo"}
EXACTLY_ONCE = {"processing.guarantee": "exactly-once"}


RACES = ("null", "distinct", "logs", "guarantees")


class Sizes(msgspec.Struct, frozen=True):
    """How much is worked through, so that all of it ends within ten minutes on two cores."""

    null_records: int = 200_000
    null_rounds: int = 5
    distinct: int = 2_000
    rounds: int = 3
    naive_records: int = 300  # it has one speed: no need to wait for more
    engine_records: int = 1_000  # of a log as it comes, where repeats are computed again and again
    seconds: float = 120.0  # after which a race begins no new round


class Bench:
    """Brokers, and one folder for answers."""

    def __init__(self, bootstrap: str, home: Path, sizes: Sizes) -> None:
        self._bootstrap, self._home, self.sizes = bootstrap, home, sizes
        self._topics = Topics(bootstrap)
        self.comparisons: list[Comparison] = []
        self.shares: list[Share] = []
        self.runs: dict[str, Runs] = {}

    # ---------------------------------------------------------------- the four races

    def null(self, corpora: list[Corpus]) -> None:
        """(a) Everything but the model, beside the bare client."""
        values = self._many(corpora)
        with_topic = self._prepared("null scorer", values)
        runs = self._race(
            "null scorer",
            {
                "service": with_topic("benchmarks.service", NULL),
                "bare": with_topic("benchmarks.loops bare", {}),
            },
            self.sizes.null_rounds,
        )
        name = "null scorer end to end ÷ bare client loop"
        self.comparisons += [
            by_rate(name, runs["service"], runs["bare"], 1.0),
            by_cpu(name, runs["service"], runs["bare"], 3.0),
        ]

    def guarantees(self, corpora: list[Corpus]) -> None:
        """(d) What transactions cost: everything but the model, under both guarantees."""
        with_topic = self._prepared("both guarantees", self._many(corpora))
        runs = self._race(
            "guarantees",
            {
                "exactly once": with_topic("benchmarks.service", NULL | EXACTLY_ONCE),
                "at least once": with_topic("benchmarks.service", NULL),
            },
            self.sizes.rounds,
        )
        name = "null scorer on three brokers: exactly once ÷ at least once"
        self.comparisons += [
            by_rate(name, runs["exactly once"], runs["at least once"], None),
            by_cpu(name, runs["exactly once"], runs["at least once"], None),
        ]

    def _many(self, corpora: list[Corpus]) -> list[bytes]:
        endless = itertools.cycle(value for corpus in corpora for value in corpus.values())
        return list(itertools.islice(endless, self.sizes.null_records))

    def distinct(self, corpus: Corpus) -> None:
        """(b) and (c) where every text is new."""
        self._model(corpus, engine_target=0.95, naive_target=2.5, engine_records=len(corpus.texts))

    def as_it_comes(self, corpus: Corpus) -> None:
        """(b) and (c) on a log with its repeats, from empty caches."""
        self._model(corpus, engine_target=None, naive_target=100.0, engine_records=self.sizes.engine_records)

    def _model(
        self, corpus: Corpus, *, engine_target: float | None, naive_target: float, engine_records: int
    ) -> None:
        values = corpus.values()
        with_topic = self._prepared(corpus.name, values)
        sample = values[:: max(1, len(values) // engine_records)][:engine_records]
        competitors = {
            "service": with_topic("benchmarks.service", MODEL),
            "engine": self._without_kafka("benchmarks.engine engine", sample),
            "scorer": self._without_kafka("benchmarks.engine scorer", values),
            "naive": with_topic("benchmarks.loops naive", {}, self.sizes.naive_records),
        }
        runs = self._race(corpus.name, competitors, self.sizes.rounds)
        ours = runs["service"]
        self.comparisons += [
            by_rate(f"{corpus.name}: service ÷ engine alone", ours, runs["engine"], engine_target),
            by_rate(f"{corpus.name}: service ÷ whole scorer alone", ours, runs["scorer"], None),
            by_rate(f"{corpus.name}: service ÷ naive loop", ours, runs["naive"], naive_target),
            by_cpu(f"{corpus.name}: service ÷ naive loop", ours, runs["naive"], None),
        ]
        self.shares.append(share(corpus.name, distinct_ratio(corpus), ours))

    # ---------------------------------------------------------------- competitors

    def _race(self, name: str, competitors: dict[str, Competitor], rounds: int) -> Runs:
        tell(f"== {name}")
        until = time.monotonic() + self.sizes.seconds
        self.runs[name] = race(competitors, rounds, tell, lambda: time.monotonic() < until)
        for topic in (self._input, self._output, self._dead):
            self._topics.delete(topic)
        return self.runs[name]

    def _prepared(self, name: str, values: list[bytes]) -> Callable[..., Competitor]:
        """Fill a topic; what comes back makes competitors that read it, each time in a new group."""
        tell(f"-- {len(values):,} records for {name}")
        self._input, self._output, self._dead = (
            f"{role}-{uuid4().hex[:8]}" for role in ("in", "out", "dead")
        )
        fill(self._bootstrap, self._topics, self._input, values)
        fill(self._bootstrap, self._topics, self._output, [])
        fill(self._bootstrap, self._topics, self._dead, [])

        def competitor(module: str, settings: dict[str, str], most: int = len(values)) -> Competitor:
            return lambda turn: self._run(module, settings, min(most, len(values)), turn)

        return competitor

    def _run(self, module: str, settings: dict[str, str], records: int, turn: int) -> Measured:
        group = f"bench-{turn}-{uuid4().hex[:8]}"
        job = Job(str(self._home / "answer"), records, self._bootstrap, self._input, self._output, group)
        fixed = {
            "kafka.bootstrap_servers": self._bootstrap,
            "kafka.group_id": group,
            "input.topic": self._input,
            "output.topic": self._output,
            "dead_letter.topic": self._dead,
            "metrics.port": "0",
        }
        return jobs.run(module, job, fixed | settings)

    def _without_kafka(self, module: str, values: list[bytes]) -> Competitor:
        path = self._home / f"values-{uuid4().hex[:8]}"
        path.write_bytes(b"\n".join(values))
        job = Job(str(self._home / "answer"), len(values), values=str(path))
        return lambda _: jobs.run(module, job)


def tell(line: str) -> None:
    click.echo(line, err=True)


def measure(sizes: Sizes, only: str) -> tuple[dict[str, str], list[Bench]]:
    """All races, or those whose name holds `only`. Blocks for minutes."""
    facts, folder = machine(), data_folder()
    logs = as_they_come(folder)
    benches = []
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        if only != "guarantees":
            with brokers(1) as cluster:
                benches.append(Bench(cluster.bootstrap, Path(home), sizes))
                _on_one_broker(benches[-1], logs, folder, only)
        if only in "guarantees":
            with brokers(3) as cluster:
                benches.append(Bench(cluster.bootstrap, Path(home), sizes))
                benches[-1].guarantees(logs)
    facts["records"] = ", ".join(f"{c.name} ({'real' if c.real else 'invented'})" for c in logs)
    return facts, benches


def _on_one_broker(bench: Bench, logs: list[Corpus], folder: Path | None, only: str) -> None:
    if only in "null":
        bench.null(logs)
    if only in "distinct":
        bench.distinct(all_distinct(folder, bench.sizes.distinct))
    for corpus in logs if only in "logs" else []:
        bench.as_it_comes(corpus)


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("build"))
@click.option("--only", type=click.Choice(RACES), help="One of the races.")
def main(out: Path, only: str | None) -> None:
    """Measure, print the table, and write bench.json and bench.md into the folder --out."""
    began = time.monotonic()
    try:
        facts, benches = measure(Sizes(), only or "")
    except FileNotFoundError as error:
        tell(str(error))
        sys.exit(2)
    comparisons = [each for bench in benches for each in bench.comparisons]
    shares = [each for bench in benches for each in bench.shares]
    runs = {name: each for bench in benches for name, each in bench.runs.items()}
    table = markdown(facts, comparisons, shares)
    out.mkdir(exist_ok=True)
    (out / "bench.md").write_text(table + "\n", "utf-8")
    document = {"facts": facts, "comparisons": comparisons, "shares": shares, "runs": runs}
    (out / "bench.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)))
    click.echo(table)
    tell(f"took {time.monotonic() - began:,.0f} s; written to {out / 'bench.json'} and {out / 'bench.md'}")


if __name__ == "__main__":
    main()

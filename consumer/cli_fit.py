"""`consumer fit`: learn what normal looks like."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from consumer.cli_fit_input import Collected, Origin, collect, from_files, from_topic
from consumer.cli_fit_options import Fitting, fitting_options
from consumer.cli_fit_progress import Reporter, reporter
from consumer.cli_fit_summary import Written, summary, warnings
from consumer.cli_options import settings_options
from consumer.errors import Misconfigured
from consumer.loading import Loaded
from consumer.normalize import Normalizer
from consumer.scoring import fit as scoring
from consumer.settings import Settings

_TOPIC_RECORDS = 100_000


class Request(NamedTuple):
    """What the user asked for, apart from settings."""

    files: Sequence[str]
    out: Path
    name: str
    topic: str | None
    since_ms: int | None
    limit: int | None
    fitting: Fitting


def _since(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch. A time without an offset is UTC."""
    if value is None or value.isdecimal():
        return None if value is None else int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter("write 2026-01-31T12:00:00Z, or milliseconds since the epoch") from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


@click.command(
    epilog="""\b
Examples:
  consumer fit app.log --out ./model
  consumer fit old.log.gz new.log --out ./model --name web --limit 200000
  journalctl -o cat | consumer fit - --out ./model
  consumer fit --topic events --from 2026-01-31T00:00:00Z --count 100000 --out ./model
  consumer fit app.log --out ./model --mask 'order=ORD-[A-Z0-9]+'
  consumer fit app.log --out ./model --parts novelty,severity --severity-words our.words
"""
)
@settings_options("kafka")
@click.argument("files", nargs=-1, metavar="[FILE|-]...")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Model directory to write."
)
@click.option("--name", help="Name of the model in results and logs. [default: that of the directory]")
@click.option("--topic", help="Read this topic instead of files: no group is joined, nothing committed.")
@click.option("--from", "since_ms", callback=_since, metavar="TIME", help="Of a topic: records from then on.")
@click.option(
    "--limit",
    "--count",
    type=click.IntRange(min=1),
    help=f"Read at most so many records. [default: all of files, {_TOPIC_RECORDS} of a topic]",
)
@fitting_options
def fit(loaded: Loaded, out: Path, name: str | None, **asked: Any) -> None:
    """Learn from normal records and write one model directory.

    Records are lines of plain text or JSON, in files, compressed or not, in standard input (-), or in a
    topic. What `consumer run` would reject is rejected here: told by line number, and not learnt.
    """
    request = Request(out=out, name=name or out.resolve().name, **asked)
    began = time.monotonic()
    _refuse(request)
    with reporter() as shown:
        collected = collect(*_input(request, loaded.require()), shown.reading)
        written = _learn(collected, request, loaded.settings, shown)
    click.echo("\n".join(summary(collected, written, time.monotonic() - began)))
    for line in warnings(collected, written.model, loaded.settings.scoring.false_alarm_rate):
        click.echo(f"warning: {line}", err=True)


def _refuse(request: Request) -> None:
    """Wrong input, before anything is read. Raises Misconfigured."""
    problems = []
    if bool(request.files) == bool(request.topic):
        problems.append("name files to learn from (- is standard input), or --topic, and not both")
    if request.since_ms is not None and not request.topic:
        problems.append("--from belongs to --topic: files have no times to go by")
    if request.out.is_dir() and any(request.out.iterdir()) and not (request.out / "manifest.json").is_file():
        problems.append(f"--out {request.out}: holds something else than a model; name another directory")
    if problems:
        raise Misconfigured(problems)
    request.fitting.words()


def _input(request: Request, settings: Settings) -> tuple[Iterator[Origin], Settings, Normalizer]:
    if request.topic:
        origins = _topic(request, settings)
    else:
        origins = islice(from_files(request.files, settings.input.max_bytes), request.limit)
    return origins, settings, Normalizer(request.fitting.masks)


def _topic(request: Request, settings: Settings) -> Iterator[Origin]:
    from consumer.kafka.reader import TopicReader  # noqa: PLC0415 - files need no Kafka client

    with closing(TopicReader(settings, request.topic or "")) as source:
        plan = source.plan(request.since_ms, request.limit or _TOPIC_RECORDS)
        return from_topic(source.read(plan))


def _learn(collected: Collected, request: Request, settings: Settings, shown: Reporter) -> Written:
    """Fit, write, and return what was written."""
    from consumer.scoring.stored import save_fitted  # noqa: PLC0415 - torch takes seconds

    fitting = request.fitting
    parts = fitting.make_parts(settings.scoring)
    model, odd = scoring.learn(collected.tally, parts, fitting.options, shown.stage)
    version = save_fitted(request.out, model, request.name, fitting.masks, _training(collected, request))
    return Written(model, odd, request.out, request.name, version)


def _training(collected: Collected, request: Request) -> dict[str, object]:
    """Facts for people, kept in the manifest."""
    return {
        "source": f"topic {request.topic}" if request.topic else ", ".join(request.files),
        "records": collected.records,
        "items": len(collected.tally),
        "rejected": collected.rejected.total(),
        **request.fitting.facts(),
    }

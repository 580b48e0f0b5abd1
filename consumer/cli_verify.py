"""`consumer verify`: whether every record has its output, checked from outside."""

from __future__ import annotations

import gc
import re
import sys
import time
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from consumer.cli_fit_progress import reporter
from consumer.cli_options import settings_options
from consumer.loading import Loaded

# Millions of small objects come and go here, none of them in circles: looking for some costs a tenth of all.
_RARELY = 100_000

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _time(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch of a moment (UTC unless it says otherwise) or of a while ago."""
    if value is None or value.isdecimal():
        return None if value is None else int(value)
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", value):
        return int(time.time() * 1_000) - int(ago[1]) * _UNITS[ago[2]] * 1_000
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(
            "write 2026-01-31T12:00:00Z, milliseconds since the epoch, or a time ago: 90m, 2h, 7d"
        ) from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)


def _partitions(_: click.Context, __: click.Parameter, value: str | None) -> frozenset[int] | None:
    """`0,3-5` is 0, 3, 4 and 5."""
    if value is None:
        return None
    numbers: set[int] = set()
    for piece in value.split(","):
        span = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", piece)
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
        if first > last:
            raise click.BadParameter("write 0,3-5")
        numbers |= {*range(first, last + 1)}
    return frozenset(numbers)


@click.command(
    epilog="""\b
Examples:
  consumer verify --config consumer.toml
  consumer verify --config consumer.toml --since 2h --partitions 0,3-5
  consumer verify --config consumer.toml --from-offset 120000 --partitions 7
  consumer verify --config consumer.toml --json | jq .verdict
"""
)
@settings_options("kafka", "input", "output", "dead_letter")
@click.option(
    "--partitions",
    callback=_partitions,
    metavar="LIST",
    help="Partitions of the input, as 0,3-5. [default: all]",
)
@click.option(
    "--from-offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="First offset, in every partition. [default: the first that can be read]",
)
@click.option(
    "--until-offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="Offset before which to stop. [default: the committed one, which is the limit]",
)
@click.option(
    "--since", callback=_time, metavar="TIME", help="Records from then on: a moment, or 90m, 2h, 7d ago."
)
@click.option("--until", callback=_time, metavar="TIME", help="Records before then, likewise.")
@click.option(
    "--wait",
    "patience",
    type=click.FloatRange(0.0, 86_400.0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for an open transaction that hides results.",
)
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=1_024,
    show_default=True,
    metavar="MIB",
    help="What the records' states may take: 14 bytes an offset.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def verify(loaded: Loaded, as_json: bool, **asked: Any) -> None:
    """Audit what was published against what was read, by an independent reader.

    Compares input, results and dead letters below the group's committed offsets, and also works while
    the consumer runs. Joins no group and commits nothing. Exit code 0: the contract of
    processing.guarantee holds; 1: it does not, or that cannot be said; 2: wrong settings. What the
    figures mean: docs/verify.md.
    """
    settings = loaded.require()
    from consumer.verify.audit import audit  # noqa: PLC0415 - help and errors in settings need no client
    from consumer.verify.plan import Asked  # noqa: PLC0415 - likewise
    from consumer.verify.report import Verdict  # noqa: PLC0415 - likewise
    from consumer.verify.text import lines  # noqa: PLC0415 - likewise

    gc.set_threshold(_RARELY)
    with reporter() as shown:
        report = audit(settings, Asked(**asked), shown.stage)
    verdict = report.verdict()
    if as_json:
        whole = {"verdict": verdict, "summary": report.sentence(), **msgspec.structs.asdict(report)}
        click.echo(msgspec.json.encode(whole))
    else:
        for line in lines(report):
            click.echo(line)
        click.echo(report.sentence())
    sys.exit(0 if verdict is Verdict.HOLDS else 1)

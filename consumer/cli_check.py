"""`consumer check`: what would go wrong, before it does."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from consumer.checks import Findings, check_all
from consumer.cli_options import settings_options
from consumer.loading import DEFAULT, Loaded, effective

_WRONG = 2


@click.command(
    epilog="""\b
Examples:
  consumer check --model demo
  consumer check --config consumer.toml --all
  CONSUMER_KAFKA_BOOTSTRAP_SERVERS=broker:9092 consumer check > /dev/null   # problems only
"""
)
@settings_options()
@click.option("--all", "everything", is_flag=True, help="Show the settings that have their defaults, too.")
@click.option(
    "--timeout",
    default=5.0,
    show_default=True,
    type=click.FloatRange(0.1, 600),
    help="Seconds that brokers may take to answer.",
)
def check(loaded: Loaded, everything: bool, timeout: float) -> None:
    """Check settings, brokers, topics, Redis and model; show the settings in force, secrets masked.

    Reads and asks only: nothing is created, no group is joined. Every problem is one line on standard
    error, with its fix. Exit code 0: the service can run; 2: it cannot.
    """
    _say(_settings_lines(loaded, everything))
    found = check_all(loaded, timeout)
    _say(_finding_lines(found))
    _say((f"warning: {line}" for line in found.warnings), err=True)
    _say(found.problems, err=True)
    sys.exit(_WRONG if found.problems else 0)


def _say(lines: Iterable[str], *, err: bool = False) -> None:
    for line in lines:
        click.echo(line, err=err)


def _settings_lines(loaded: Loaded, everything: bool) -> list[str]:
    rows = [row for row in effective(loaded) if everything or row[2] != DEFAULT]
    lines = [f"{name} = {value}  # {origin}" for name, value, origin in rows]
    return lines if everything else [*lines, "# all other settings have their defaults; --all shows them"]


def _finding_lines(found: Findings) -> list[str]:
    count = len(found.problems)
    verdict = "no problems" if not count else f"{count} problem{'s' * (count > 1)}"
    return [*(f"# {note}" for note in found.notes), f"# {verdict}"]

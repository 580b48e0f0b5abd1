"""`consumer demo`: see it work without anything else installed."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(
    epilog="""\b
Examples:
  consumer demo                            # 6,000 labelled records, about a minute
  consumer demo --seed 7                   # another fleet with other messages
  consumer demo --file /var/log/syslog     # your own log: learn from its first half, score the rest
"""
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Which fleet is drawn."
)
@click.option(
    "--records", default=6_000, show_default=True, type=click.IntRange(min=500), help="How many it writes."
)
@click.option(
    "--replicas", default=2, show_default=True, type=click.IntRange(1, 8), help="Processes of consumer run."
)
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Your own log instead, plain or .gz: learnt from its first part, scored for the rest.",
)
def demo(seed: int, records: int, replicas: int, path: Path | None) -> None:
    """Start Kafka's protocol in this process, real replicas beside it, and show what they find.

    No broker, Java or GPU is needed: the brokers are those that librdkafka brings for its own tests, on
    loopback, in memory. Exit code 0: every produced record has exactly one output record.
    """
    from rich.console import Console  # noqa: PLC0415 - --help must not wait for it

    from consumer.demo.own_log import run_on_file  # noqa: PLC0415 - likewise
    from consumer.demo.runner import run_generated  # noqa: PLC0415 - likewise
    from consumer.demo.screen import Screen  # noqa: PLC0415 - likewise

    _never_fail_on_characters()
    screen = Screen(Console())
    if path is not None:
        sys.exit(run_on_file(path, replicas, screen))
    sys.exit(run_generated(seed, records, replicas, screen))


def _never_fail_on_characters() -> None:
    """Logs hold any character; a terminal that lacks one shows a question mark."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")

"""`consumer run`: the service."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from consumer.allocator import Allocator
from consumer.cli_options import settings_options
from consumer.loading import Loaded
from consumer.ports import Scorer
from consumer.settings import Settings


@click.command(
    epilog="""\b
Examples:
  consumer run --model ./model --bootstrap-servers broker:9092
  consumer run --config consumer.toml
  consumer run --model demo --stop-at-end      # a backfill: stops when it has caught up
  CONSUMER_SCORING_MODEL=/models/prod consumer run
"""
)
@settings_options()
@click.option("--stop-at-end", is_flag=True, help="Stop when everything that is assigned to us is finished.")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a timeline that Perfetto and chrome://tracing open.",
)
@click.pass_obj
def run(allocator: Allocator | None, loaded: Loaded, stop_at_end: bool, trace: Path | None) -> None:
    """Score the input topic until stopped; publish every score, then commit.

    The model is loaded and warm before the group is joined. The first SIGTERM or Ctrl-C finishes and
    commits what is under way; a second one exits at once. Exit code 0: stopped cleanly; 1: failed while
    running, nothing unfinished committed; 2: wrong settings, topics or model.
    """
    from consumer.app import Service  # noqa: PLC0415 - help and errors in settings need no Kafka client

    service = Service(loaded.require(), _load, facts={"allocator": str(allocator or "unset")}, trace=trace)
    _end(service.run(stop_at_end=stop_at_end))


def _end(code: int) -> NoReturn:
    """A process that failed may have a thread inside the device's library, or a client that never
    answers: it ends without asking either. All that had to be written was written before."""
    if code:
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _load(settings: Settings) -> Scorer:
    if settings.scoring.factory is not None:
        from consumer.scoring.own import load_own  # noqa: PLC0415 - only where it is asked for

        return load_own(settings.scoring)
    from consumer.scoring.scorer import load_scorer  # noqa: PLC0415 - torch takes seconds to import
    from consumer.stores.redis_store import open_scores  # noqa: PLC0415 - help needs no Redis client

    return load_scorer(settings.scoring, settings.output.explain_from, open_scores(settings.redis))

"""`consumer run` with another scorer, an event log and a failpoint: `python -m tests.kafka.entry run …`.

Everything else is the command itself: its options, settings, checks, signals and exit codes. Variables that
begin with CONSUMER_TEST_ are none of the command's.
"""

from __future__ import annotations

import faulthandler
import functools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from consumer import app, cli_run
from consumer.cli import cli
from consumer.kafka import outlet
from consumer.ops.fan_out import FanOut
from consumer.pipeline import Ports
from consumer.ports import Scorer
from consumer.settings import Settings
from tests.kafka.eventlog import EventLog
from tests.kafka.failpoint import Failpoint
from tests.kafka.text_scorer import TextScorer
from tests.kafka.watched_producer import WatchedProducer
from tests.kafka.wrapped import LoggedObserver, LoggedSource, WatchedScorer, WatchedSink


def main() -> None:
    log = EventLog(Path(variable("EVENT_LOG")))
    armed_by = variable("ARMED_BY")
    failpoint = Failpoint(variable("FAILPOINT"), Path(armed_by) if armed_by else None, log)
    run_command(log, failpoint, _load)


def run_command(log: EventLog, failpoint: Failpoint, load: Callable[[Settings], Scorer]) -> None:
    """The command, with its ports and its producer wrapped and with this scorer."""
    faulthandler.register(signal.SIGUSR1)  # a test that waits in vain asks where the process stands
    app.Service = functools.partial(app.Service, wrap=functools.partial(_wrap, log, failpoint))  # type: ignore[misc]
    outlet.Producer = functools.partial(WatchedProducer, log, failpoint)  # type: ignore[misc, assignment]
    cli_run._load = load
    cli(prog_name="consumer")


def variable(name: str) -> str:
    """A variable for the tests' own use."""
    return os.environ.get(f"CONSUMER_TEST_{name}", "")


def _wrap(log: EventLog, failpoint: Failpoint, ports: Ports) -> Ports:
    return msgspec.structs.replace(
        ports,
        source=LoggedSource(ports.source, log, failpoint),
        scorer=WatchedScorer(ports.scorer, failpoint),
        sink=WatchedSink(ports.sink, failpoint),
        observer=FanOut([ports.observer, LoggedObserver(log, failpoint)]),
    )


def _load(settings: Settings) -> TextScorer:
    time.sleep(float(variable("LOAD_SECONDS") or 0))
    return TextScorer(float(variable("SCORE_SECONDS") or 0))


if __name__ == "__main__":
    main()

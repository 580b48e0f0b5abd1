"""What a measuring process is asked for and what it answers. Each competitor runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from consumer.allocator import Allocator, keep_pages
from consumer.errors import ConsumerError

LONGEST = 240.0  # seconds after which a competitor counts as stuck


class Job(msgspec.Struct, frozen=True):
    """`records`: how many to work through; `values`: file with one JSON event per line, for those that
    do without Kafka."""

    result: str
    records: int
    bootstrap: str = ""
    topic: str = ""
    output: str = ""
    group: str = ""
    values: str = ""


class Measured(msgspec.Struct, frozen=True):
    """`seconds`: from the first record in our hands to the last commit; `cpu`: seconds of all threads of the
    process in that time; `facts`: counters of whoever was measured."""

    records: int
    seconds: float
    cpu: float
    facts: dict[str, float] = {}

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    @property
    def cpu_micros(self) -> float:
        """CPU time per record in microseconds."""
        return self.cpu / self.records * 1e6


class Stopwatch:
    """Wall clock and CPU time of the whole process, from `start` to the last `stop`."""

    def __init__(self) -> None:
        self.running = False
        self._began = self._ended = (0.0, 0.0)

    def start(self) -> None:
        self.running = True
        self._began = time.monotonic(), time.process_time()

    def stop(self) -> None:
        self._ended = time.monotonic(), time.process_time()

    def measured(self, records: int, facts: Mapping[str, float] | None = None) -> Measured:
        (began, cpu_before), (ended, cpu_after) = self._began, self._ended
        return Measured(records, ended - began, cpu_after - cpu_before, dict(facts or {}))


def job_of_this_process() -> Job:
    """The job on the command line, after the allocator was set up: the same for every competitor."""
    keep_pages(os.environ)
    return msgspec.json.decode(sys.argv[-1], type=Job)


def allocator() -> Allocator:
    """What every measuring process runs with."""
    return keep_pages(os.environ)


def answer(job: Job, measured: Measured) -> None:
    Path(job.result).write_bytes(msgspec.json.encode(measured))


def run(module: str, job: Job, settings: Mapping[str, str] | None = None) -> Measured:
    """Run `python -m module` and return what it measured; blocks. Raises ConsumerError with the end of its
    output when it fails. `settings`: section.key → value, for those that read the consumer's settings."""
    command = [sys.executable, "-m", *module.split(), msgspec.json.encode(job).decode()]
    Path(job.result).unlink(missing_ok=True)
    done = subprocess.run(  # noqa: S603 - this interpreter with a module of ours
        command,
        env=_environment(settings or {}),
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if done.returncode or not Path(job.result).is_file():
        raise ConsumerError(f"{module} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return msgspec.json.decode(Path(job.result).read_bytes(), type=Measured)


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Ours without the consumer's variables, then the settings as such variables."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("CONSUMER_")}
    named = {f"CONSUMER_{key.replace('.', '_').upper()}": value for key, value in settings.items()}
    return inherited | named

"""Consumer processes of one group: started, signalled and killed by the test, and listened to.

A replica is `consumer run` itself, or the tests' entry point: the same program with a scorer that needs no
model, an event log and a failpoint (tests/kafka/entry.py).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.kafka.cluster import dying_with_parent, free_ports
from tests.kafka.eventlog import read_happenings
from tests.kafka.history import Action, Happening

ROOT = Path(__file__).parents[2]
ENTRY = ("-m", "tests.kafka.entry")
SERVICE = ("-m", "consumer")


class Deployment(NamedTuple):
    """What all replicas of a group share. `settings` are by their dotted names."""

    home: Path
    bootstrap: str
    group: str
    topics: Mapping[str, str]
    settings: Mapping[str, str]

    def environment(self) -> dict[str, str]:
        shared = {
            "kafka.bootstrap_servers": self.bootstrap,
            "kafka.group_id": self.group,
            "log.format": "json",
            **self.topics,
            **self.settings,
        }
        return {f"CONSUMER_{key.upper().replace('.', '_')}": value for key, value in shared.items()}

    def start(
        self,
        name: str,
        *arguments: str,
        program: Sequence[str] = ENTRY,
        failpoint: str = "",
        armed: bool = True,
        score_seconds: float = 0.0,
        load_seconds: float = 0.0,
    ) -> Replica:
        """A new process; returns at once. `armed` False: its failpoint waits for Replica.arm()."""
        port = free_ports(1)[0]
        environment = {
            **_clean_environment(),
            **self.environment(),
            "CONSUMER_METRICS_PORT": str(port),
            "CONSUMER_TEST_EVENT_LOG": str(self.home / f"{name}.events"),
            "CONSUMER_TEST_FAILPOINT": failpoint,
            "CONSUMER_TEST_ARMED_BY": "" if armed else str(self.home / f"{name}.armed"),
            "CONSUMER_TEST_SCORE_SECONDS": str(score_seconds),
            "CONSUMER_TEST_LOAD_SECONDS": str(load_seconds),
        }
        with (self.home / f"{name}.log").open("wb") as log:
            command = [*dying_with_parent(), sys.executable, *program, "run", *arguments]
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        return Replica(name, process, self.home, port)


class Replica:
    """One process. wait() must be called before happenings() tells how it ended."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], home: Path, port: int) -> None:
        self.name, self._process, self._home, self._port = name, process, home, port
        self._ended: list[Happening] = []

    @property
    def log(self) -> str:
        """What it wrote to its standard streams."""
        return (self._home / f"{self.name}.log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def arm(self) -> None:
        """From now on its failpoint counts."""
        (self._home / f"{self.name}.armed").touch()

    def kill(self) -> None:
        """SIGKILL and wait."""
        self._process.kill()
        self.wait(30)

    def wait(self, timeout: float) -> int:
        """The exit code: negative for the signal that ended it. Raises AssertionError after `timeout`."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout:g} s:\n{self.log[-3000:]}") from None
        if not self._ended:
            action = Action.EXITED if code == 0 else Action.KILLED
            self._ended.append(Happening(time.monotonic(), self.name, action, counts={0: code}))
        return code

    def happenings(self) -> list[Happening]:
        """Its event log so far, and how it ended."""
        return [*read_happenings(self._home / f"{self.name}.events", self.name), *self._ended]

    def owns(self) -> set[int]:
        """Partitions it owns now."""
        owned: set[int] = set()
        for h in self.happenings():
            if h.action is Action.ASSIGNED:
                owned |= set(h.offsets)
            elif h.action in {Action.REVOKED, Action.LOST}:
                owned -= set(h.offsets)
        return owned

    def has_joined(self) -> bool:
        """It was given partitions, or told that there are none for it."""
        return any(h.action is Action.ASSIGNED for h in self.happenings())

    def polled(self) -> int:
        """Records it was given so far."""
        return sum(sum(h.counts.values()) for h in self.happenings() if h.action is Action.POLLED)

    def ready(self) -> bool:
        return self._get("/ready")[0] == 200

    def why_not_ready(self) -> str:
        """The reasons that its endpoint gives."""
        return self._get("/ready")[1]

    def alive(self) -> bool:
        return self._get("/live")[0] == 200

    def metrics(self) -> str:
        return self._get("/metrics")[1]

    def end(self) -> None:
        """For a test's end: no process outlives it."""
        if self.running:
            self.kill()

    def _get(self, path: str) -> tuple[int, str]:
        """Status and body; (0, "") while the endpoint is not there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()
        except OSError:
            return 0, ""


def _clean_environment() -> dict[str, str]:
    """Ours without settings of a consumer, and with threads kept few on a shared machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONSUMER_")}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}

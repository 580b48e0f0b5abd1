"""README.md as a program: its commands line by line, and a desk at which they find what they name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kafka.cluster import JARS
from tests.kafka.replicas import ROOT

README = (ROOT / "README.md").read_text("utf-8")
TOOLS = ROOT / "build" / "tools" / "kafka"

# Where kcat or Kafka's scripts are missing, the class that the script starts, or one that shows the same.
_CLASSES = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}
_CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def blocks(language: str) -> list[str]:
    """The fenced blocks of README.md in this language; "" are the commands."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for kind, text in found if kind == language]


def commands() -> list[str]:
    """Every command of README.md, in its order, without comments, continued lines joined."""
    lines = "".join(blocks("")).replace("\\\n", " ").splitlines()
    return [re.sub(r"\s+#\s.*$", "", line).strip() for line in lines if line.strip()]


class Desk:
    """A folder with `.venv/bin/consumer`, kcat and Kafka's scripts, each the real one or its stand-in."""

    def __init__(self, home: Path, bootstrap: str) -> None:
        self.home = home
        self._bootstrap = bootstrap
        self._bin = home / "bin"
        self._bin.mkdir()
        (home / ".venv" / "bin").mkdir(parents=True)
        self._script(home / ".venv/bin/consumer", f'exec "{sys.executable}" -m consumer "$@"')
        for name, java_class in _CLASSES.items():
            self._script(self._bin / name, f'exec {_java(java_class)} "$@"')
        if not shutil.which("kcat"):
            self._script(self._bin / "kcat", _kcat())

    def run(self, command: str, timeout: float = 1_200.0) -> subprocess.CompletedProcess[str]:
        """As a newcomer would type it, with our brokers for the ones that README.md names."""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", self.here(command)],
            cwd=self.home,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, command: str, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as out:
            return subprocess.Popen(
                ["bash", "-c", f"exec {self.here(command)}"],
                cwd=self.home,
                env=self._environment(),
                stdout=out,
                stderr=out,
            )

    def here(self, command: str) -> str:
        """The same text with our brokers in it."""
        return re.sub(r"\b(broker|localhost):9092\b", self._bootstrap, command)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CONSUMER_")}
        ours = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CONSUMER_METRICS_PORT": "0"}
        return {**kept, **ours, "PATH": f"{self._bin}:{Path(sys.executable).parent}:{kept['PATH']}"}

    @staticmethod
    def _script(path: Path, line: str) -> None:
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o755)


def _java(java_class: str) -> str:
    return f'java -Xmx256m -XX:TieredStopAtLevel=1 -cp "{JARS}/*:{TOOLS}/*" {java_class}'


def _kcat() -> str:
    """-b and -t as given; headers and value of every record up to the end, as -f asks for here."""
    shown = "--formatter-property print.headers=true --from-beginning --timeout-ms 8000"
    return f"""while getopts b:t:Cef: option; do
  case $option in b) brokers=$OPTARG;; t) topic=$OPTARG;; *) ;; esac
done
exec {_java(_CONSOLE)} --bootstrap-server "$brokers" --topic "$topic" {shown}"""


def make_recipe(target: str) -> list[str]:
    """What `make TARGET` would run, the environment aside."""
    done = subprocess.run(
        ["make", "-n", "--no-print-directory", "-o", ".venv/.installed", *target.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()

"""The compose file's Kafka as plain processes: the image's programs are stood in for by the jars' classes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.cluster import dying_with_parent, free_ports
from tests.kafka.waiting import eventually

ROOT = Path(__file__).parents[2]

# What the image's programs are: each of them starts one class.
_CLASSES = {
    "kafka-storage.sh": "kafka.tools.StorageTool",
    "kafka-server-start.sh": "kafka.Kafka",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ComposedKafka:
    """One broker, started by the service's command line with only addresses and directories changed."""

    def __init__(self, service: Mapping[str, Any], jars: Sequence[Path], home: Path) -> None:
        self._service = service
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        inside, outside, controller = free_ports(3)
        self.bootstrap = f"127.0.0.1:{inside}"
        self.published = f"localhost:{outside}"
        self._changes = {
            ":9092": f":{inside}",
            ":9094": f":{outside}",
            ":9093": f":{controller}",
            "INSIDE://kafka:": "INSIDE://127.0.0.1:",
            "/var/lib/kafka/data": str(home / "data"),
        }
        self._programs(jars)

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """What a container's process would see, with the programs of `_CLASSES` found first."""
        changed = {name: text.replace("kafka:9092", self.bootstrap) for name, text in given.items()}
        return changed | {"PATH": f"{self._home / 'bin'}:{_SYSTEM_PATH}"}

    def start(self) -> None:
        """Blocks until the broker answers."""
        config = self._properties()
        command = [*here(self._service, "entrypoint"), str(config)]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*dying_with_parent(), *command],
                env=self.environment(self._service["environment"]),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        eventually("the broker answers", lambda: self._answers(admin), 120)

    def program(self) -> str:
        """What the process is by now: the command line must have become the broker itself."""
        assert self._process is not None
        return Path(f"/proc/{self._process.pid}/cmdline").read_bytes().decode().split("\0")[0]

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _answers(self, admin: AdminClient) -> bool:
        assert self._process is not None
        log = (self._home / "log").read_text(errors="replace")
        assert self._process.poll() is None, f"the broker ended: {log[-3000:]}"
        try:
            return bool(admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _properties(self) -> Path:
        """The mounted file with addresses and directories of here; each change must apply."""
        text = (ROOT / "deploy/kafka/server.properties").read_text("utf-8")
        for old, new in self._changes.items():
            assert old in text, f"server.properties does not hold {old}"
            text = text.replace(old, new)
        path = self._home / "server.properties"
        path.write_text(text)
        return path

    def _programs(self, jars: Sequence[Path]) -> None:
        folder = self._home / "bin"
        folder.mkdir()
        classes = ":".join(f"{each}/*" for each in jars)
        logging = ROOT / "deploy/kafka/log4j2.yaml"
        for name, java_class in _CLASSES.items():
            program = folder / name
            options = (
                f"-Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile={logging}"
            )
            program.write_text(f'#!/bin/sh\nexec java {options} -cp "{classes}" {java_class} "$@"\n')
            program.chmod(0o755)


def here(service: Mapping[str, Any], part: str) -> list[str]:
    """The service's `entrypoint` or `command` with each mounted folder replaced by its source."""
    mounts = [(v["target"], v["source"]) for v in service.get("volumes", []) if v["type"] == "bind"]
    return [_there(word, mounts) for word in service.get(part) or ()]


def _there(word: str, mounts: Sequence[tuple[str, str]]) -> str:
    for target, source in mounts:
        word = re.sub(rf"(?<![\w/]){re.escape(target)}/", f"{source}/", word)
    return word

"""One run on real brokers: topics, group, replicas and collectors, up to the history that is judged."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from tests.kafka.checker import check
from tests.kafka.collect import Feeder, Item, Reader, Sampler, read_outputs
from tests.kafka.history import Happening, History, Limits, Sent, Written
from tests.kafka.items import MAX_BYTES, expected_scores
from tests.kafka.replicas import Deployment, Replica
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

_SETTINGS = {
    "batch.count": "100",
    "pipeline.depth": "3",
    "commit.max_uncommitted": "300",
    "commit.interval": "0.5",
    "kafka.session_timeout": "6",  # the least that an unchanged broker allows
    "kafka.consumer": "heartbeat.interval.ms=500",
    "input.max_bytes": str(MAX_BYTES),
    "shutdown.drain_timeout": "20",
}


class Scenario:
    """Topics, a group, its replicas, and what watches them. Settings may be changed until a replica starts.
    `through`: the brokers' addresses for replicas, where they differ from those for the rest."""

    def __init__(self, bootstrap: str, topics: Topics, home: Path, through: str | None = None) -> None:
        self._bootstrap, self._topics, self._home = bootstrap, topics, home
        self._through = through or bootstrap
        self._run = uuid4().hex[:8]
        self._partitions = {"input": 6, "results": 4, "dead": 2}
        self._replicas: list[Replica] = []
        self._feeders: list[Feeder] = []
        self._settings = dict(_SETTINGS)
        self._sampler: Sampler | None = None
        self._reader: Reader | None = None
        self.group = f"group-{self._run}"

    def name(self, role: str) -> str:
        return f"{role}-{self._run}"

    def prepare(
        self, partitions: Mapping[str, int] | None = None, most_inputs: int | None = None, **settings: object
    ) -> None:
        """Create the topics and begin to read and to sample. `most_inputs`: partitions to which the input
        topic may be grown. `settings`: section__key=value."""
        self._partitions |= partitions or {}
        self._settings |= {key.replace("__", "."): str(value) for key, value in settings.items()}
        for role, count in self._partitions.items():
            self.create_topic(role, count)
        self._reader = Reader(self._bootstrap, self.outputs)
        source = (self.name("input"), most_inputs or self._partitions["input"])
        self._sampler = Sampler(self._bootstrap, self.group, source, self.outputs)
        self._reader.start()
        self._sampler.start()

    @property
    def outputs(self) -> dict[str, int]:
        """The topics that replicas write to, and how many partitions each has."""
        return {self.name(role): self._partitions[role] for role in ("results", "dead")}

    def create_topic(self, role: str, partitions: int | None = None) -> None:
        self._topics.create(self.name(role), partitions or self._partitions[role])

    def delete_topic(self, role: str) -> None:
        self._topics.delete(self.name(role))

    def start(self, name: str, *arguments: str, **options: Any) -> Replica:
        """A replica; `options` as of Deployment.start."""
        topics = {
            "input.topic": self.name("input"),
            "output.topic": self.name("results"),
            "dead_letter.topic": self.name("dead"),
        }
        deployment = Deployment(self._home, self._through, self.group, topics, self._settings)
        replica = deployment.start(name, *arguments, **options)
        self._replicas.append(replica)
        return replica

    def feed(self, items: Sequence[Item], rate: float | None = None, burst: int = 1) -> Feeder:
        """Send in the background."""
        feeder = Feeder(self._bootstrap, self.name("input"), items, rate, burst)
        self._feeders.append(feeder)
        feeder.start()
        return feeder

    def fed(self) -> list[Sent]:
        """Everything sent, once the broker has acknowledged it."""
        return [sent for feeder in self._feeders for sent in feeder.finish()]

    def committed(self) -> dict[int, int]:
        assert self._sampler is not None
        return self._sampler.committed()

    def read(self) -> int:
        """Output records that the subscriber has seen so far."""
        return len(self.messages())

    def messages(self) -> list[Message]:
        """What the subscriber has read, as it came."""
        assert self._reader is not None
        return self._reader.messages

    def results(self) -> list[Message]:
        """The same of the results topic alone."""
        return [m for m in self.messages() if m.topic() == self.name("results")]

    def read_again(self) -> list[Written]:
        """The output as a new subscriber finds it now."""
        reader = Reader(self._bootstrap, self.outputs)
        reader.start()
        return read_outputs(reader.finish(), self.name("dead"))

    def members(self) -> int:
        """Members of the group now."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        described = admin.describe_consumer_groups([self.group], request_timeout=10)
        return len(described[self.group].result(timeout=15).members)

    def until_committed(self, timeout: float = 180.0) -> None:
        """Block until the group has committed everything that was fed."""
        ends: dict[int, int] = {}
        for sent in self.fed():
            ends[sent.partition] = max(ends.get(sent.partition, 0), sent.offset + 1)
        eventually(
            "everything committed",
            lambda: all(self._committed_or_none().get(p, 0) >= end for p, end in ends.items()),
            timeout,
            every=0.2,
        )

    def stop(self, *replicas: Replica) -> None:
        """SIGTERM to all at once; each must end cleanly."""
        for replica in replicas:
            replica.signal(signal.SIGTERM)
        for replica in replicas:
            assert replica.wait(60) == 0, f"{replica.name}:\n{replica.log[-3000:]}"

    def happenings(self) -> list[Happening]:
        return sorted((h for r in self._replicas for h in r.happenings()), key=lambda h: h.at)

    def history(self) -> History:
        """Ends sampling and reading."""
        assert self._sampler is not None
        assert self._reader is not None
        sent, samples = self.fed(), self._sampler.finish()
        written = read_outputs(self._reader.finish(), self.name("dead"))
        limits = Limits(*(int(self._settings[key]) for key in _LIMITS))
        return History(self.name("input"), sent, written, samples, self.happenings(), limits)

    def close(self) -> None:
        for replica in self._replicas:
            replica.end()

    def _committed_or_none(self) -> dict[int, int]:
        running = [r for r in self._replicas if r.running]
        assert running, "\n".join(f"--- {r.name}\n{r.log[-2000:]}" for r in self._replicas)
        return self.committed()


_LIMITS = ("pipeline.depth", "batch.count", "commit.max_uncommitted")


def assert_sound(history: History) -> None:
    """No invariant is violated, scores included."""
    violations = check(history, expected_scores(history.sent))
    assert not violations, "\n".join(f"{v.rule}: {v.what}" for v in violations)

"""Hostile payloads through the command as it ships, bundled model included, among good records.

First good records alone, then the same ones again with a hostile one between each two of them, in one record
batch. What the first part got is the measure of the second: its scores, and its CPU time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from tests.hostile.payload import AT, Hostile
from tests.kafka.cluster import AnyCluster
from tests.kafka.collect import Reader
from tests.kafka.raw_produce import RawProducer, RawRecord, batch_of
from tests.kafka.replicas import SERVICE, Deployment, Replica
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

PARTITIONS = 3
_PATIENCE = 300.0

# What a topic must allow so that any timestamp gets in and stays.
_ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
_SETTINGS = {
    "batch.count": "100",
    "scoring.model": "demo",
    "scoring.threads": "1",
    "scoring.cache_size": "0",  # the same texts are scored anew, not remembered
}

Place = tuple[int, int]
"""An input record: its partition and offset."""


class Answer(NamedTuple):
    """One output record. `detail` is a dead letter's; `context` are all its headers, ours last."""

    outcome: str
    score: float | None
    detail: str
    context: Mapping[str, bytes | None]
    message: Message


class Told(NamedTuple):
    """What went in, and what came out of it."""

    hostile: Mapping[Place, Hostile]
    calm: Mapping[Place, bytes]
    neighbours: Mapping[Place, bytes]
    answers: Mapping[Place, Sequence[Answer]]
    cpu_calm: float
    cpu_hostile: float
    metrics: str
    log: str

    def cost(self) -> float:
        """CPU time of the process for one hostile record, in good records."""
        per_good = self.cpu_calm / len(self.calm)
        return (self.cpu_hostile - per_good * len(self.neighbours)) / len(self.hostile) / per_good

    def counted(self, series: str) -> int:
        """A counter of the process at its end; one without labels is summed over them."""
        found = re.findall(rf"^{re.escape(series)}(?:{{.*}})? ([0-9.e+]+)$", self.metrics, re.MULTILINE)
        return round(sum(map(float, found)))


class HostileRun:
    """One replica under one `input.format`, with topics of its own."""

    def __init__(self, cluster: AnyCluster, topics: Topics, home: Path, form: str) -> None:
        """The process loads its model from here on. Whoever makes it has to end it."""
        self._bootstrap, self._form = cluster.bootstrap, form
        self._names = {
            role: f"hostile-{role}-{uuid4().hex[:8]}" for role in ("input", "output", "dead_letter")
        }
        for role, name in self._names.items():
            topics.create(name, PARTITIONS, _ANY_TIME if role == "input" else None)
        settings = {**_SETTINGS, "input.format": form}
        named = {f"{role}.topic": name for role, name in self._names.items()}
        deployment = Deployment(home, self._bootstrap, self._names["input"], named, settings)
        self._replica = deployment.start("service", program=SERVICE)
        self._ends: dict[int, int] = {}

    def play(self, hostile: Sequence[Hostile]) -> Told:
        """Blocks until everything is committed and the process has stopped when asked, in good order."""
        replica, producer = self._replica, RawProducer(self._bootstrap, self._names["input"])
        good = good_values(2 * len(hostile), self._form)
        eventually("ready", lambda: _alive(replica) and replica.ready(), _PATIENCE)
        idle = cpu_of(replica.metrics())
        calm = self._send_calm(producer, good)
        self._settle()
        between = cpu_of(replica.metrics())
        sent, neighbours = self._send_hostile(producer, hostile, good)
        self._settle()
        metrics = replica.metrics()
        assert replica.ready(), replica.log[-3000:]
        replica.signal()
        assert replica.wait(60) == 0, replica.log[-3000:]
        return Told(
            hostile=sent,
            calm=calm,
            neighbours=neighbours,
            answers=self._answers(),
            cpu_calm=between - idle,
            cpu_hostile=cpu_of(metrics) - between,
            metrics=metrics,
            log=replica.log,
        )

    def end(self) -> None:
        self._replica.end()

    def _send_calm(self, producer: RawProducer, good: Sequence[bytes]) -> dict[Place, bytes]:
        sent: dict[Place, bytes] = {}
        for number in range(0, len(good), 2):
            pair = good[number : number + 2]
            partition, first = self._send(producer, number // 2, [RawRecord(v, timestamp=AT) for v in pair])
            sent |= {(partition, first + n): value for n, value in enumerate(pair)}
        return sent

    def _send_hostile(
        self, producer: RawProducer, hostile: Sequence[Hostile], good: Sequence[bytes]
    ) -> tuple[dict[Place, Hostile], dict[Place, bytes]]:
        sent: dict[Place, Hostile] = {}
        neighbours: dict[Place, bytes] = {}
        for number, payload in enumerate(hostile):
            before, after = good[2 * number : 2 * number + 2]
            raw = RawRecord(payload.value, payload.key, payload.headers, payload.timestamp)
            left, right = (RawRecord(value, timestamp=AT) for value in (before, after))
            partition, first = self._send(producer, number, [left, raw, right])
            neighbours |= {(partition, first): before, (partition, first + 2): after}
            sent[partition, first + 1] = payload
        return sent, neighbours

    def _send(self, producer: RawProducer, number: int, records: Sequence[RawRecord]) -> Place:
        """Partition and first offset."""
        partition = number % PARTITIONS
        first = producer.send(partition, batch_of(records))
        self._ends[partition] = first + len(records)
        return partition, first

    def _settle(self) -> None:
        """Block until everything that was sent is committed."""
        group = {"bootstrap.servers": self._bootstrap, "group.id": self._names["input"], "log_level": 0}
        asker = Consumer(group)  # which never joins it
        partitions = [TopicPartition(self._names["input"], number) for number in range(PARTITIONS)]

        def settled() -> bool:
            committed = {tp.partition: tp.offset for tp in asker.committed(partitions, timeout=10)}
            return _alive(self._replica) and committed == self._ends

        eventually("everything committed", settled, _PATIENCE, every=0.2)
        asker.close()

    def _answers(self) -> dict[Place, list[Answer]]:
        outputs = (self._names["output"], self._names["dead_letter"])
        reader = Reader(self._bootstrap, dict.fromkeys(outputs, PARTITIONS))
        reader.start()
        answers: dict[Place, list[Answer]] = {}
        for message in reader.finish():
            place, answer = (_result if message.topic() == outputs[0] else _dead_letter)(message)
            answers.setdefault(place, []).append(answer)
        return answers


def good_values(count: int, form: str) -> list[bytes]:
    """Different events of common words, as JSON; every other one as text where the format is found out."""
    texts = list(itertools.islice(map(" ".join, itertools.product(_WHO, _DID, _WHAT)), count))
    assert len(texts) == count
    plain = {"auto": 2, "text": 1}.get(form, count + 1)
    return [
        text.encode() if number % plain == 0 and form != "json" else msgspec.json.encode({"message": text})
        for number, text in enumerate(texts)
    ]


_WHO = (
    "kernel",
    "router",
    "mailer",
    "worker",
    "daemon",
    "backup",
    "gateway",
    "broker",
    "proxy",
    "agent",
    "shell",
)
_DID = (
    "accepted a",
    "closed the",
    "lost its",
    "retried one",
    "opened a",
    "refused a",
    "renewed its",
    "found no",
)
_WHAT = (
    "session",
    "token",
    "disk",
    "lease",
    "query",
    "packet",
    "index",
    "route",
    "user",
    "job",
    "key",
    "file",
)


def cpu_of(metrics: str) -> float:
    """User and system time of the process, from its own metrics."""
    found = re.search(r"^process_cpu_seconds_total ([0-9.e+]+)$", metrics, re.MULTILINE)
    assert found is not None, metrics[:2000]
    return float(found.group(1))


def _alive(replica: Replica) -> bool:
    assert replica.running, replica.log[-4000:]
    return True


def _result(message: Message) -> tuple[Place, Answer]:
    result = msgspec.json.decode(message.value() or b"")
    place = (result["input"]["partition"], result["input"]["offset"])
    return place, Answer(result["outcome"], result.get("score"), "", {}, message)


def _dead_letter(message: Message) -> tuple[Place, Answer]:
    context = dict(_headers(message))
    told = {name: (value or b"").decode() for name, value in context.items() if name.startswith(_OURS)}
    place = (int(told["__connect.errors.partition"]), int(told["__connect.errors.offset"]))
    return place, Answer(told["consumer.reason"], None, told["consumer.detail"], context, message)


_OURS = ("__connect.errors.", "consumer.")


def _headers(message: Message) -> Iterable[tuple[str, bytes | None]]:
    return message.headers() or ()  # type: ignore[return-value] # consumed values are bytes or None

"""Topics whose content a test writes itself, record by record, so that each fault can be planted alone.

Results and dead letters are written from schemas/ by hand: neither the pipeline nor its encoders take part.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from consumer.cli import cli
from tests.kafka.topics import Topics
from tests.kafka.waiting import eventually

GROUP, MODEL = "audited", "9f86d081884c7d65"
_MOMENT = "2026-11-30T15:40:07.345Z"


class Audit(NamedTuple):
    """How `consumer verify --json` ended."""

    code: int
    report: dict[str, Any]
    errors: str

    def found(self) -> dict[str, int]:
        """How many of each kind, where there are any, records of no partition included."""
        found = dict(self.report["unplaced"])
        for part in self.report["partitions"]:
            for kind, count in part["found"].items():
                found[kind] += count
        return {kind: count for kind, count in found.items() if count}

    def sum(self, field: str) -> int:
        return sum(part[field] for part in self.report["partitions"])

    def named(self, kind: str) -> list[str]:
        """Where the first of a kind lie, and what they are."""
        return [f"{f['at']}: {f['what']}" for f in self.report["findings"] if f["kind"] == kind]


def key_of(partition: int, offset: int) -> bytes:
    return b"key-%d-%d" % (partition, offset)


class Audited:
    """Three topics of one test's own. Input partition p goes to output partition p modulo their number."""

    def __init__(
        self,
        bootstrap: str,
        topics: Topics,
        name: str,
        partitions: tuple[int, int] = (2, 2),
        results_config: Mapping[str, str] | None = None,
    ) -> None:
        self.bootstrap, self.partitions = bootstrap, partitions
        self.input, self.results, self.dead = (f"{name}-{role}" for role in ("in", "out", "dead"))
        self.group = f"{GROUP}-{name}"
        topics.create(self.input, partitions[0])
        topics.create(self.results, partitions[1], results_config)
        topics.create(self.dead, 1)
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})

    def transactional(self, name: str) -> Producer:
        """A producer that is ready to begin a transaction."""
        config = {"bootstrap.servers": self.bootstrap, "transactional.id": name, "log_level": 0}
        producer = Producer(config | {"transaction.timeout.ms": 60_000})
        producer.init_transactions(30)
        return producer

    def feed(self, partition: int, count: int, producer: Producer | None = None, empty: bool = False) -> None:
        """Input records from offset 0 on: their keys say so. Transactions shift the offsets behind them."""
        for offset in range(count):
            value = None if empty else b"line %d" % offset
            (producer or self.producer).produce(
                self.input, value, key_of(partition, offset), partition=partition
            )

    def body(self, partition: int, offset: int, **changes: Any) -> dict[str, Any]:
        """A result that is right, but for `changes`; `input__key` reaches into `input`."""
        body: dict[str, Any] = {
            "schema_version": 1,
            "id": f"{self.input}|{partition}|{offset}",
            "outcome": "scored",
            "input": {
                "topic": self.input,
                "partition": partition,
                "offset": offset,
                "timestamp": 1_764_517_207_123,
                "key": key_of(partition, offset).decode(),
            },
            "group": self.group,
            "model": {"name": "m", "version": MODEL},
            "scored_at": _MOMENT,
            "score": 0.5 + offset % 7,
            "is_anomaly": False,
            "threshold": 9.0,
            "parts": {"novelty": 0.25, "severity": None},
            "extrapolated": False,
            "truncated": False,
            "message": f"line {offset}",
        }
        for name, value in changes.items():
            table, _, field = name.rpartition("__")
            (body[table] if table else body)[field] = value
        return body

    def write(self, *bodies: dict[str, Any] | bytes, producer: Producer | None = None, **where: Any) -> None:
        """Results, in this order. `where`: another key or partition of the output."""
        for body in bodies:
            raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
            told = msgspec.json.decode(raw.replace(b"NaN", b"null"))["input"]
            place = {
                "key": key_of(told["partition"], told["offset"]),
                "partition": told["partition"] % self.partitions[1],
            }
            (producer or self.producer).produce(self.results, raw, **(place | where))

    def score(self, partition: int, offsets: Iterable[int], **changes: Any) -> None:
        """Right results of these records."""
        self.write(*(self.body(partition, offset, **changes) for offset in offsets))

    def reject(self, partition: int, offset: int, reason: str = "invalid", **changes: bytes | None) -> None:
        """A dead letter; `changes`: headers by their names, with _ for the points behind `consumer.`."""
        headers = self.headers(partition, offset, reason)
        headers |= {f"consumer.{name.replace('_', '.')}": value for name, value in changes.items()}
        value = b"line %d" % offset
        self.producer.produce(self.dead, value, key_of(partition, offset), headers=[*headers.items()])

    def headers(self, partition: int, offset: int, reason: str) -> dict[str, bytes | None]:
        key, value = key_of(partition, offset), b"line %d" % offset
        connect = {
            "topic": self.input,
            "partition": str(partition),
            "offset": str(offset),
            "connector.name": self.group,
            "task.id": "0",
            "stage": "VALUE_CONVERTER",
            "class.name": "by.hand",
            "exception.class.name": "consumer.errors.BadRecord",
            "exception.message": f"{reason}: planted",
        }
        own = {
            "schema.version": "1",
            "reason": reason,
            "detail": "planted",
            "group": self.group,
            "result.id": f"{self.input}|{partition}|{offset}",
            "rejected.at": _MOMENT,
            "original.timestamp": "1764517207123",
            "original.timestamp.type": "CreateTime",
            "value.bytes": str(len(value)),
            "value.sha256": sha256(value).hexdigest(),
            "value.cut": "false",
            "key.bytes": str(len(key)),
            "key.sha256": sha256(key).hexdigest(),
            "key.cut": "false",
            "headers.cut": "false",
        }
        named = _prefixed("__connect.errors.", connect) | _prefixed("consumer.", own)
        return {name: text.encode() for name, text in named.items()}

    def flush(self) -> None:
        assert self.producer.flush(60) == 0

    def commit(self, **offsets: int) -> None:
        """The group's next offsets, as p0=10, p1=20; after all that was written is in the log."""
        self.flush()
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group, "log_level": 0})
        places = [TopicPartition(self.input, int(name[1:]), offset) for name, offset in offsets.items()]
        eventually("committed", lambda: _has_committed(consumer, places), 60)
        consumer.close()

    def arguments(self, *arguments: str, guarantee: str = "at-least-once") -> list[str]:
        """Of `consumer verify` for these topics."""
        names = (self.input, self.results, self.dead)
        setting = f"processing.guarantee={guarantee}"
        return verify_arguments(
            self.bootstrap, self.group, names, "--set", setting, "--wait", "3", *arguments
        )

    def verify(self, *arguments: str, guarantee: str = "at-least-once") -> Audit:
        """Run it, after all that was written is in the log."""
        self.flush()
        return run_verify(self.arguments(*arguments, guarantee=guarantee))


def verify_arguments(bootstrap: str, group: str, topics: Sequence[str], *arguments: str) -> list[str]:
    """`topics`: of input, results and dead letters."""
    shared = ["verify", "--json", "--bootstrap-servers", bootstrap, "--group-id", group]
    names = ("--input-topic", "--output-topic", "--dead-letter-topic")
    return [*shared, *chain.from_iterable(zip(names, topics, strict=True)), *arguments]


def run_verify(arguments: Sequence[str]) -> Audit:
    """The command as the shell would run it, in this process."""
    unset = {name: None for name in os.environ if name.startswith("CONSUMER_")}
    done = CliRunner().invoke(cli, arguments, env=unset)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    report = msgspec.json.decode(done.stdout, type=dict[str, Any]) if done.stdout else {}
    return Audit(done.exit_code, report, done.stderr)


def _has_committed(consumer: Consumer, places: list[TopicPartition]) -> bool:
    """Not while the coordinator of a young cluster still loads."""
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            raise
        return False
    return True


def _prefixed(prefix: str, table: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}{name}": value for name, value in table.items()}

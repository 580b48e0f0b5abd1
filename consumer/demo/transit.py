"""Records through Kafka: brokers in this process, replicas as processes, a subscriber that reads along."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from confluent_kafka import KafkaError, Message, Producer

from consumer.demo.budget import MAX_MESSAGE_CHARS, PARTITIONS, Sent
from consumer.demo.cluster import InProcessCluster
from consumer.demo.live import Show, passage
from consumer.demo.outputs import Output
from consumer.demo.replicas import Replica, replicas, require_alive, stop
from consumer.demo.screen import Screen
from consumer.demo.subscriber import Subscriber, committed_to_end, drain
from consumer.errors import ConsumerError

INPUT: Final = "events"
RESULTS: Final = "anomaly-scores"
DEAD_LETTERS: Final = "anomaly-dead-letters"
GROUP: Final = "demo"

_REBALANCE_DELAY_MS: Final = 3_000  # long enough for replicas that start together to share from the start
_START_SECONDS: Final = 240.0
_IDLE_SECONDS: Final = 60.0  # without any output: something is wrong
_DRAIN_SECONDS: Final = 30.0
_COMMIT_SECONDS: Final = 15.0
_SLICE: Final = 200  # records produced between two looks at the results


class Asked(msgspec.Struct, frozen=True):
    """What to send through which model by how many replicas, and the threads each may use."""

    records: Sequence[Sent]
    model: str
    replicas: int
    threads: int


class Passed(msgspec.Struct, frozen=True):
    """`ids[i]`: the result id of record i. `outputs`: everything that was published, by id. `forgotten`:
    partitions of which the in-process cluster dropped a part. `seconds`: from the first record sent to
    the last output read. `exit_codes` are those of the replicas. `committed`: while they ran, the
    committed offsets reached the end of the input."""

    ids: Sequence[str]
    outputs: Mapping[str, Sequence[Output]]
    forgotten: Sequence[str]
    seconds: float
    exit_codes: Sequence[int]
    committed: bool


def through_kafka(asked: Asked, screen: Screen) -> Passed:
    """Blocks until every record has its output, the replicas have stopped and the topics are read to
    their end. Raises ConsumerError when a replica dies or nothing comes any more."""
    with TemporaryDirectory(prefix="consumer-demo-") as folder, _cluster(screen) as cluster:
        variables = _variables(cluster.bootstrap, asked)
        with (
            replicas(asked.replicas, variables, Path(folder)) as started,
            closing(Subscriber(cluster.bootstrap, RESULTS, DEAD_LETTERS)) as subscriber,
        ):
            _until_joined(started, subscriber, screen)
            run = _Run(cluster.bootstrap, asked, subscriber, started)
            return run.done(_Sender(cluster.bootstrap), screen)


@contextmanager
def _cluster(screen: Screen) -> Iterator[InProcessCluster]:
    with InProcessCluster(rebalance_delay_ms=_REBALANCE_DELAY_MS) as cluster:
        for topic in (INPUT, RESULTS, DEAD_LETTERS):
            cluster.create_topic(topic, PARTITIONS)
        screen.say(f"Kafka: librdkafka's in-process brokers on {cluster.bootstrap}, memory only")
        screen.say(f"       topics {INPUT}, {RESULTS}, {DEAD_LETTERS}, {PARTITIONS} partitions each")
        yield cluster


def _variables(bootstrap: str, asked: Asked) -> dict[str, str]:
    return {
        "CONSUMER_KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "CONSUMER_KAFKA_GROUP_ID": GROUP,
        "CONSUMER_INPUT_TOPIC": INPUT,
        "CONSUMER_OUTPUT_TOPIC": RESULTS,
        "CONSUMER_OUTPUT_MAX_MESSAGE_CHARS": str(MAX_MESSAGE_CHARS),
        "CONSUMER_DEAD_LETTER_TOPIC": DEAD_LETTERS,
        "CONSUMER_SCORING_MODEL": asked.model,
        "CONSUMER_SCORING_THREADS": str(asked.threads),
        "CONSUMER_METRICS_HOST": "127.0.0.1",
        "CONSUMER_LOG_FORMAT": "json",
    }


def _until_joined(started: Sequence[Replica], subscriber: Subscriber, screen: Screen) -> None:
    """Wait until every replica has its model warm and its partitions; the first ones read nothing yet."""
    with screen.bar(f"{len(started)} replicas load the model and join the group", len(started)) as update:
        deadline = time.monotonic() + _START_SECONDS
        while (ready := sum(r.owned() > 0 for r in started)) < len(started):
            update(ready)
            require_alive(started)
            if time.monotonic() > deadline:
                tails = "\n".join(replica.tail() for replica in started)
                raise ConsumerError(f"the replicas did not join within {_START_SECONDS:.0f} s\n{tails}")
            subscriber.read(0.3)
        update(ready)
    owned = ", ".join(f"replica {r.number} owns {r.owned()}" for r in started)
    screen.say(f"one consumer group: {owned} of the {PARTITIONS} partitions")


class _Sender:
    """Produces to the input and knows which offset each record got."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )
        self.ids: dict[int, str] = {}

    def send(self, index: int, record: Sent) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.ids[index] = f"{INPUT}|{message.partition()}|{message.offset()}"

        self._producer.produce(
            INPUT, record.value, record.key, partition=record.partition, on_delivery=delivered
        )
        self._producer.poll(0)

    def flush(self) -> None:
        """Raises ConsumerError for records that were not acknowledged."""
        if left := self._producer.flush(_DRAIN_SECONDS):
            raise ConsumerError(f"{left} records could not be produced")


class _Run:
    """One passage: what has come out so far."""

    def __init__(
        self, bootstrap: str, asked: Asked, subscriber: Subscriber, started: Sequence[Replica]
    ) -> None:
        self._bootstrap = bootstrap
        self._asked = asked
        self._subscriber = subscriber
        self._replicas = started
        self._outputs: dict[str, list[Output]] = {}

    def done(self, sender: _Sender, screen: Screen) -> Passed:
        records = self._asked.records
        with passage(screen, [replica.port for replica in self._replicas], len(records)) as show:
            began = time.monotonic()
            for index, record in enumerate(records):
                sender.send(index, record)
                if index % _SLICE == 0:
                    self._read(0.0, show)
            sender.flush()
            self._until_complete(set(sender.ids.values()), show)
            seconds = time.monotonic() - began
            committed = self._until_committed(show)
        codes = self._stopped(screen)
        self._take(drain(self._subscriber, _DRAIN_SECONDS))
        ids = [sender.ids[index] for index in range(len(records))]
        return Passed(ids, self._outputs, _forgotten(self._subscriber), seconds, codes, committed)

    def _until_complete(self, wanted: set[str], show: Show) -> None:
        """Read until every id wanted was seen, or nothing came for a while: that is for the report."""
        last = time.monotonic()
        while wanted - self._outputs.keys() and time.monotonic() - last < _IDLE_SECONDS:
            require_alive(self._replicas)
            if self._read(0.3, show):
                last = time.monotonic()

    def _until_committed(self, show: Show) -> bool:
        """Commits follow within `commit.interval`. Stopping before that would leave the last one to the
        moment in which all replicas leave, when these brokers refuse commits that real ones accept."""
        deadline = time.monotonic() + _COMMIT_SECONDS
        while not committed_to_end(self._bootstrap, GROUP, INPUT):
            if time.monotonic() > deadline:
                return False
            require_alive(self._replicas)
            self._read(0.3, show)
        return True

    def _read(self, timeout: float, show: Show) -> bool:
        """Whether anything arrived within `timeout` seconds."""
        found = self._subscriber.read(timeout)
        self._take(found)
        show(found, len(self._outputs))
        return bool(found)

    def _take(self, found: Sequence[Output]) -> None:
        for output in found:
            self._outputs.setdefault(output.id, []).append(output)

    def _stopped(self, screen: Screen) -> list[int]:
        """The replicas' exit codes; those that ended badly have a last word."""
        screen.say("SIGTERM to the replicas; then the topics are read to their end")
        codes = stop(self._replicas)
        for replica in (r for r, code in zip(self._replicas, codes, strict=True) if code):
            screen.say(replica.tail(), "yellow")
        return codes


def _forgotten(subscriber: Subscriber) -> list[str]:
    return [
        f"{topic}[{partition}]" for (topic, partition), (low, _) in subscriber.watermarks().items() if low > 0
    ]

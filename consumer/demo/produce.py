"""The generator's records into a topic of real brokers: `python -m consumer.demo.produce --help`."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from threading import Event
from typing import Final

import click
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from consumer.demo.generator import generate
from consumer.demo.labels import Labelled
from consumer.demo.pool import POOL_SEEDS

_RECORDS_EACH: Final = 6_000  # of one fleet, before the next one takes over
_ANSWER: Final = 10.0  # seconds that brokers may take to tell their topics
_FLUSH: Final = 10.0  # seconds that the last records may take to be acknowledged
_TELL_EVERY: Final = 10.0  # seconds between two lines about how far it is
_LOOK: Final = 0.1  # seconds between two looks whether to stop


class Sender:
    """Sends labelled records without their labels and counts what the brokers acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # keyless records are spread
                "queue.buffering.max.messages": 10_000,
                "linger.ms": 5,
                "log_level": 3,
            }
        )
        self.sent = self.acknowledged = 0

    def require_topic(self) -> None:
        """Ask for all topics: a request that names a missing one could create it. Raises UsageError."""
        try:
            topics = self._producer.list_topics(timeout=_ANSWER).topics
        except KafkaException as error:
            raise click.UsageError(f"--bootstrap-servers: no answer: {error.args[0].str()}") from error
        if self._topic not in topics:
            raise click.UsageError(f"--topic {self._topic}: does not exist; create it first")

    def send(self, record: Labelled) -> None:
        """Blocks while the client's queue is full."""
        while True:
            try:
                self._producer.produce(self._topic, record.value, record.key, on_delivery=self._delivered)
            except BufferError:
                self.wait(_LOOK)
            else:
                self.sent += 1
                return

    def wait(self, seconds: float) -> None:
        """Serve delivery reports for that long."""
        end = time.monotonic() + seconds
        self._producer.poll(seconds)
        time.sleep(max(0.0, end - time.monotonic()))  # poll returns at the first report

    def finish(self) -> bool:
        """Whether everything that was sent is acknowledged. Blocks for a few seconds at most."""
        self._producer.flush(_FLUSH)
        return self.acknowledged == self.sent

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        self.acknowledged += error is None


def records(seed: int) -> Iterator[Labelled]:
    """Fleet after fleet without end; never one that the demo model was fitted on."""
    for each in count(seed):
        if each not in POOL_SEEDS:
            yield from generate(each, _RECORDS_EACH)


def send_paced(sender: Sender, stream: Iterable[Labelled], rate: float, stop: Event) -> None:
    """Send `rate` records a second until the stream ends or `stop` is set."""
    began = told = time.monotonic()
    for index, record in enumerate(stream):
        due = began + index / rate
        while (left := due - time.monotonic()) > 0 and not stop.is_set():
            sender.wait(min(left, _LOOK))
        if stop.is_set():
            return
        sender.send(record)
        if time.monotonic() - told >= _TELL_EVERY:
            told = time.monotonic()
            _tell(sender)


def _tell(sender: Sender) -> None:
    click.echo(f"{sender.sent:,} records sent, {sender.acknowledged:,} acknowledged")


@click.command(
    epilog="""\b
Examples:
  python -m consumer.demo.produce --bootstrap-servers localhost:9094 --topic events
  python -m consumer.demo.produce --rate 500 --records 20000
"""
)
@click.option("--bootstrap-servers", default="localhost:9092", show_default=True, help="Brokers: host:port,…")
@click.option("--topic", default="events", show_default=True, help="Where to write; it must exist.")
@click.option(
    "--rate",
    default=50.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Records a second.",
)
@click.option("--records", "limit", type=click.IntRange(min=1), help="How many. [default: until stopped]")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="The first fleet.")
def produce(bootstrap_servers: str, topic: str, rate: float, limit: int | None, seed: int) -> None:
    """Write generated log records to a topic until stopped; their labels are kept back.

    Exit code 0: every record that was sent is acknowledged; 1: not; 2: no such broker or topic.
    """
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    sender = Sender(bootstrap_servers, topic)
    sender.require_topic()
    send_paced(sender, islice(records(seed), limit), rate, stop)
    finished = sender.finish()
    _tell(sender)
    sys.exit(0 if finished else 1)


if __name__ == "__main__":
    produce()

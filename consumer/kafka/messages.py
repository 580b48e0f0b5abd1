"""What is produced for an output: which topic, which partition, which bytes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec
from confluent_kafka import KafkaException, Producer

from consumer.dead_letters import DeadLetterEncoder
from consumer.encode import Encoded, ResultEncoder
from consumer.errors import BadRecord
from consumer.partitioner import chosen_partition
from consumer.ports import ModelInfo
from consumer.records import Output, Record, Rejection
from consumer.settings import Settings

_BY_KEY = -1  # librdkafka's "let the partitioner decide"
_METADATA_TIMEOUT = 2.0


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """One record to produce, in the order of `Producer.produce`."""

    topic: str
    value: bytes | None
    key: bytes | None
    partition: int
    headers: list[tuple[str, bytes | None]]


class Outgoings:
    """Results go to the results topic, rejections to the dead-letter topic.

    `partitions`: how many each of the two has; records without a key are spread by it.
    """

    def __init__(self, settings: Settings, model: ModelInfo, partitions: Mapping[str, int]) -> None:
        self._topic = settings.output.topic
        self._dead_letter_topic = settings.dead_letter.topic
        self._results = ResultEncoder(settings.output, settings.kafka.group_id, model)
        self._dead_letters = DeadLetterEncoder(settings.output, settings.kafka.group_id)
        self._partitions = dict(partitions)

    def of_all(self, outputs: Sequence[Output]) -> list[Outgoing]:
        """One for each, all with the present time. Never fails for a bad record: what cannot be a result
        becomes a dead letter."""
        now_ms = time.time_ns() // 1_000_000
        return [self._of(output, now_ms) for output in outputs]

    def _of(self, output: Output, now_ms: int) -> Outgoing:
        record, verdict = output.entry.record, output.verdict
        if isinstance(verdict, Rejection):
            return self._dead_letter(record, verdict, now_ms)
        try:
            return self._placed(self._topic, record, self._results.encode(output, now_ms))
        except BadRecord as error:
            return self._dead_letter(record, error.rejection, now_ms)

    def _dead_letter(self, record: Record, rejection: Rejection, now_ms: int) -> Outgoing:
        encoded = self._dead_letters.encode(record, rejection, now_ms)
        return self._placed(self._dead_letter_topic, record, encoded)

    def _placed(self, topic: str, record: Record, encoded: Encoded) -> Outgoing:
        partition = chosen_partition(record.key, record.partition, self._partitions.get(topic, 1))
        by_key = _BY_KEY if partition is None else partition
        return Outgoing(topic, encoded.value, encoded.key, by_key, encoded.headers)

    def learn_partitions(self, producer: Producer) -> bool:
        """Ask how many partitions the topics have now; blocks for up to two seconds. False: no answer.

        Asks for all topics: a question about one that is missing could create it.
        """
        try:
            topics = producer.list_topics(timeout=_METADATA_TIMEOUT).topics
        except KafkaException:
            return False
        for name in (self._topic, self._dead_letter_topic):
            if name in topics and topics[name].partitions:
                self._partitions[name] = len(topics[name].partitions)
        return True

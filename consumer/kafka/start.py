"""Where an assigned partition begins. A committed offset that could not be asked for is never *none*."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from consumer.errors import Fatal
from consumer.kafka.birth import Births, known_at_birth
from consumer.records import Start, TopicPartition
from consumer.settings import Settings

_ASK_TIMEOUT = 5.0
_RETRY = 1.0  # seconds between attempts to place a partition


class StartFinder:
    """Asks the group for its offsets and the log for its bounds. Blocks; used inside on_assign."""

    def __init__(self, consumer: Consumer, settings: Settings, births: Births) -> None:
        self._consumer = consumer
        self._topic = settings.input.topic
        self._policy = settings.input.start
        self._budget = settings.kafka.max_poll_interval / 2
        self._births = births
        self._count = 0
        self._stored: dict[TopicPartition, int] = {}

    def find(self, partitions: Sequence[KafkaPartition]) -> dict[TopicPartition, Start]:
        """A start for each. Asks again while the coordinator does not answer; raises Fatal when it has
        not for half of `kafka.max_poll_interval`."""
        deadline = time.monotonic() + self._budget
        starts = {}
        for answer in self._committed(partitions, deadline):
            partition = TopicPartition(answer.topic, answer.partition)
            if answer.offset >= 0:
                self._births.keep(partition, answer)
                starts[partition] = Start(answer.offset, committed=True)
            else:
                starts[partition] = self._first(partition, deadline)
            self._stored[partition] = starts[partition].offset
        return starts

    def look(self) -> None:
        """Ask how many partitions the topic has before the group is joined; blocks like find(). Not in a
        callback: this question, asked there, lets the client end the process. All topics are asked for: a
        question about one that is missing could create it."""
        deadline = time.monotonic() + self._budget
        while True:
            try:
                topics = self._consumer.list_topics(timeout=_ASK_TIMEOUT).topics
            except KafkaException as error:
                self._patience(deadline, f"how many partitions {self._topic} has ({error})")
            else:
                self._count = len(topics[self._topic].partitions) if self._topic in topics else 0
                return

    def stored(self, partition: KafkaPartition) -> KafkaPartition:
        """Where an owned partition began that has delivered nothing since."""
        ours = TopicPartition(partition.topic, partition.partition)
        return KafkaPartition(partition.topic, partition.partition, self._stored[ours])

    def note(self, assigned: Sequence[KafkaPartition]) -> None:
        """They were assigned anew, which makes the client forget their positions: they begin here now."""
        for partition in assigned:
            ours = TopicPartition(partition.topic, partition.partition)
            self._stored[ours] = partition.offset

    def earliest(self, partition: TopicPartition) -> int | None:
        """The first offset of the log; None when nobody answers."""
        try:
            return self._bounds(partition)[0]
        except KafkaException:
            return None

    def _committed(self, partitions: Sequence[KafkaPartition], deadline: float) -> list[KafkaPartition]:
        if not partitions:
            return []
        while True:
            try:
                answers = self._consumer.committed(list(partitions), timeout=_ASK_TIMEOUT)
                failed = next((a.error for a in answers if a.error is not None), None)
                if failed is None:
                    return answers
                why = str(failed)
            except KafkaException as error:
                why = str(error)
            self._patience(deadline, f"the committed offsets of the group ({why})")

    def _first(self, partition: TopicPartition, deadline: float) -> Start:
        """The group has no offset here yet: begin where `input.start` says, or at the beginning of a
        partition that was added after the group was born."""
        count = max(self._count, partition.partition + 1)
        everywhere = self._committed([KafkaPartition(self._topic, p) for p in range(count)], deadline)
        born_with = known_at_birth(everywhere) or self._count or count
        self._births.begin(partition, born_with)
        added_later = partition.partition >= born_with
        while True:
            try:
                earliest, latest = self._bounds(partition)
            except KafkaException as error:
                self._patience(deadline, f"the log bounds of {partition} ({error})")
            else:
                at_first = added_later or self._policy == "earliest"
                return Start(earliest if at_first else latest, committed=False)

    def _bounds(self, partition: TopicPartition) -> tuple[int, int]:
        bounds: tuple[int, int] | None = self._consumer.get_watermark_offsets(
            KafkaPartition(*partition), timeout=_ASK_TIMEOUT
        )
        if bounds is None:
            raise KafkaException("no answer")
        return bounds

    @staticmethod
    def _patience(deadline: float, what: str) -> None:
        if time.monotonic() >= deadline:
            raise Fatal(f"The brokers did not tell {what}; starting anywhere else could lose records.")
        time.sleep(0.2)


class Misplaced:
    """Partitions whose position is not in the log any more: the client has stopped fetching them."""

    def __init__(self, starts: StartFinder) -> None:
        self._starts = starts
        self._positions: dict[TopicPartition, int] = {}
        self._retry_at = float("-inf")

    def note(self, partition: TopicPartition, position: int) -> None:
        self._positions[partition] = position

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._positions.pop(partition, None)

    def placed(self) -> Iterator[tuple[TopicPartition, int, int | None]]:
        """(partition, the position that was refused, the earliest offset or None while nobody tells it);
        a partition that could be placed is forgotten. Asks at most once a second; then it blocks."""
        now = time.monotonic()
        if not self._positions or now < self._retry_at:
            return
        self._retry_at = now + _RETRY
        for partition, position in tuple(self._positions.items()):
            earliest = self._starts.earliest(partition)
            if earliest is not None:
                del self._positions[partition]
            yield partition, position, earliest

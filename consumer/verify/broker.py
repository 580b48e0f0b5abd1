"""Questions to the brokers. Nothing is created, no group is joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from consumer.errors import Misconfigured
from consumer.kafka.config import admin_config, make_client, quiet_logger
from consumer.loading import redacted
from consumer.masking import shown
from consumer.settings import Settings

# The package leaves these two untyped.
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


class At(NamedTuple):
    """An offset and the timestamp of its record in milliseconds; -1 each where there is no such record."""

    offset: int
    timestamp: int


class Broker:
    """Each question blocks for up to `timeout` seconds; without an answer it raises Misconfigured."""

    def __init__(self, settings: Settings, timeout: float = 30.0) -> None:
        logger, _ = quiet_logger()
        self._settings, self._timeout = settings, timeout
        self._admin = make_client(AdminClient, admin_config(settings), settings, logger=logger)

    def partitions(self, topic: str) -> list[int]:
        """Asks for all topics: a question about one that is missing could create it."""
        found = self._asked("topics", lambda: self._admin.list_topics(timeout=self._timeout)).topics.get(
            topic
        )
        if found is None or not found.partitions:
            raise Misconfigured([f"topic {shown(topic)}: does not exist, or this client may not describe it"])
        return sorted(found.partitions)

    def committed(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """The group's next offsets, where it has any."""
        group = self._settings.kafka.group_id
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in partitions])
        futures = self._admin.list_consumer_group_offsets([asked], request_timeout=self._timeout)
        answer = self._asked(f"group {shown(group)}", futures[group].result)
        return {each.partition: each.offset for each in answer.topic_partitions if each.offset >= 0}

    def lows(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """First offsets that retention has left."""
        return _offsets(self._list(topic, partitions, _EARLIEST))

    def highs(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """Ends of the logs, whatever transactions are open."""
        return _offsets(self._list(topic, partitions, _LATEST))

    def stable(self, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        """Last stable offsets: ends for a reader of committed records."""
        return _offsets(self._list(topic, partitions, _LATEST, IsolationLevel.READ_COMMITTED))

    def since(self, topic: str, partitions: Sequence[int], timestamp: int) -> dict[int, At]:
        """The first records that are at least so young."""
        return self._list(topic, partitions, OffsetSpec.for_timestamp(timestamp))

    def is_compacted(self, topic: str) -> bool | None:
        """None: this client may not know (DESCRIBE_CONFIGS)."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            configs = self._admin.describe_configs([resource], request_timeout=self._timeout)[
                resource
            ].result()
        except KafkaException:
            return None
        policy = configs.get("cleanup.policy")
        return policy is not None and "compact" in (policy.value or "")

    def _list(
        self,
        topic: str,
        partitions: Sequence[int],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[int, At]:
        asked = {TopicPartition(topic, p): spec for p in partitions}
        futures = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=self._timeout)
        results = {
            each.partition: self._asked(f"topic {shown(topic)}", future.result)
            for each, future in futures.items()
        }
        return {partition: At(found.offset, found.timestamp) for partition, found in results.items()}

    def _asked(self, what: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except KafkaException as error:
            why = redacted(str(error.args[0].str()), self._settings)
        servers = shown(self._settings.kafka.bootstrap_servers)
        raise Misconfigured(
            [f"kafka.bootstrap_servers = {servers}: {what}: {why} (`consumer check` tells more)"]
        )


def _offsets(found: dict[int, At]) -> dict[int, int]:
    return {partition: at.offset for partition, at in found.items()}

"""The topics that a test makes."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.kafka.waiting import eventually


class Topics:
    """Creates and deletes topics, and waits until the brokers agree that it is done."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(config or {}))
        self._admin.create_topics([topic], operation_timeout=30)[name].result(timeout=60)
        eventually(f"topic {name} has leaders", lambda: self._led(name) == partitions, 30)
        return name

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name], operation_timeout=30)[name].result(timeout=60)
        eventually(f"topic {name} gone", lambda: name not in self._names(), 30)

    def _names(self) -> set[str]:
        return set(self._admin.list_topics(timeout=10).topics)

    def _led(self, name: str) -> int:
        topic = self._admin.list_topics(timeout=10).topics.get(name)
        return sum(p.leader >= 0 for p in topic.partitions.values()) if topic else 0

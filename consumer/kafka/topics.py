"""Whether our three topics exist, may be used, and fit what we write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource, ResourceType

from consumer.kafka.brokers import Answer
from consumer.kafka.config import FRAMING_BYTES
from consumer.masking import shown
from consumer.settings import Settings

_DEFAULT_MAX_MESSAGE_BYTES = 1_048_588  # the brokers' own default of max.message.bytes
_USUAL_REPLICATION = 3
_FALLBACK_PARTITIONS = 6


class Findings(msgspec.Struct, frozen=True):
    """Lines about topics, as in admin.Report, and the number of partitions of those that exist."""

    problems: list[str]
    warnings: list[str]
    notes: list[str]
    partitions: Mapping[str, int]


class _Topic(NamedTuple):
    """A topic of ours: the setting that names it, and what we must be allowed to do with it."""

    setting: str
    name: str
    operation: AclOperation

    def __str__(self) -> str:
        return f"{self.setting} = {shown(self.name)}"

    @property
    def written(self) -> bool:
        return self.operation is AclOperation.WRITE


def look_at_topics(settings: Settings, answer: Answer, admin: AdminClient, timeout: float) -> Findings:
    """Judge the topics by the cluster's metadata, our permissions and the topics' configurations.

    The latter two need a controller and are asked for together: blocks for up to `timeout` seconds.
    """
    topics = _topics(settings)
    found = Findings([], [], [], _partitions(topics, answer))
    existing = [topic for topic in topics if topic.name in found.partitions]
    _judge_partitions(existing, answer, found)
    forbidden: list[_Topic] = []
    if answer.metadata.controller_id not in answer.metadata.brokers:
        found.notes.append("permissions and configurations of topics: not checked: no controller is known")
    else:
        configs = _ask_configs(existing, admin, timeout)
        forbidden = _forbidden(topics, admin, timeout)
        for topic, result in configs.items():
            _judge_config(topic, result, settings, found)
    missing = [topic for topic in topics if topic not in existing and topic not in forbidden]
    found.problems.extend(_missing(topic, settings, answer, found.partitions) for topic in missing)
    found.problems.extend(_may_not(topic, settings) for topic in forbidden)
    return found


def _topics(settings: Settings) -> tuple[_Topic, ...]:
    return (
        _Topic("input.topic", settings.input.topic, AclOperation.READ),
        _Topic("output.topic", settings.output.topic, AclOperation.WRITE),
        _Topic("dead_letter.topic", settings.dead_letter.topic, AclOperation.WRITE),
    )


def _partitions(topics: tuple[_Topic, ...], answer: Answer) -> dict[str, int]:
    seen = ((topic.name, answer.metadata.topics.get(topic.name)) for topic in topics)
    return {name: len(topic.partitions) for name, topic in seen if topic is not None and topic.partitions}


def _judge_partitions(existing: list[_Topic], answer: Answer, found: Findings) -> None:
    for topic in existing:
        partitions = answer.metadata.topics[topic.name].partitions.values()
        found.notes.append(f"{topic}: {len(partitions)} partition{'s' * (len(partitions) > 1)}")
        leaderless = sorted(partition.id for partition in partitions if partition.leader < 0)
        if leaderless:
            found.warnings.append(
                f"{topic}: partitions without a leader: {leaderless}; start the brokers that hold them"
            )


def _missing(topic: _Topic, settings: Settings, answer: Answer, partitions: Mapping[str, int]) -> str:
    """The line for a topic that is not there, with the command that creates it as we would want it."""
    count = partitions.get(settings.input.topic, _FALLBACK_PARTITIONS)
    replication = min(_USUAL_REPLICATION, len(answer.metadata.brokers))
    needed = settings.output.max_bytes + FRAMING_BYTES
    command = [
        f"kafka-topics.sh --bootstrap-server {answer.address}",
        f"--create --topic {topic.name} --partitions {count} --replication-factor {replication}",
    ]
    if settings.kafka.security_protocol != "plaintext":
        command.append("--command-config admin.properties")
    if topic.written and needed > _DEFAULT_MAX_MESSAGE_BYTES:
        command.append(f"--config max.message.bytes={needed}")
    return f"{topic}: does not exist; create it: {' '.join(command)}"


def _forbidden(topics: tuple[_Topic, ...], admin: AdminClient, timeout: float) -> list[_Topic]:
    """Topics that we may not use. One that we may not even describe looks missing in the metadata."""
    names = TopicCollection([topic.name for topic in topics])
    futures = admin.describe_topics(names, include_authorized_operations=True, request_timeout=timeout)
    return [topic for topic in topics if _is_forbidden(topic, *_outcome(futures[topic.name].result))]


def _is_forbidden(topic: _Topic, described: Any, error: KafkaError | None) -> bool:
    if error is not None:
        return bool(error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)
    allowed = {*(described.authorized_operations or ())}
    return bool(allowed) and allowed.isdisjoint({topic.operation, AclOperation.ALL})


def _may_not(topic: _Topic, settings: Settings) -> str:
    who = settings.kafka.sasl_username or "this client"
    operation = topic.operation.name
    command = f"kafka-acls.sh --add --operation {operation} --topic {topic.name}"
    return f"{topic}: {who} may not {operation.lower()} it; allow it: {command} --allow-principal User:…"


_Configs = tuple[Any, KafkaError | None]


def _ask_configs(existing: list[_Topic], admin: AdminClient, timeout: float) -> dict[_Topic, _Configs]:
    resources = {topic: ConfigResource(ResourceType.TOPIC, topic.name) for topic in existing if topic.written}
    if not resources:
        return {}
    futures = admin.describe_configs(list(resources.values()), request_timeout=timeout)
    return {topic: _outcome(futures[resource].result) for topic, resource in resources.items()}


def _judge_config(topic: _Topic, result: _Configs, settings: Settings, found: Findings) -> None:
    configs, error = result
    if error is not None:
        # Needs DESCRIBE_CONFIGS, which the service itself can do without.
        found.notes.append(f"{topic}: its configuration was not checked: {error.str()}")
        return
    values = {name: entry.value for name, entry in configs.items()}
    if "compact" in (values.get("cleanup.policy") or ""):
        found.warnings.append(
            f"{topic}: is compacted, so older records of a key vanish and keyless ones are refused; "
            "use cleanup.policy=delete"
        )
    limit = int(values.get("max.message.bytes") or _DEFAULT_MAX_MESSAGE_BYTES)
    largest = settings.output.max_bytes
    if limit < largest:
        found.problems.append(
            f"{topic}: its max.message.bytes = {limit} is below output.max_bytes = {largest}; "
            f"raise it to {largest + FRAMING_BYTES} or lower output.max_bytes"
        )


def _outcome(result: Callable[[], Any]) -> tuple[Any, KafkaError | None]:
    try:
        return result(), None
    except KafkaException as error:
        return None, error.args[0]

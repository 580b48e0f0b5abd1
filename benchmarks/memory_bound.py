"""What a replica may take beside its own start, as a sum over its settings. docs/deployment.md explains it.

The settings bound how much is held of everything; what one of each takes depends on the topic, so the sum is
of both.
"""

from __future__ import annotations

from typing import NamedTuple

from consumer.kafka.config import consumer_config
from consumer.settings import Settings

MIB = 1 << 20

# What is taken beside the bytes of a record, each measured and rounded up.
CLIENT_OBJECT = 600  # a record that the client has fetched ahead
OBJECTS = 4_096  # a record under way: as Python objects, with its result, in the producer's queue
COPIES = 4  # a record's bytes under way: itself, its output, the client's copy of that, the request
PARTITION = 50_000  # the client's and our state and metrics of a partition
SCORE = 1_024  # a remembered score and its text
STORE = 10 * MIB  # writes that wait for Redis, of scores and of marks each
FIXED = 24 * MIB  # threads and their arenas, statistics, the log's queue, scrapes


class Topic(NamedTuple):
    """What is read. `value` and `beside` (key and headers) are bytes of a record, `compression` how many
    bytes come out of one that was fetched; `brokers` lead partitions of it, `partitions` are ours."""

    value: int
    beside: int = 0
    compression: float = 1.0
    partitions: int = 4
    brokers: int = 1


class Term(NamedTuple):
    """A part of the sum, in bytes, and the settings that it comes from."""

    name: str
    size: int
    settings: tuple[str, ...] = ()


def bound(settings: Settings, topic: Topic) -> list[Term]:
    """The terms that are not zero."""
    terms = [
        *_prefetched(settings, topic),
        *_under_way(settings, topic),
        *_in_transactions(settings, topic),
        Term("partitions", topic.partitions * PARTITION),
        *_remembered(settings),
        Term("fixed", FIXED),
    ]
    return [term for term in terms if term.size]


def total(terms: list[Term]) -> int:
    return sum(term.size for term in terms)


def _prefetched(settings: Settings, topic: Topic) -> list[Term]:
    """Fetching stops at either bound, and each broker's last fetch comes on top."""
    client = consumer_config(settings)
    bytes_ahead = int(client["queued.max.messages.kbytes"]) * 1024
    most = min(int(client["queued.min.messages"]), bytes_ahead // topic.value)
    record = topic.value + topic.beside
    fetch = max(record, int(client["fetch.max.bytes"]) * topic.compression)
    records = most + int(topic.brokers * fetch / record)
    keys = ("queued.max.messages.kbytes", "queued.min.messages", "fetch.max.bytes")
    at_once = min(records, settings.batch.count)
    return [
        Term("fetched ahead", records * (record + CLIENT_OBJECT), keys),
        Term("one poll", at_once * record, (*keys, "batch.count")),
    ]


def _under_way(settings: Settings, topic: Topic) -> list[Term]:
    """Two batches wait at most, the second of them partly; `pipeline.depth` are between taken and durable."""
    batch, depth = settings.batch, settings.pipeline.depth
    record = topic.value + topic.beside
    size = min(batch.byte_size + record, batch.count * record)
    count = min(batch.count, max(1, batch.byte_size // record))
    keys = ("batch.byte_size", "batch.count")
    return [
        Term("waiting batches", 2 * (size + count * OBJECTS), keys),
        Term("batches under way", depth * (COPIES * size + count * OBJECTS), (*keys, "pipeline.depth")),
    ]


def _in_transactions(settings: Settings, topic: Topic) -> list[Term]:
    if not settings.exactly_once:
        return []
    policy, record = settings.transaction, topic.value + topic.beside
    count = min(policy.max_records, max(1, policy.max_bytes // record))
    size = count * (COPIES * record + OBJECTS)
    return [Term("transactions", size, ("transaction.max_bytes", "transaction.max_records"))]


def _remembered(settings: Settings) -> list[Term]:
    stores = (settings.redis.url is not None) + settings.dedupe.enabled
    cached = settings.scoring.cache_size if settings.scoring.model or settings.scoring.factory else 0
    return [
        Term("scores remembered", cached * SCORE, ("scoring.cache_size",)),
        Term("waiting for Redis", stores * STORE, ("redis.url", "dedupe.enabled")),
    ]

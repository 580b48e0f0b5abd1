"""Which partition of an output topic a record goes to, as Java's producer does it for keys."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """32-bit MurmurHash2 with Kafka's seed, as the signed integer that Java's producer gets."""
    whole = len(data) - len(data) % 4
    h = _SEED ^ len(data)
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def output_partition(key: bytes | None, input_partition: int, partitions: int) -> int:
    """The contract. Keyed: by murmur2 of the key, an empty key included, so records of one key meet
    in one partition, also those that a Java producer writes. Without a key: the input partition
    modulo the number of output partitions, so the order within an input partition survives."""
    if key is None:
        return input_partition % partitions
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def chosen_partition(key: bytes | None, input_partition: int, partitions: int) -> int | None:
    """The same at the speed of C: None leaves a keyed record to librdkafka's `murmur2_random`, which
    hashes like Java, the empty key included, and would scatter only records without a key."""
    return input_partition % partitions if key is None else None

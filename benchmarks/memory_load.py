"""A backlog that outlasts a case: record batches made once and appended over and over by the broker."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tests.kafka.raw_produce import RawProducer, RawRecord, Refused, batch_of

UNCOMPRESSED = 0
_NOT_LEADER = 6  # the protocol's error code
_BATCH = 900_000  # bytes of the values of one batch: framed, they are below max.message.bytes' default
_DIFFERENT = 24  # batches that are made: what follows repeats their texts
_FILLING = "lorem ipsum "


class Load(msgspec.Struct, frozen=True):
    """Records of `size` bytes, `total` bytes of them; every `bad_every`-th is no event and becomes a dead
    letter, which holds all of it. `ids`: each of the different records has an event id of its own."""

    size: int = 130
    total: int = 400_000_000
    bad_every: int = 0
    ids: bool = False
    codec: int = UNCOMPRESSED


class Backlog(NamedTuple):
    """What was written. `compression`: bytes of values for each byte that is stored; 1 at least."""

    records: int
    compression: float


def write(bootstrap: str, topic: str, load: Load, into: int | None = None) -> Backlog:
    """Append until the topic holds that much, spread over its partitions or the first `into` of them."""
    producer = RawProducer(bootstrap, topic)
    partitions = into or producer.partitions
    each = max(1, _per_batch(load, partitions))
    batches = [_batch(values, load.codec) for values in _chunks(load, each)]
    sends = max(partitions, load.total // (each * load.size))
    for number in range(sends):
        _send(producer, number % partitions, batches[number % len(batches)])
    stored = sum(map(len, batches)) / len(batches)
    return Backlog(sends * each, max(1.0, each * load.size / stored))


def _per_batch(load: Load, partitions: int) -> int:
    """As many as fit, and no more than leave something for each partition."""
    return min(_BATCH // load.size, load.total // load.size // partitions)


def _chunks(load: Load, each: int) -> Iterator[Sequence[bytes]]:
    values = _values(load)
    for _ in range(min(_DIFFERENT, max(1, load.total // (each * load.size)))):
        yield [next(values) for _ in range(each)]


def _values(load: Load) -> Iterator[bytes]:
    """JSON events of `size` bytes; the n-th bad one is cut off, so that it is none."""
    rng = random.Random(load.size)  # noqa: S311 - texts, not secrets
    number = 0
    while True:
        number += 1
        event = {"id": f"{number:09d}"} if load.ids else {}
        text = f"{rng.randrange(10**9):09d} request took {number % 977} ms on node-{number % 12} "
        bare = len(msgspec.json.encode({**event, "message": text}))
        text += (_FILLING * (load.size // len(_FILLING) + 1))[: max(0, load.size - bare)]
        value = msgspec.json.encode({**event, "message": text})
        yield value[:-1] + b" " if load.bad_every and number % load.bad_every == 0 else value


def _batch(values: Sequence[bytes], codec: int) -> bytes:
    return batch_of([RawRecord(value) for value in values], codec)


def _send(producer: RawProducer, partition: int, batch: bytes) -> None:
    """Again while a partition that was just made has no leader."""
    for _ in range(600):
        try:
            producer.send(partition, batch)
        except Refused as refusal:
            if refusal.code != _NOT_LEADER:
                raise
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"partition {partition} has no leader")

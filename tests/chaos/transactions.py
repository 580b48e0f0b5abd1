"""What two subscribers saw of the transactions that results were written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from confluent_kafka import Message

from tests.kafka.watched_producer import TAG


class Seen(NamedTuple):
    """Records of one transaction: in the log, and those that a reader of committed records gets."""

    written: int
    visible: int


def transactions(everything: Iterable[Message], committed: Iterable[Message]) -> Mapping[str, Seen]:
    """By the name that the records carry; records outside of transactions carry none."""
    written, visible = _count(everything), _count(committed)
    return {name: Seen(written[name], visible[name]) for name in {*written, *visible}}


def torn_transactions(seen: Mapping[str, Seen]) -> Iterator[str]:
    """I8: visible as a whole or not at all."""
    for name, each in seen.items():
        if each.visible not in {0, each.written}:
            yield f"{each.visible} of {each.written} records of transaction {name} are visible"


def aborted_records(everything: Iterable[Message], committed: Iterable[Message]) -> int:
    """How many a reader of committed records never gets."""
    return len({place_of(m) for m in everything} - {place_of(m) for m in committed})


def name_of(message: Message) -> str | None:
    """Of the transaction that a record was written in."""
    name = dict(message.headers() or ()).get(TAG)
    return name.decode() if isinstance(name, bytes) else None


def place_of(message: Message) -> tuple[str | None, int | None, int | None]:
    """Topic, partition, offset."""
    return message.topic(), message.partition(), message.offset()


def _count(messages: Iterable[Message]) -> Counter[str]:
    return Counter(name for name in map(name_of, messages) if name is not None)

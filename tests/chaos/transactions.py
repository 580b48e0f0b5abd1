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


def transactions(everything: Iterable[Message], committed: Iterable[Message]) -> Mapping[bytes, Seen]:
    """By the name that the records carry; records outside of transactions carry none."""
    written, visible = _count(everything), _count(committed)
    return {name: Seen(written[name], visible[name]) for name in {*written, *visible}}


def torn_transactions(seen: Mapping[bytes, Seen]) -> Iterator[str]:
    """I8: visible as a whole or not at all."""
    for name, each in seen.items():
        if each.visible not in {0, each.written}:
            yield f"{each.visible} of {each.written} records of transaction {name.decode()} are visible"


def aborted_records(everything: Iterable[Message], committed: Iterable[Message]) -> int:
    """How many a reader of committed records never gets."""
    return len({_place(m) for m in everything} - {_place(m) for m in committed})


def _count(messages: Iterable[Message]) -> Counter[bytes]:
    names = (dict(m.headers() or ()).get(TAG) for m in messages)
    return Counter(name for name in names if isinstance(name, bytes))


def _place(message: Message) -> tuple[str | None, int | None, int | None]:
    return message.topic(), message.partition(), message.offset()

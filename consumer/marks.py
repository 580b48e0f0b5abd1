"""Marks: which record brought an event, as bytes under a key. Pure; what is read is never trusted."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import NamedTuple

from consumer.records import Record

DONE = 1
"""The state of a mark whose record has its result, acknowledged. No other state is ever written."""

_FORMAT = 1
_BODY = struct.Struct(">BBIQ16s")  # format, state, partition, offset, digest of the value
_CHECK = 8


class Mark(NamedTuple):
    """The record with these coordinates brought the event; `digest`: of its value."""

    partition: int
    offset: int
    digest: bytes
    state: int = DONE

    def suppresses(self, record: Record) -> bool:
        """Whether `record` is a mere repeat: the mark is *done*, of the *same value*, and of *another*
        record. A record that is read again is its own only copy; an id that comes with another value is
        another event."""
        own = (self.partition, self.offset) == (record.partition, record.offset)
        return self.state == DONE and not own and self.digest == digest(record.value)


class Keys:
    """The keys of the marks of one group and one topic. They hold no event id, only a hash of it."""

    def __init__(self, group: str, topic_id: str) -> None:
        self._begun = blake2b(f"{topic_id}\0{group}\0".encode(), digest_size=16)

    def of(self, event_id: str) -> bytes:
        key = self._begun.copy()
        key.update(event_id.encode("utf-8", "surrogatepass"))
        return b"seen:" + key.digest()


def mark_of(record: Record) -> Mark:
    """The mark of a record whose result is acknowledged."""
    return Mark(record.partition, record.offset, digest(record.value))


def digest(value: bytes | None) -> bytes:
    return blake2b(value or b"", digest_size=16).digest()


def encode(mark: Mark, key: bytes) -> bytes:
    """38 bytes."""
    body = _BODY.pack(_FORMAT, mark.state, mark.partition, mark.offset, mark.digest)
    return body + _check(key, body)


def decode(entry: bytes, key: bytes) -> Mark | None:
    """None for what `encode` cannot have written under this key. A check sum, no signature: a spoilt
    coordinate must not make a record pass for a repeat of itself."""
    body = entry[: _BODY.size]
    if len(entry) != _BODY.size + _CHECK or entry[_BODY.size :] != _check(key, body):
        return None
    form, state, partition, offset, value = _BODY.unpack(body)
    return Mark(partition, offset, value, state) if form == _FORMAT else None


def _check(key: bytes, body: bytes) -> bytes:
    return blake2b(key + body, digest_size=_CHECK).digest()

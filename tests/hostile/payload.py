"""One payload, and pieces that many are built of."""

from __future__ import annotations

from typing import Literal, NamedTuple

from consumer.records import Headers, Record

SECRET = "hunter2-canary"
"""Stands in many payloads: no rejection's detail and no log line may ever show it."""

AT = 1_764_512_345_678
NO_TIMESTAMP = -1
"""How the protocol says that a record has none."""

Names = tuple[tuple[bytes, bytes | None], ...]


class Hostile(NamedTuple):
    """`outcome`: `scored`, `empty`, or the Reason of its dead letter, in whose detail `detail` must be.

    `format` is the `input.format` under which this holds. `headers` have their names as on the wire,
    `timestamp` is in milliseconds since the epoch.
    """

    name: str
    value: bytes | None
    outcome: str
    detail: str = ""
    format: Literal["auto", "json", "text"] = "auto"
    key: bytes | None = None
    headers: Names = ()
    timestamp: int = AT

    @property
    def is_rejected(self) -> bool:
        return self.outcome not in {"scored", "empty"}

    def record(self, offset: int = 0) -> Record:
        """As the client hands it over."""
        timestamp = None if self.timestamp == NO_TIMESTAMP else self.timestamp
        return Record("events", 0, offset, self.value, self.key, timestamp, _readable(self.headers))


def _readable(headers: Names) -> Headers | None:
    try:
        return tuple((name.decode(), value) for name, value in headers)
    except UnicodeDecodeError:
        return None


def event(more: str = "", message: str = f'"{SECRET}"') -> bytes:
    """A JSON event with this message, as JSON, and `more` behind it."""
    return f'{{"message":{message}{more}}}'.encode()


def members(count: int) -> bytes:
    """An event of `count` fields in all."""
    return event("".join(f',"{number}":0' for number in range(count - 1)))


def nested(depth: int, opening: str, closing: str) -> bytes:
    """An event that nests `depth` levels, itself included."""
    return event(f',"x":{opening * (depth - 1)}{closing * (depth - 1)}')

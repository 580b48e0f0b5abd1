"""Produces record batches that no client would: header names of any bytes, any timestamp, broken checksums.

Speaks Kafka's protocol by itself (Produce, version 3, and record batches of magic 2), so that nothing stands
between a test and what a broker takes.
"""

from __future__ import annotations

import socket
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

GZIP = 1
_PRODUCE, _VERSION, _ALL = 0, 3, -1
_MAGIC = 2
_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected


class RawRecord(NamedTuple):
    """`timestamp` is in milliseconds; header names are bytes."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    timestamp: int = -1


class Refused(Exception):
    """The broker took none of a batch; `code` is the protocol's error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"error code {code}")
        self.code = code


class RawProducer:
    """One connection for each send: slow, and nothing to look after."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        metadata = admin.list_topics(topic, timeout=10)
        brokers = {number: (b.host, b.port) for number, b in metadata.brokers.items()}
        partitions = metadata.topics[topic].partitions.values()
        self._leaders = {partition.id: brokers[partition.leader] for partition in partitions}

    @property
    def partitions(self) -> int:
        return len(self._leaders)

    def send(self, partition: int, batch: bytes) -> int:
        """The offset of the batch's first record, once all in-sync replicas have it. Raises Refused."""
        name = self._topic.encode()
        body = struct.pack(">hhih", _PRODUCE, _VERSION, 0, -1)  # correlation 0, no client id
        body += struct.pack(">hhii", -1, _ALL, 30_000, 1) + struct.pack(">h", len(name)) + name
        body += struct.pack(">iii", 1, partition, len(batch)) + batch
        with socket.create_connection(self._leaders[partition], timeout=60) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = _exactly(connection, *struct.unpack(">i", _exactly(connection, 4)))
        code, offset = struct.unpack_from(">hq", answer, 4 + 4 + 2 + len(name) + 4 + 4)
        if code:
            raise Refused(code)
        return int(offset)


def batch_of(records: Sequence[RawRecord], codec: int = GZIP, wrong_checksum: bool = False) -> bytes:
    """A record batch. `codec`: its number in the protocol; only 0 and GZIP do what they say."""
    base = records[0].timestamp
    body = b"".join(_record(record, number, base) for number, record in enumerate(records))
    body = zlib.compress(body, 1, wbits=31) if codec == GZIP else body
    latest = max(record.timestamp for record in records)
    # attributes, last offset delta, first and last timestamp, no producer (id, epoch, sequence), count
    checked = struct.pack(">hiqqqhii", codec, len(records) - 1, base, latest, -1, -1, -1, len(records)) + body
    checksum = crc32c(checked) ^ int(wrong_checksum)
    head = struct.pack(">ibI", -1, _MAGIC, checksum)
    return struct.pack(">qi", 0, len(head) + len(checked)) + head + checked


def crc32c(data: bytes) -> int:
    """RFC 3720, appendix B.4."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table() -> Iterable[int]:
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        yield crc


_TABLE = tuple(_table())


def _record(record: RawRecord, number: int, base: int) -> bytes:
    body = b"\x00" + _varint(record.timestamp - base) + _varint(number)
    body += _sized(record.key) + _sized(record.value) + _varint(len(record.headers))
    body += b"".join(_sized(name) + _sized(value) for name, value in record.headers)
    return _varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """Zigzag, seven bits a byte, the lowest first."""
    left = number << 1 if number >= 0 else ~(number << 1)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes(out) + bytes([left])


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        assert piece, "the broker hung up"
        data += piece
    return data

"""Formats that we do not read. Nothing is ever unpacked, so a bomb is its few bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
from collections.abc import Iterator

from consumer.records import Reason
from tests.hostile.payload import Hostile, event

_ZEROS = bytes(10_000_000)


def bombs() -> Iterator[Hostile]:
    for name, value in (
        ("gzip", gzip.compress(_ZEROS, mtime=0)),
        ("bzip2", bz2.compress(_ZEROS)),
        ("xz", lzma.compress(_ZEROS)),
        ("zip", _zip()),
        ("zstd", _zstd(500)),
        ("lz4", b"\x04\x22\x4d\x18\x60\x40\x82" + b"\xff" * 5_000),
        ("snappy", b"\xff\x06\x00\x00sNaPpY" + b"\xfe\x01\x00" * 2_000),
    ):
        yield Hostile(f"bomb in {name}", value, "scored")
        yield Hostile(f"bomb in {name} where JSON is asked", value, Reason.UNDECODABLE, "(byte", "json")


def serialised() -> Iterator[Hostile]:
    for name, value in (
        ("pickle that runs a program", b"cos\nsystem\n(S'touch /tmp/owned'\ntR."),
        ("Java object", b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap"),
        ("MessagePack", b"\x81\xa7message\xa1a"),
        ("MessagePack of 4 billion entries", b"\xdf\xff\xff\xff\xff\xa1a"),
        ("CBOR", b"\xa1gmessageaa"),
        ("CBOR that nests", b"\x81" * 2_000),
        ("BSON", struct.pack("<i", 22) + b"\x02message\x00\x02\x00\x00\x00a\x00\x00"),
        ("protobuf", b"\x0a\x05hello\x10\x96\x01"),
        ("protobuf with an endless number", b"\x08" + b"\xff" * 1_000),
        ("Avro file", b"Obj\x01\x04\x14avro.codec\x08null\x16avro.schema"),
        ("Parquet", b"PAR1\x15\x04\x15\x00PAR1"),
        ("ELF", b"\x7fELF\x02\x01\x01" + bytes(64)),
        ("PNG", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
    ):
        yield Hostile(name, value, "scored")


def schema_registry() -> Iterator[Hostile]:
    """Confluent's wire format: a magic byte, four of a schema's id, the payload."""
    for name, value in (
        ("Avro", b"\x00\x00\x00\x00\x07\x02\x0aabcde"),
        ("unknown schema", b"\x00\xff\xff\xff\xff\x02"),
        ("wrong magic byte", b"\x01\x00\x00\x00\x07\x02\x0aabcde"),
        ("protobuf with its index", b"\x00\x00\x00\x00\x07\x02\x00\x0a\x05hello"),
        ("too short", b"\x00\x00\x07"),
        ("JSON in it", b"\x00\x00\x00\x00\x07" + event()),
    ):
        yield Hostile(f"registry: {name}", value, "scored")
        where = f"registry: {name} where JSON is asked"
        yield Hostile(where, value, Reason.UNDECODABLE, "(byte 0)", "json")


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("../../zeros"), _ZEROS, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _zstd(blocks: int) -> bytes:
    """RFC 8878: each block says in four bytes that one byte repeats 128 KiB long."""
    repeated = (131_072 << 3 | 1 << 1).to_bytes(3, "little") + b"\x00"
    return b"\x28\xb5\x2f\xfd\x00\x58" + repeated * blocks

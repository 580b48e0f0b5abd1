"""How much the in-process cluster can be asked to remember, and whether a run stays under it.

A partition keeps its last 5 MB. A run is sized so that neither the input, nor the results, nor the
dead letters of any partition can pass nine tenths of that, counted before anything is produced. The
runner checks afterwards that no partition forgot anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from consumer.errors import Misconfigured
from consumer.partitioner import output_partition

PARTITION_BYTES: Final = 5 * 1024 * 1024
PARTITIONS: Final = 12
ROOM: Final = PARTITION_BYTES * 9 // 10
MAX_MESSAGE_CHARS: Final = 2_000  # what a result of the demo repeats of a message

_FRAME: Final = 100  # bytes of a record around key and value, headers of the input left out
_RESULT: Final = 1_300  # bytes of a result or of the headers of a dead letter beside the message
_ESCAPED: Final = 2  # bytes that JSON may need for one byte of a message, as logs go


class Sent(NamedTuple):
    """A record to produce, and to which partition of the input."""

    key: bytes | None
    value: bytes | None
    partition: int


def placed(records: Iterable[tuple[bytes | None, bytes | None]]) -> list[Sent]:
    """Keyed records by murmur2 of the key, keyless ones in turn."""
    return [
        Sent(key, value, output_partition(key, index % PARTITIONS, PARTITIONS))
        for index, (key, value) in enumerate(records)
    ]


def fitting(records: Sequence[Sent]) -> int:
    """How many of them, from the front, fit: at most this many may be produced."""
    used = [0] * PARTITIONS
    for index, record in enumerate(records):
        used[record.partition] += _most_bytes(record)
        if used[record.partition] > ROOM:
            return index
    return len(records)


def require_fit(records: Sequence[Sent]) -> None:
    """Raises Misconfigured when the in-process cluster could forget a part of them."""
    most = fitting(records)
    if most < len(records):
        raise Misconfigured(
            [
                f"--records {len(records)}: the in-process cluster keeps only the last "
                f"{PARTITION_BYTES >> 20} MB of each of the {PARTITIONS} partitions, results included; "
                f"ask for at most {most * 9 // 1_000 * 100}"
            ]
        )


def _most_bytes(record: Sent) -> int:
    """An upper bound of what its result or dead letter takes, which is more than the record itself."""
    size = len(record.value or b"")
    message = min(size * _ESCAPED, MAX_MESSAGE_CHARS * 6)
    return _FRAME + _RESULT + len(record.key or b"") + max(size, message)

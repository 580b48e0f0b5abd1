"""What results and dead letters have in common once they are read."""

from __future__ import annotations

import msgspec

from consumer.verify.findings import Kind

Faults = tuple[tuple[Kind, str], ...]

_HASH_BITS = 0xFFFFFFFF


class Output(msgspec.Struct, frozen=True, gc=False):
    """One output record, which lies in partition `place` of its topic at offset `at`. `group`, `topic`,
    `partition`, `offset`, `id`: what it says of its input record; None where that could not be read, and
    then a fault says so.

    `outcome`: that of a result, or the reason of a dead letter. `key`: 32 bits of the hash of its key,
    None where it was cut and so cannot be compared. `first`: partition and offset of the record that a
    duplicate repeats. `fingerprint`: of all that a repeat must repeat.
    """

    place: int
    at: int
    dead: bool
    group: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    id: str | None
    outcome: str
    key: int | None
    fingerprint: int
    score: float = 0.0
    model: str | None = None
    first: tuple[int, int] | None = None
    faults: Faults = ()


def hashed(value: object) -> int:
    """32 bits; the same within one process only. Two values that differ have the same one in 2^32."""
    return hash(value) & _HASH_BITS

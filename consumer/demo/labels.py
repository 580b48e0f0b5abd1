"""What is known of a generated record and never written into it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class Kind(StrEnum):
    """What a record is. The values are the names in the report."""

    NORMAL = "normal"
    EMPTY = "empty"  # a tombstone or an empty value
    NEW_MESSAGE = "new message"
    ODD_ORDER = "odd order"  # the words of a known message in another order
    ODD_TOKEN = "odd token"  # noqa: S105 - a kind of record, no password: one word that does not belong
    RARE_LEVEL = "rare level"  # a known message at a level that its service never uses
    MALFORMED = "malformed"  # JSON that no longer is, or that breaks the schema: found = dead letter
    BURST = "burst"  # a known message far more often than usual
    ODD_VALUE = "odd value"  # a known message with an absurd amount


COVERED: Final = (Kind.NEW_MESSAGE, Kind.ODD_ORDER, Kind.ODD_TOKEN, Kind.RARE_LEVEL, Kind.MALFORMED)
"""Kinds that the shipped parts are meant to find."""

NOT_COVERED: Final = (Kind.BURST, Kind.ODD_VALUE)
"""Kinds that need what is not built yet: counts over time, and the numbers themselves."""


class Truth(msgspec.Struct, frozen=True):
    """`template` names the wording (empty for made-up messages); `level` is the event's own, `-` for none."""

    kind: Kind
    template: str = ""
    level: str = "-"
    message: str = ""


class Labelled(msgspec.Struct, frozen=True):
    """A record to produce, and beside it what it is. The truth goes by the record's id, not with it."""

    value: bytes | None
    key: bytes | None
    truth: Truth

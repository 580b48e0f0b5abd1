"""What replicas tell each other through a store that nobody has to trust.

Shared is not a score but what a score is computed from: each part's statistics of an item and the
surprisal of its tokens. Threshold and explanation are applied where it is read, so that a score from
the store equals, bit by bit, the one that the writing replica gave.

An entry carries a message authentication code over its key and content. The secret behind it, and
behind the keys, is the model's manifest: who can read or write the store but has no copy of the model
can neither forge an entry, nor move one to another key, nor guess a text from its key.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

import consumer
from consumer.scoring.parts import Floats, Integers, Measured
from consumer.sharing import SharedStats, SharedStore

if TYPE_CHECKING:  # torch takes seconds to import
    from consumer.scoring.stored import StoredModel

_FORMAT = b"\x01"
_MAC = 16  # bytes
_LARGEST = 65_536  # bytes of an entry; a longer text is computed wherever it comes up
_KINDS = {4: "<f4", 8: "<f8"}  # bytes of a surprisal
_log = logging.getLogger(__name__)


class Shape(NamedTuple):
    """What an entry of this model holds: statistics of each part in the parts' order, and which part's
    length is the number of surprisals; None where no part has any."""

    statistics: tuple[int, ...]
    tokens_of: int | None


class Identity(NamedTuple):
    """What must be equal before two replicas share. `secret` is known to who has the model."""

    version: str
    engine: str  # everything beside the model that changes a measurement
    secret: bytes


class Measurement(NamedTuple):
    """Of one item. `values`: float64, all statistics end to end; `lengths`: one for each part; `nats`:
    surprisal of each token."""

    values: Floats
    lengths: Integers
    nats: Floats


def join(measured: Sequence[Measured], nats: Sequence[Floats]) -> list[Measurement]:
    """What every part measured, and the tokens' surprisals, item by item. The inverse of `split`."""
    values = np.concatenate([each.values for each in measured], axis=1)
    lengths = np.column_stack([each.lengths for each in measured])
    return [Measurement(*row) for row in zip(values, lengths, nats, strict=True)]


def split(shape: Shape, found: Sequence[Measurement]) -> list[Measured]:
    """The measurements of several items as each part would have given them."""
    values = np.array([each.values for each in found])
    lengths = np.array([each.lengths for each in found])
    pieces = np.split(values, np.cumsum(shape.statistics)[:-1], axis=1)
    return [Measured(piece, lengths[:, part]) for part, piece in enumerate(pieces)]


def encode(measurement: Measurement) -> bytes:
    """Exact: the surprisals take 4 bytes each where that loses nothing, else 8."""
    with np.errstate(over="ignore"):  # what does not fit is not equal
        narrow = measurement.nats.astype("<f4")
    exact = np.array_equal(narrow.astype(np.float64), measurement.nats)
    nats = narrow if exact else measurement.nats.astype("<f8")
    numbers = measurement.values.astype("<f8").tobytes() + measurement.lengths.astype("<i8").tobytes()
    return bytes([nats.itemsize]) + numbers + nats.tobytes()


def decode(data: bytes, shape: Shape) -> Measurement | None:
    """The inverse of `encode`; None for what it cannot have written for a model of this shape."""
    statistics, parts = sum(shape.statistics), len(shape.statistics)
    begin = 1 + 8 * (statistics + parts)
    kind = _KINDS.get(data[0]) if data else None
    if kind is None or len(data) < begin or (len(data) - begin) % data[0]:
        return None
    values = np.frombuffer(data, "<f8", statistics, 1).astype(np.float64)
    lengths = np.frombuffer(data, "<i8", parts, 1 + 8 * statistics).astype(np.int64)
    nats = np.frombuffer(data, kind, offset=begin).astype(np.float64)
    tokens = 0 if shape.tokens_of is None else lengths[shape.tokens_of]
    whole = tokens == len(nats) and bool((lengths >= 0).all())
    return Measurement(values, lengths, nats) if whole and _finite(values) and _finite(nats) else None


def _finite(numbers: npt.NDArray[np.float64]) -> bool:
    return bool(np.isfinite(numbers).all())


class Sealed:
    """Keys, and entries that only fit theirs."""

    def __init__(self, identity: Identity) -> None:
        self._secret = blake2b(identity.secret).digest()
        engine = blake2b(_FORMAT + identity.engine.encode(), digest_size=8).hexdigest()
        self._prefix = f"{identity.version}:{engine}:".encode()

    def key(self, item: str) -> bytes:
        text = item.encode("utf-8", "surrogatepass")
        return (
            self._prefix + blake2b(text, digest_size=16, key=self._secret, person=b"key").hexdigest().encode()
        )

    def seal(self, key: bytes, content: bytes) -> bytes:
        return _FORMAT + self._code(key, content) + content

    def open(self, key: bytes, entry: bytes) -> bytes | None:
        """The content; None unless `seal` made the entry for this very key."""
        content = entry[1 + _MAC :]
        genuine = compare_digest(entry[: 1 + _MAC], _FORMAT + self._code(key, content))
        return content if genuine else None

    def _code(self, key: bytes, content: bytes) -> bytes:
        code = blake2b(key, digest_size=_MAC, key=self._secret, person=b"entry")
        code.update(content)
        return code.digest()


class Shared:
    """Measurements of items, by way of a store. Owned by one thread; `stats` may be called from any."""

    def __init__(self, store: SharedStore, identity: Identity, shape: Shape) -> None:
        self.shape = shape
        self._store = store
        self._sealed = Sealed(identity)
        self._counts = SharedStats()

    def find(self, items: Sequence[str]) -> dict[str, Measurement]:
        """Those of the items that are in the store, in the items' order. One look-up; blocks as long as
        the store may, and never raises."""
        keys = [self._sealed.key(item) for item in items]
        found: dict[str, Measurement] = {}
        refused = 0
        for item, key, entry in zip(items, keys, self._store.get_many(keys), strict=True):
            if entry is not None and (measurement := self._opened(key, entry)) is not None:
                found[item] = measurement
            elif entry is not None:
                refused += 1
        self._count(len(items), len(found), refused)
        return found

    def keep(self, measurements: Mapping[str, Measurement]) -> None:
        """Hand on; never waits."""
        entries = {}
        for item, measurement in measurements.items():
            key = self._sealed.key(item)
            entry = self._sealed.seal(key, encode(measurement))
            if len(entry) <= _LARGEST:
                entries[key] = entry
        self._store.put_many(entries)

    def stats(self) -> SharedStats:
        return self._counts._replace(store=self._store.stats())

    def close(self) -> None:
        self._store.close()

    def _opened(self, key: bytes, entry: bytes) -> Measurement | None:
        content = self._sealed.open(key, entry) if len(entry) <= _LARGEST else None
        return None if content is None else decode(content, self.shape)

    def _count(self, asked: int, found: int, refused: int) -> None:
        c = self._counts
        self._counts = c._replace(
            hits=c.hits + found, misses=c.misses + asked - found, refused=c.refused + refused
        )
        if refused and not c.refused:
            _log.warning(
                "the shared score cache holds entries that this model did not write; they are ignored",
                extra={"action": "shared_score_refused", "entries": refused},
            )


def share(stored: StoredModel, store: SharedStore) -> Shared:
    """Between the replicas of this release that run this model."""
    parts = stored.fitted.parts
    shapes = [(part.name, part.statistics) for part in parts]
    engine = repr((consumer.__version__, stored.language_model.fingerprint, shapes))
    secret = msgspec.json.encode(stored.manifest, order="deterministic")
    names = stored.fitted.part_names
    tokens_of = names.index(stored.language_model.name) if stored.language_model.name in names else None
    shape = Shape(tuple(len(part.statistics) for part in parts), tokens_of)
    return Shared(store, Identity(stored.version, engine, secret), shape)

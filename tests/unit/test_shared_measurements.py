"""What replicas tell each other: exact, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from consumer.scoring.parts import Measured
from consumer.scoring.shared import Identity, Measurement, Sealed, Shape, Shared, decode, encode, join, split
from consumer.sharing import StoreStats

SHAPE = Shape((4, 1), tokens_of=0)
IDENTITY = Identity("0123456789abcdef", "fp32 256/64", b"the manifest")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NARROW = st.floats(allow_nan=False, allow_infinity=False, width=32)


class Dict:
    """A store that never fails and believes anything."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        return [self.entries.get(key) for key in keys]

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        self.entries.update(entries)

    def stats(self) -> StoreStats:
        return StoreStats(lookups=7)

    def close(self) -> None: ...


def measurement(tokens: int = 3, first: float = 1.5) -> Measurement:
    values = np.array([first, 2.0, 3.0, 4.0, 5.0])
    return Measurement(values, np.array([tokens, 0]), np.arange(tokens) / 4)


def same(a: Measurement | None, b: Measurement) -> bool:
    return a is not None and all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@given(
    hnp.arrays(np.float64, 5, elements=FINITE),
    st.one_of(
        hnp.arrays(np.float64, st.integers(0, 40), elements=FINITE),
        hnp.arrays(np.float64, st.integers(0, 40), elements=NARROW),
    ),
)
def test_what_is_read_is_bit_by_bit_what_was_written(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], nats: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    whole = Measurement(values, np.array([len(nats), 0]), nats)
    assert same(decode(encode(whole), SHAPE), whole)


def test_surprisals_of_single_precision_take_four_bytes_each() -> None:
    assert len(encode(measurement(tokens=100))) == 1 + 8 * 7 + 4 * 100


@given(st.binary(max_size=200))
def test_bytes_from_anywhere_are_a_finite_measurement_or_none(data: bytes) -> None:
    found = decode(data, SHAPE)
    if found is not None:
        assert np.isfinite(found.values).all()
        assert np.isfinite(found.nats).all()
        assert found.lengths[0] == len(found.nats)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(number: float) -> None:
    assert decode(encode(measurement(first=number)), SHAPE) is None
    odd = measurement()
    odd.nats[1] = number
    assert decode(encode(odd), SHAPE) is None


def test_a_measurement_of_another_shape_is_refused() -> None:
    assert decode(encode(measurement()), Shape((4, 2), 0)) is None
    wrong = measurement()._replace(lengths=np.array([2, 0]))
    assert decode(encode(wrong), SHAPE) is None


@given(st.binary(min_size=1, max_size=60), st.data())
def test_an_entry_opens_under_its_own_key_alone_and_unchanged_alone(
    content: bytes, data: st.DataObject
) -> None:
    sealed = Sealed(IDENTITY)
    key, other = sealed.key("a"), sealed.key("b")
    entry = sealed.seal(key, content)
    assert sealed.open(key, entry) == content
    assert sealed.open(other, entry) is None
    at = data.draw(st.integers(0, len(entry) - 1))
    flipped = bytearray(entry)
    flipped[at] ^= data.draw(st.integers(1, 255))
    assert sealed.open(key, bytes(flipped)) is None
    assert sealed.open(key, entry[:at]) is None


@pytest.mark.parametrize(
    "other",
    [
        IDENTITY._replace(version="fedcba9876543210"),
        IDENTITY._replace(engine="bf16 256/64"),
        IDENTITY._replace(secret=b"another manifest"),
    ],
)
def test_another_model_or_engine_or_secret_shares_no_key(other: Identity) -> None:
    assert Sealed(IDENTITY).key("x") != Sealed(other).key("x")


def test_who_lacks_the_model_can_neither_forge_an_entry_nor_find_the_key_of_a_text() -> None:
    """The version is published with each result; the manifest is not."""
    ours, forger = Sealed(IDENTITY), Sealed(IDENTITY._replace(secret=b"a guess"))
    key = ours.key("x")
    assert forger.key("x") != key
    assert ours.open(key, forger.seal(key, encode(measurement()))) is None


def test_items_are_joined_and_split_without_a_change() -> None:
    measured = [
        Measured(np.arange(8.0).reshape(2, 4), np.array([3, 1])),
        Measured(np.array([[9.0], [8.0]]), np.zeros(2, np.int64)),
    ]
    items = join(measured, [np.ones(3), np.ones(1)])
    assert [len(item.nats) for item in items] == [3, 1]
    for before, after in zip(measured, split(SHAPE, items), strict=True):
        assert np.array_equal(before.values, after.values)
        assert np.array_equal(before.lengths, after.lengths)


def test_what_one_replica_keeps_another_finds() -> None:
    store = Dict()
    Shared(store, IDENTITY, SHAPE).keep({"a": measurement(), "\ud800": measurement(2)})
    reader = Shared(store, IDENTITY, SHAPE)
    found = reader.find(["nothing", "\ud800", "a"])
    assert list(found) == ["\ud800", "a"]
    assert same(found["a"], measurement())
    assert (reader.stats().hits, reader.stats().misses, reader.stats().refused) == (2, 1, 0)
    assert reader.stats().store.lookups == 7


def test_spoilt_entries_are_misses_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    store = Dict()
    Shared(store, IDENTITY, SHAPE).keep({name: measurement() for name in "abcd"})
    entries = list(store.entries)
    store.entries |= dict(zip(entries, [b"", b"junk", store.entries[entries[3]]], strict=False))
    reader = Shared(store, IDENTITY, SHAPE)
    assert list(reader.find(["a", "b", "c", "d"])) == ["d"]
    assert reader.find(["a"]) == {}
    assert reader.stats().refused == 4
    assert [record.action for record in caplog.records] == ["shared_score_refused"]  # type: ignore[attr-defined]


def test_an_entry_beyond_the_limit_is_neither_written_nor_read() -> None:
    store = Dict()
    shared = Shared(store, IDENTITY, SHAPE)
    shared.keep({"long": measurement(tokens=20_000)})
    assert store.entries == {}
    shared.keep({"a": measurement()})
    store.entries = {key: value + bytes(70_000) for key, value in store.entries.items()}
    assert shared.find(["a"]) == {}

"""What each fault of Redis does to scores, records and time, one line for each.

    python -m tests.redis.matrix

A replica scores a stream by itself. A second one scores half of it and fills the store. A third one
scores all of it while the fault strikes. Its scores must equal the first one's bit by bit.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from consumer.isolation import Isolating
from consumer.records import Event, Rejection, Score
from consumer.scoring.scorer import ModelScorer
from consumer.scoring.shared import Measurement, Shared, share
from consumer.settings import RedisSection, Scoring
from consumer.stores.redis_store import RedisStore, open_scores
from tests.redis.faults import FAULTS, Fault, Home
from tests.redis.servers import until, valkey
from tests.redis.standin import StoredStandIn, events, fit_standin

BATCHES, RECORDS = 12, 40
_BEFORE = BATCHES // 4
_EXPLAIN_FROM = 1.0


class Outcome(NamedTuple):
    """`added`: seconds that the store cost each micro-batch on the loop's thread."""

    fault: Fault
    records: int
    equal: int
    lost: int
    hits: int
    refused: int
    read_errors: int
    write_errors: int
    added: Sequence[float]
    budget: float

    @property
    def hits_expected(self) -> int:
        """Half of every batch is in the store."""
        return {"all": BATCHES, "before": _BEFORE, "none": 0}[self.fault.hits] * RECORDS // 2


class Timed(Shared):
    """Keeps the time that every micro-batch spent here."""

    added: list[float]

    def find(self, items: Sequence[str]) -> dict[str, Measurement]:
        began = time.monotonic()
        found = super().find(items)
        self.added.append(time.monotonic() - began)
        return found

    def keep(self, measurements: Mapping[str, Measurement]) -> None:
        began = time.monotonic()
        super().keep(measurements)
        self.added[-1] += time.monotonic() - began


class Replica:
    """A scorer with an empty cache of its own, as the pipeline calls it."""

    def __init__(self, stored: StoredStandIn, redis: RedisSection) -> None:
        store = open_scores(redis)
        self.shared = None if store is None else _timed(stored, store)
        scorer = ModelScorer(stored, Scoring(), _EXPLAIN_FROM, self.shared)  # type: ignore[arg-type]
        self._scorer = Isolating(scorer, 20)

    def score(self, batch: Sequence[Event]) -> Sequence[Score | Rejection]:
        pending = self._scorer.submit(batch)
        assert pending.wait(time.monotonic() + 60.0)
        return pending.result()

    def close(self) -> None:
        self._scorer.close()


def _timed(stored: StoredStandIn, store: RedisStore) -> Timed:
    shared = share(stored, store)  # type: ignore[arg-type] # a stand-in
    shared.__class__ = Timed
    assert isinstance(shared, Timed)
    shared.added = []
    return shared


def stream() -> list[list[Event]]:
    return [events(100 + batch, RECORDS) for batch in range(BATCHES)]


def try_out(fault: Fault, stored: StoredStandIn, directory: Path, **changes: float) -> Outcome:
    """With the default settings of [redis] and `changes`. Blocks for some seconds. Raises AssertionError
    when the rig does not do what it should."""
    batches = stream()
    alone = Replica(stored, RedisSection())
    wanted = [alone.score(batch) for batch in batches]
    alone.close()
    with ExitStack() as stack:
        home = Home(stack.enter_context(valkey()), directory, stack)
        _fill(stored, home, batches)
        settings = fault.settings(home, **changes)
        replica = Replica(stored, settings)
        stack.callback(replica.close)
        got = [replica.score(batch) for batch in batches[:_BEFORE]]
        with fault.strike(home.valkey):
            got += [replica.score(batch) for batch in batches[_BEFORE:]]
            return _outcome(fault, replica, settings.budget, _compare(wanted, got))


def _fill(stored: StoredStandIn, home: Home, batches: Sequence[Sequence[Event]]) -> None:
    """Every other record of each batch gets into the store."""
    replica = Replica(
        stored, RedisSection(url=f"redis://127.0.0.1:{home.valkey.port}", budget=5.0, timeout=5.0)
    )
    for number, batch in enumerate(batches, 1):
        replica.score(batch[::2])
        until(lambda number=number: home.valkey.admin.dbsize() == number * RECORDS // 2)  # type: ignore[misc]
    replica.close()


class _Compared(NamedTuple):
    records: int
    equal: int
    lost: int


def _compare(
    wanted: Sequence[Sequence[Score | Rejection]], got: Sequence[Sequence[Score | Rejection]]
) -> _Compared:
    """Exactly, tokens included; a record without its own Score is lost."""
    encode = msgspec.msgpack.encode  # tells -0.0 from 0.0 and shows every bit
    pairs = [pair for rows in zip(wanted, got, strict=True) for pair in zip(*rows, strict=False)]
    records = sum(map(len, wanted))
    scored = sum(isinstance(score, Score) for _, score in pairs)
    return _Compared(records, sum(encode(a) == encode(b) for a, b in pairs), records - scored)


def _outcome(fault: Fault, replica: Replica, budget: float, compared: _Compared) -> Outcome:
    shared = replica.shared
    assert shared is not None
    if fault.trouble == "write":
        until(lambda: shared.stats().store.write_errors > 0)
    stats = shared.stats()
    return Outcome(
        fault, *compared, stats.hits, stats.refused, stats.store.read_errors, stats.store.write_errors,
        shared.added, budget,
    )  # fmt: skip


def line(outcome: Outcome) -> str:
    added = [1_000 * seconds for seconds in outcome.added]
    return (
        f"{outcome.fault.name:<36}{outcome.equal:>5} of {outcome.records}{outcome.lost:>6}{outcome.hits:>7}"
        f"{outcome.refused:>9}{outcome.read_errors:>7}{outcome.write_errors:>8}"
        f"{sum(added) / len(added):>9.1f}{max(added):>9.1f}{1_000 * outcome.budget:>9.0f}"
    )


HEAD = (
    f"{'':<36}{'scores':>12}{'':>22}{'reads':>7}{'writes':>8}{'added per micro-batch, ms':>27}\n"
    f"{'fault':<36}{'equal':>12}{'lost':>6}{'hits':>7}{'refused':>9}{'failed':>7}{'failed':>8}"
    f"{'mean':>9}{'most':>9}{'budget':>9}"
)


def main() -> int:
    logging.getLogger("consumer").setLevel(logging.ERROR)
    stored, bad = fit_standin(), 0
    sys.stdout.write(f"{HEAD}\n")
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as directory:
            outcome = try_out(fault, stored, Path(directory))
        sys.stdout.write(f"{line(outcome)}\n")
        sys.stdout.flush()
        bad += outcome.equal != outcome.records or outcome.lost != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""Thousands of random histories of the loop against the brokers' own truth, under both guarantees.

HISTORY_SEED=n replays one; HISTORIES=n runs more or fewer than the default.
"""

from __future__ import annotations

import os

import pytest

from .world.history import History

_HISTORIES = int(os.environ.get("HISTORIES", "2000"))
_BLOCK = 200
_SEED = os.environ.get("HISTORY_SEED")
_SEEDS = [range(n, min(n + _BLOCK, _HISTORIES)) for n in range(0, _HISTORIES, _BLOCK)]


@pytest.mark.parametrize("seeds", [[int(_SEED)]] if _SEED else _SEEDS, ids=lambda s: f"from-{s[0]}")
def test_no_history_loses_a_record_or_commits_ahead_of_its_output(seeds: range) -> None:
    _live_through(seeds, exactly_once=False)


@pytest.mark.parametrize("seeds", [[int(_SEED)]] if _SEED else _SEEDS, ids=lambda s: f"from-{s[0]}")
def test_no_history_in_transactions_loses_repeats_or_reorders_a_record(seeds: range) -> None:
    _live_through(seeds, exactly_once=True)


def _live_through(seeds: range, *, exactly_once: bool) -> None:
    repeats = 0
    for seed in seeds:
        history = History(seed, exactly_once=exactly_once)
        try:
            history.run()
        except BaseException as error:
            story = f"\n{history.journal.tail()}\n\nreplay with HISTORY_SEED={seed}: {error!r}"
            pytest.fail(story, pytrace=bool(_SEED))
        repeats += history.broker.repeats
    assert repeats or len(seeds) < _BLOCK, "no event came a second time"

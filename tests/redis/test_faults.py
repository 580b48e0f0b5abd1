"""Whatever happens to Redis: the same scores, none lost, and little time."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path

import pytest

from consumer.settings import RedisSection
from tests.redis.faults import FAULTS, Fault
from tests.redis.matrix import RECORDS, Replica, stream, try_out
from tests.redis.servers import until, valkey
from tests.redis.standin import StoredStandIn, events, fit_standin

# Long enough for a busy machine to answer in time, so that what is counted here is exact.
PATIENT = {"budget": 0.5, "timeout": 0.5, "connect_timeout": 0.5}


@pytest.fixture(scope="module")
def stored() -> StoredStandIn:
    return fit_standin()


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_no_score_changes_none_is_lost_and_a_micro_batch_waits_no_longer_than_its_budget(
    fault: Fault, stored: StoredStandIn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    outcome = try_out(fault, stored, tmp_path, **PATIENT)
    assert (outcome.equal, outcome.lost) == (outcome.records, 0)
    assert outcome.hits == outcome.hits_expected
    assert sum(outcome.added) <= outcome.budget * len(outcome.added)
    # Bypassed after the third failure in a row, and told once.
    assert outcome.read_errors == (3 if fault.trouble == "read" else 0)
    assert bool(outcome.refused) == (fault.trouble == "refused")
    told = [r.operation for r in caplog.records if getattr(r, "action", "") == "redis_bypassed"]  # type: ignore[attr-defined]
    assert told.count("read") == (fault.trouble == "read")
    assert "right" not in caplog.text
    assert "wrong" not in caplog.text.replace("WRONGPASS", "")


def test_it_is_used_again_once_it_answers_again(stored: StoredStandIn) -> None:
    batches = stream()
    with ExitStack() as stack:
        server = stack.enter_context(valkey())
        url = f"redis://127.0.0.1:{server.port}"
        settings = RedisSection(url=url, breaker_cool_down=0.01, budget=0.05, timeout=0.05)
        writer, reader = Replica(stored, settings), Replica(stored, settings)
        stack.callback(writer.close)
        stack.callback(reader.close)
        writer.score(batches[0])
        until(lambda: server.admin.dbsize() == RECORDS)
        with server.frozen():
            for batch in batches[1:6]:
                reader.score(batch)
            assert reader.shared is not None
            assert reader.shared.stats().store.reads_bypassed
        fresh = iter(range(1_000, 2_000))

        def back() -> bool:
            assert reader.shared is not None
            reader.score(events(next(fresh), 2))
            return not reader.shared.stats().store.reads_bypassed

        until(back)


def test_every_key_has_the_prefix_and_a_time_to_live_and_shows_no_text(stored: StoredStandIn) -> None:
    with valkey() as server:
        settings = RedisSection(
            url=f"redis://127.0.0.1:{server.port}", key_prefix="here:", ttl=77, budget=5.0
        )
        replica = Replica(stored, settings)
        batch = stream()[0]
        replica.score(batch)
        until(lambda: server.admin.dbsize() == RECORDS)
        replica.close()
        keys = server.admin.keys("*")
        assert all(key.startswith(b"here:0123456789abcdef:") for key in keys)
        assert all(0 < server.admin.ttl(key) <= 77 for key in keys)
        everything = b"".join([*keys, *server.admin.mget(keys)])
        assert not [word for event in batch for word in event.message.split() if word.encode() in everything]


def test_one_command_reads_a_micro_batch_and_only_what_the_process_does_not_remember(
    stored: StoredStandIn,
) -> None:
    batch = stream()[0]
    with valkey() as server:
        replica = Replica(stored, RedisSection(url=f"redis://127.0.0.1:{server.port}", budget=5.0))
        replica.score(batch)
        replica.score(batch)
        until(lambda: server.admin.dbsize() == RECORDS)
        replica.close()
        calls = server.admin.info("commandstats")
        assert calls["cmdstat_mget"]["calls"] == 1
        assert calls["cmdstat_set"]["calls"] == RECORDS
        assert replica.shared is not None
        stats = replica.shared.stats()
        assert (stats.hits, stats.misses, stats.store.lookups) == (0, RECORDS, 1)


def test_a_unix_socket_serves_as_well(stored: StoredStandIn, tmp_path: Path) -> None:
    with valkey(tmp_path / "valkey.sock") as server:
        replica = Replica(stored, RedisSection(url=f"unix://{tmp_path}/valkey.sock", budget=5.0))
        replica.score(stream()[0])
        until(lambda: server.admin.dbsize() == RECORDS)
        replica.close()

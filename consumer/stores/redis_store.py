"""What replicas share, in Redis or Valkey: scores and marks. Advisory: whatever it does costs time only."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from redis.exceptions import ReadOnlyError

from consumer.settings import Dedupe, RedisSection
from consumer.sharing import StoreStats
from consumer.stores.breaker import Breaker
from consumer.stores.lane import Errand, Lane
from consumer.stores.redis_client import make_client
from consumer.stores.waiting import Waiting

_PLACES = 4  # errands that wait at once: more would answer too late for anybody
_AT_ONCE = 1_000  # entries of one write: a look-up behind it does not wait for more
_log = logging.getLogger(__name__)


class Client(Protocol):
    """The calls that are made, all but `cut` by one thread."""

    def read(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """One command. Raises whatever the vendor raises."""
        ...

    def write(self, entries: Mapping[bytes, bytes]) -> int:
        """One pipeline; the number written. Raises when any was refused."""
        ...

    def close(self) -> None:
        """Let the connection go."""
        ...

    def cut(self) -> None:
        """Let it go under a call that does not end, which then raises. Any thread calls; never blocks."""
        ...


class RedisClient:
    """Both calls over redis-py. Every entry has `ttl` seconds to live; with `keep_first` an entry that is
    there is neither replaced nor prolonged."""

    def __init__(self, settings: RedisSection, ttl: int, *, keep_first: bool = False) -> None:
        self._redis = make_client(settings)
        self._prefix = settings.key_prefix.encode()
        self._ttl, self._keep_first = ttl, keep_first

    def read(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        found = self._redis.mget([self._prefix + key for key in keys])
        return [value if isinstance(value, bytes) else None for value in found]

    def write(self, entries: Mapping[bytes, bytes]) -> int:
        pipeline = self._redis.pipeline(transaction=False)
        for key, value in entries.items():
            pipeline.set(self._prefix + key, value, ex=self._ttl, nx=self._keep_first)
        answers = pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, ReadOnlyError):
                # The master that we knew is a replica now: look up the name again.
                self._redis.connection_pool.disconnect()
            if isinstance(answer, Exception):
                raise answer
        return sum(map(bool, answers))

    def close(self) -> None:
        self._redis.close()
        self._redis.connection_pool.disconnect()

    def cut(self) -> None:
        with contextlib.suppress(Exception):  # the connection may be on its way down already
            self._redis.connection_pool.disconnect(inuse_connections=True)


class RedisStore:
    """A SharedStore over a client. Reads wait at most `budget` seconds; writes never wait.

    Reads and writes have a breaker each: a store that is full or read-only still answers. One thread
    calls; `stats` may be called from any. `use`: what it is for, in the log.
    """

    def __init__(
        self,
        settings: RedisSection,
        client: Client,
        use: str,
        budget: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._clock = clock
        self._use = use
        self._budget = budget
        self._reads = Breaker(settings.breaker_failures, settings.breaker_cool_down)
        self._writes = Breaker(settings.breaker_failures, settings.breaker_cool_down)
        self._lane = Lane(f"redis-{use}", _PLACES, client.close)
        self._waiting = Waiting()
        self._read_stats = StoreStats()  # each written by one thread only
        self._write_stats = StoreStats()

    def get_many(self, keys: Sequence[bytes]) -> Sequence[bytes | None]:
        """A value or None for each key. Blocks at most the budget; never raises."""
        began = self._clock()
        if not keys or not self._reads.allows(began):
            return [None] * len(keys)
        errand = Errand(lambda: self._client.read(keys))
        on_its_way = self._lane.offer(errand) and errand.wait(self._budget)
        s, waited = self._read_stats, self._clock() - began
        self._read_stats = s._replace(lookups=s.lookups + 1, wait_seconds=s.wait_seconds + waited)
        why = errand.error if on_its_way else f"no answer within {self._budget} s"
        if why is not None:
            self._read_failed(why)
            return [None] * len(keys)
        if self._reads.succeeded():
            self._tell_back("read")
        return errand.result()

    def put_many(self, entries: Mapping[bytes, bytes]) -> None:
        """Send, or drop when the store is far behind or bypassed. Never waits, never raises."""
        if self._waiting.add(entries) and not self._lane.offer(Errand(self._write_some)):
            self._waiting.nobody_comes()

    def stats(self) -> StoreStats:
        return self._read_stats._replace(
            written=self._write_stats.written,
            write_errors=self._write_stats.write_errors,
            reads_bypassed=self._reads.open,
            writes_bypassed=self._writes.open,
        )

    def close(self) -> None:
        self._lane.close()

    def _write_some(self) -> None:
        """In the lane's thread; what is left then waits behind the look-ups."""
        self._write(self._waiting.take(_AT_ONCE))
        if self._waiting.comes_again() and not self._lane.offer(Errand(self._write_some)):
            self._waiting.nobody_comes()

    def _write(self, entries: Mapping[bytes, bytes]) -> None:
        if not self._writes.allows(self._clock()):
            return
        s = self._write_stats
        try:
            written = self._client.write(entries)
        except Exception as error:  # advisory: whatever went wrong, nobody waits for this
            self._write_stats = s._replace(write_errors=s.write_errors + 1)
            if self._writes.failed(self._clock()):
                self._tell_bypassed("write", error)
            return
        self._write_stats = s._replace(written=s.written + written)
        if self._writes.succeeded():
            self._tell_back("write")

    def _read_failed(self, why: Exception | str) -> None:
        s = self._read_stats
        self._read_stats = s._replace(read_errors=s.read_errors + 1)
        if self._reads.failed(self._clock()):
            self._tell_bypassed("read", why)
        if self._reads.open:
            # Time limits are per piece of an answer: one that comes in pieces for ever has none. It may also
            # be that of a write, which the look-up waited behind.
            self._client.cut()

    def _tell_bypassed(self, operation: str, why: Exception | str) -> None:
        """Once per outage."""
        shown = f"{type(why).__name__}: {why}" if isinstance(why, Exception) else why
        fields = {"use": self._use, "operation": operation, "why": shown[:300]}
        text = "redis fails and is bypassed for now; no record waits for it"
        _log.warning(text, extra={"action": "redis_bypassed", **fields})

    def _tell_back(self, operation: str) -> None:
        fields = {"use": self._use, "operation": operation}
        _log.info("redis answers again", extra={"action": "redis_back", **fields})


def trouble_with(settings: RedisSection) -> str | None:
    """Why Redis does not answer a look-up like ours, in one line; None when it does. Wants redis.url. Blocks
    for `redis.connect_timeout` and `redis.timeout` at most."""
    client = RedisClient(settings, settings.ttl)
    try:
        client.read([b"check"])
    except Exception as error:  # the vendor's, the system's, of TLS: all the same here
        return " ".join(f"{type(error).__name__}: {error}".split())
    finally:
        client.close()
    return None


def open_scores(settings: RedisSection) -> RedisStore | None:
    """The store of scores; None where redis.url is unset. Does not connect."""
    if settings.url is None:
        return None
    return RedisStore(settings, RedisClient(settings, settings.ttl), "scores", settings.budget)


def open_marks(settings: RedisSection, dedupe: Dedupe) -> RedisStore:
    """The store of marks. Wants redis.url. Does not connect."""
    client = RedisClient(settings, dedupe.ttl, keep_first=True)
    return RedisStore(settings, client, "marks", dedupe.budget)

"""What may happen to a Redis, one by one, and what each leaves of its use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

from consumer.settings import RedisSection
from tests.redis.servers import Valkey, black_hole, certificates, drip, forwarding, serving

# A replica's settings; reached for when it starts.
Reach = Callable[["Home"], dict[str, Any]]
Strike = Callable[[Valkey], AbstractContextManager[object]]


class Home(NamedTuple):
    """Where a fault takes place. What it opens is closed with the stack."""

    valkey: Valkey
    directory: Path
    stack: ExitStack


class Fault(NamedTuple):
    """`strike` begins when the replica has scored a quarter. `hits`: how much of what is in the store
    it still gets: all, what it asked for before the strike, or nothing. `trouble`: what counts it."""

    name: str
    hits: Literal["all", "before", "none"]
    trouble: Literal["", "read", "write", "refused"]
    strike: Strike = nullcontext
    reach: Reach = lambda home: {"url": f"redis://127.0.0.1:{home.valkey.port}"}

    def settings(self, home: Home, **changes: Any) -> RedisSection:
        return RedisSection(**{**changes, **self.reach(home)})


def _commands(*commands: str) -> Strike:
    """Sent by the administrator."""

    def strike(valkey: Valkey) -> AbstractContextManager[object]:
        for command in commands:
            valkey.admin.execute_command(*command.split())
        return nullcontext()

    return strike


@contextmanager
def _stopped(valkey: Valkey) -> Iterator[None]:
    valkey.kill()
    yield


@contextmanager
def _poisoned(valkey: Valkey) -> Iterator[None]:
    """Every entry is spoilt, each in one of seven ways."""
    keys = sorted(valkey.admin.keys("*"))
    entries = dict(zip(keys, valkey.admin.mget(keys), strict=True))
    for index, (key, entry) in enumerate(entries.items()):
        other = entries[keys[index - 1]]
        flipped = bytes([*entry[:-1], entry[-1] ^ 1])
        nan = entry[:18] + b"\xff" * 8 + entry[26:]
        ways = (b"", b"{}", b"\x80\x04]q.", entry[:-1], other, flipped, nan)
        valkey.admin.set(key, ways[index % len(ways)])
    yield


def _wrong_kind(valkey: Valkey) -> AbstractContextManager[object]:
    for key in valkey.admin.keys("*"):
        valkey.admin.delete(key)
        valkey.admin.rpush(key, "not a string")
    return nullcontext()


def _user(home: Home, password: str = "right") -> dict[str, Any]:
    """The narrowest user that does."""
    rules = ["on", ">right", "resetkeys", "~anomaly-consumer:*", "-@all", "+mget", "+set"]
    home.valkey.admin.execute_command("ACL", "SETUSER", "scorer", *rules)
    return {"url": f"redis://127.0.0.1:{home.valkey.port}/0", "username": "scorer", "password": password}


def _tls(home: Home, *, trusted: bool = True) -> dict[str, Any]:
    """Valkey behind a TLS end that asks for the client's certificate."""
    ours = certificates(home.directory / "ours")
    context = ours.server_context()
    port = home.stack.enter_context(serving(forwarding(home.valkey.port), context))
    authority = ours.authority if trusted else certificates(home.directory / "others").authority
    return {
        "url": f"rediss://localhost:{port}/0",
        "ssl_ca_location": str(authority),
        "ssl_certificate_location": str(ours.certificate),
        "ssl_key_location": str(ours.key),
        "connect_timeout": 2.0,  # a handshake takes its time on a busy machine
        "timeout": 2.0,
        "budget": 2.0,
    }


def _hole(home: Home) -> dict[str, Any]:
    return {"url": f"redis://127.0.0.1:{home.stack.enter_context(black_hole())}"}


def _drip(home: Home) -> dict[str, Any]:
    return {"url": f"redis://127.0.0.1:{home.stack.enter_context(serving(drip))}"}


def _refusing(home: Home) -> dict[str, Any]:
    with black_hole() as port:
        return {"url": f"redis://127.0.0.1:{port}"}  # closed again: nobody listens there


FAULTS = (
    Fault("none", "all", ""),
    Fault("ACL user", "all", "", reach=_user),
    Fault("TLS, both sides certified", "all", "", reach=_tls),
    Fault("refuses connections", "none", "read", reach=_refusing),
    Fault("killed", "before", "read", _stopped),
    Fault("black hole: accepts, never answers", "none", "read", reach=_hole),
    Fault("frozen (SIGSTOP)", "before", "read", Valkey.frozen),
    Fault("answers byte by byte, for ever", "none", "read", reach=_drip),
    Fault("slow (CLIENT PAUSE)", "before", "read", _commands("CLIENT PAUSE 60000 ALL")),
    Fault("full (maxmemory, noeviction)", "all", "write", _commands("CONFIG SET maxmemory 1")),
    Fault(
        "evicts everything",
        "before",
        "write",
        _commands("CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory 1"),
    ),
    Fault("read-only replica", "all", "write", _commands("REPLICAOF 127.0.0.1 1")),
    Fault("loading", "before", "read", Valkey.loading),
    Fault("flushed", "before", "", _commands("FLUSHALL")),
    Fault("poisoned entries", "before", "refused", _poisoned),
    Fault("entries of another kind", "before", "", _wrong_kind),
    Fault("wrong password", "none", "read", reach=lambda home: _user(home, "wrong")),
    Fault(
        "user switched off",
        "before",
        "read",
        _commands("ACL SETUSER scorer off", "CLIENT KILL USER scorer"),
        _user,
    ),
    Fault("TLS, unknown authority", "none", "read", reach=lambda home: _tls(home, trusted=False)),
)

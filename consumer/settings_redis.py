"""Rules between the keys of [redis]."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from consumer.settings import RedisSection

_TLS = ("ssl_ca_location", "ssl_certificate_location", "ssl_key_location")

# The key to change, the keys that the rule hangs on, what is wrong and how to mend it.
Broken = tuple[str, tuple[str, ...], str]


def redis_rules(redis: RedisSection) -> Iterator[Broken]:
    """Every rule that does not hold."""
    if redis.url is not None and (what := _wrong_with(redis.url)):
        yield "redis.url", (), what
    yield from _users(redis)
    yield from _certificates(redis)


def _wrong_with(url: str) -> str | None:
    """Why a URL cannot be used. What it may hold beside the address would hide a setting of ours."""
    example = "write for example rediss://cache:6379/0"
    try:
        parts = urlsplit(url)
        has_address = bool(parts.path if parts.scheme == "unix" else parts.hostname and parts.port != 0)
    except ValueError:
        return f"is no URL; {example}"
    if parts.scheme not in {"redis", "rediss", "unix"} or not has_address:
        return f"is not redis://, rediss:// or unix:// with an address; {example}"
    if "@" in parts.netloc or parts.query or parts.fragment:
        return "must be an address only; give redis.username, redis.password_file and the other keys"
    if parts.scheme != "unix" and not (parts.path in {"", "/"} or parts.path[1:].isdecimal()):
        return f"has a path that is no database number; {example}"
    return None


def _users(redis: RedisSection) -> Iterator[Broken]:
    if redis.username is not None and redis.password is None:
        what = "must be set with redis.username; give CONSUMER_REDIS_PASSWORD_FILE"
        yield "redis.password", ("redis.username",), what
    if redis.url is None and redis.password is not None:
        yield "redis.password", ("redis.url",), "is not used while redis.url is unset; give redis.url"


def _certificates(redis: RedisSection) -> Iterator[Broken]:
    with_tls = redis.url is not None and redis.url.startswith("rediss://")
    for key in _TLS:
        if not with_tls and getattr(redis, key) is not None:
            yield f"redis.{key}", ("redis.url",), "is used with a rediss:// URL only; use one in redis.url"
    for key, other in (_TLS[1:], _TLS[:0:-1]):
        if getattr(redis, key) is None and getattr(redis, other) is not None:
            what = f"must be set with redis.{other}; a client certificate needs its key"
            yield f"redis.{key}", (f"redis.{other}",), what

"""A redis-py client with every time limit of ours set, since its own defaults add up to minutes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from consumer.settings import RedisSection


def make_client(settings: RedisSection) -> Redis:
    """Connects with the first command, not here. No command is tried twice: the breaker decides what
    happens after a failure."""
    assert settings.url is not None
    return Redis.from_url(
        settings.url,
        username=settings.username,
        password=settings.password,
        socket_timeout=settings.timeout,
        socket_connect_timeout=settings.connect_timeout,
        retry=Retry(NoBackoff(), 0),
        protocol=2,  # nothing is pushed to us, and no extra command is sent on connecting
        max_connections=1,
        **_tls(settings),
    )


def _tls(settings: RedisSection) -> dict[str, Any]:
    """The certificate and the host name are always checked."""
    if urlsplit(settings.url or "").scheme != "rediss":
        return {}
    return {
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": True,
        "ssl_ca_certs": settings.ssl_ca_location,
        "ssl_certfile": settings.ssl_certificate_location,
        "ssl_keyfile": settings.ssl_key_location,
    }

"""What no single value can show: rules between keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from consumer.masking import shown
from consumer.settings import Settings
from consumer.settings_keys import KEYS
from consumer.settings_redis import redis_rules


class _Broken(NamedTuple):
    """A rule that does not hold: the key to change, the others it hangs on, what and how to mend it."""

    key: str
    others: tuple[str, ...]
    what: str


def broken_rules(settings: Settings, origins: Mapping[str, str], troubled: Set[str]) -> dict[str, str]:
    """A line for each key that breaks a rule. Rules that touch an already refused value are left out."""
    lines: dict[str, str] = {}
    for rule in _RULES:
        for broken in rule(settings):
            if troubled.isdisjoint((broken.key, *broken.others)):
                value = f"{broken.key} = {_value(settings, broken.key)}"
                lines.setdefault(broken.key, f"{value} ({origins.get(broken.key, 'default')}): {broken.what}")
    return lines


def _get(settings: Settings, name: str) -> Any:
    return getattr(getattr(settings, KEYS[name].section), KEYS[name].field)


def _value(settings: Settings, name: str) -> str:
    value = _get(settings, name)
    return "unset" if value is None else shown(value, secret=KEYS[name].secret)


# (key, the key that it must stay below, whether it may be equal, why)
_ORDER = (
    ("kafka.session_timeout", "kafka.max_poll_interval", True, "the client demands it"),
    ("delivery.timeout", "kafka.max_poll_interval", False, "a send must fail before the group gives us up"),
    ("delivery.revoke_budget", "kafka.max_poll_interval", False, "no poll happens while work is finished"),
    ("delivery.revoke_budget", "health.stall_after", False, "a slow revoke must not look dead"),
    ("transaction.max_time", "transaction.timeout", False, "the brokers would abort it first"),
    ("batch.idle_wait", "batch.max_wait", True, "an idle device waits no longer than a busy one"),
)


def _orders(settings: Settings) -> Iterator[_Broken]:
    for low, high, may_equal, why in _ORDER:
        lower, upper = _get(settings, low), _get(settings, high)
        if lower > upper or (lower == upper and not may_equal):
            sign = "at most" if may_equal else "below"
            yield _Broken(low, (high,), f"must be {sign} {high} = {upper!r}, since {why}; change one of them")


def _topics(settings: Settings) -> Iterator[_Broken]:
    why = {
        ("output.topic", "input.topic"): "results would be scored again, for ever",
        ("dead_letter.topic", "input.topic"): "dead letters would be read again, for ever",
        ("dead_letter.topic", "output.topic"): "subscribers expect results only",
    }
    for (key, other), reason in why.items():
        if _get(settings, key) == _get(settings, other):
            yield _Broken(key, (other,), f"must differ from {other}: {reason}; name another topic")


def _brokers(settings: Settings) -> Iterator[_Broken]:
    for address in settings.kafka.bootstrap_servers.split(","):
        if split_address(address) is None:
            what = f"{shown(address.strip())} is not host:port; write for example broker-1:9092,broker-2:9092"
            yield _Broken("kafka.bootstrap_servers", (), what)


def split_address(address: str) -> tuple[str, int] | None:
    """`host:port` or `[v6]:port` → host and port; None when it is neither."""
    host, _, port = address.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    valid = host and not {*" /@"} & {*host} and port.isascii() and port.isdigit() and 0 < int(port) < 65_536
    return (host, int(port)) if valid else None


def _sasl(settings: Settings) -> Iterator[_Broken]:
    kafka = settings.kafka
    protocol = "kafka.security_protocol"
    if kafka.security_protocol == "sasl_plaintext" and not kafka.allow_plaintext_credentials:
        what = "would send credentials unencrypted; use sasl_ssl, or allow it on a laptop"
        yield _Broken(protocol, ("kafka.allow_plaintext_credentials",), what)
    if not kafka.security_protocol.startswith("sasl"):
        for key in ("kafka.sasl_mechanism", "kafka.sasl_username", "kafka.sasl_password"):
            if _get(settings, key) is not None:
                yield _Broken(
                    key,
                    (protocol,),
                    f"is not used with {protocol} = {kafka.security_protocol!r}; use sasl_ssl",
                )
    elif kafka.sasl_mechanism is None:
        yield _Broken(
            "kafka.sasl_mechanism", (protocol,), "must be set with a sasl protocol; SCRAM-SHA-512 is usual"
        )


def _credentials(settings: Settings) -> Iterator[_Broken]:
    needed = {
        None: (),
        "OAUTHBEARER": ("kafka.oauth_token_url", "kafka.oauth_client_id", "kafka.oauth_client_secret"),
    }.get(settings.kafka.sasl_mechanism, ("kafka.sasl_username", "kafka.sasl_password"))
    for key in needed:
        if _get(settings, key) is None:
            with_mechanism = f"with kafka.sasl_mechanism = {settings.kafka.sasl_mechanism!r}"
            what = f"must be set {with_mechanism}; give {KEYS[key].variable}"
            yield _Broken(key, ("kafka.sasl_mechanism",), what)
    url = settings.kafka.oauth_token_url
    if url is not None and not url.startswith("https://") and not settings.kafka.allow_plaintext_credentials:
        what = "would send the client secret unencrypted; use an https URL"
        yield _Broken("kafka.oauth_token_url", ("kafka.allow_plaintext_credentials",), what)


def _tls(settings: Settings) -> Iterator[_Broken]:
    kafka = settings.kafka
    protocol = "kafka.security_protocol"
    with_tls = kafka.security_protocol in {"ssl", "sasl_ssl"}
    if with_tls and kafka.ssl_ca_location is None:
        what = "must be set with TLS; public authorities are often in /etc/ssl/certs/ca-certificates.crt"
        yield _Broken("kafka.ssl_ca_location", (protocol,), what)
    for key in ("kafka.ssl_ca_location", "kafka.ssl_certificate_location", "kafka.ssl_key_location"):
        if not with_tls and _get(settings, key) is not None:
            yield _Broken(
                key,
                (protocol,),
                f"is not used with {protocol} = {kafka.security_protocol!r}; use ssl or sasl_ssl",
            )
    pair = ("kafka.ssl_certificate_location", "kafka.ssl_key_location")
    for key, other in (pair, pair[::-1]):
        if _get(settings, key) is None and _get(settings, other) is not None:
            yield _Broken(key, (other,), f"must be set with {other}; a client certificate needs its key")


def _redis(settings: Settings) -> Iterator[_Broken]:
    yield from (_Broken(*broken) for broken in redis_rules(settings.redis))


def _own_scorer(settings: Settings) -> Iterator[_Broken]:
    unused = settings.redis.url is not None and not settings.dedupe.enabled
    if settings.scoring.factory is not None and unused:
        what = "serves only dedupe.enabled with scoring.factory: scores are shared of fitted models"
        yield _Broken("redis.url", ("scoring.factory", "dedupe.enabled"), f"{what}; unset one")


def _dedupe(settings: Settings) -> Iterator[_Broken]:
    if settings.dedupe.enabled and settings.redis.url is None:
        what = "needs a place for what is remembered; give redis.url"
        yield _Broken("dedupe.enabled", ("redis.url",), what)


_RULES: tuple[Callable[[Settings], Iterator[_Broken]], ...] = (
    _orders,
    _topics,
    _brokers,
    _sasl,
    _credentials,
    _tls,
    _redis,
    _own_scorer,
    _dedupe,
)

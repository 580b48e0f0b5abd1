"""librdkafka configurations from Settings: the baseline, the user's free maps, the connection."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer

from consumer.errors import Misconfigured
from consumer.loading import redacted
from consumer.masking import MASK, is_secret, shown
from consumer.settings import Kafka, Settings

Config: TypeAlias = dict[str, Any]
Client = TypeVar("Client")

FRAMING_BYTES = 4_096
"""What the protocol may add to a record of `output.max_bytes`: batch and record headers, lengths."""

_LARGEST_BATCH = 1_000_000  # librdkafka's own default of batch.size
_SMALLEST_QUEUE_KBYTES = 65_536

# Why a configuration is refused, and why an entry of it is ignored; None: it is not.
_Verdict: TypeAlias = tuple[str | None, str | None]
_Attempt: TypeAlias = Callable[[Config], _Verdict]


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def connection(kafka: Kafka) -> Config:
    """Where the brokers are and how to prove who we are. Certificates and host names are verified."""
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "client.id": kafka.client_id,
        "security.protocol": kafka.security_protocol,
        "ssl.endpoint.identification.algorithm": "https",
        "enable.ssl.certificate.verification": True,
        "sasl.mechanism": kafka.sasl_mechanism,
        "sasl.username": kafka.sasl_username,
        "sasl.password": kafka.sasl_password,
        "ssl.ca.location": kafka.ssl_ca_location,
        "ssl.certificate.location": kafka.ssl_certificate_location,
        "ssl.key.location": kafka.ssl_key_location,
        "ssl.key.password": kafka.ssl_key_password,
    }
    if kafka.sasl_mechanism == "OAUTHBEARER":
        config |= _oauth(kafka)
    return {name: value for name, value in config.items() if value is not None}


def _oauth(kafka: Kafka) -> Config:
    return {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": kafka.oauth_token_url,
        "sasl.oauthbearer.client.id": kafka.oauth_client_id,
        "sasl.oauthbearer.client.secret": kafka.oauth_client_secret,
        "sasl.oauthbearer.scope": kafka.oauth_scope,
        "https.ca.location": kafka.oauth_ca_location or _system_authorities(),
    }


# Where Debian and Alpine, Red Hat, SUSE and the BSDs keep the public authorities.
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def _system_authorities() -> str | None:
    """Left to itself the client looks in one place only, whatever the system, and asks no token server."""
    places = (ssl.get_default_verify_paths().cafile, *_BUNDLES)
    return next((place for place in places if place is not None and os.path.exists(place)), None)


def _group(kafka: Kafka) -> Config:
    config: Config = {
        "group.id": kafka.group_id,
        "max.poll.interval.ms": _milliseconds(kafka.max_poll_interval),
    }
    if kafka.group_instance_id is not None:
        config["group.instance.id"] = kafka.group_instance_id
    if kafka.assignor == "consumer":
        # The session is the broker's affair here; naming it is refused by the client.
        return config | {"group.protocol": "consumer"}
    return config | {
        "partition.assignment.strategy": kafka.assignor,
        "session.timeout.ms": _milliseconds(kafka.session_timeout),
    }


# What the user may override through [kafka.consumer].
_CONSUMER_TUNING: Config = {
    "queued.max.messages.kbytes": 32_768,  # the bound on prefetched bytes: this is our back-pressure
    "queued.min.messages": 20_000,  # the other one: for keys and headers, which the first does not count
    "fetch.queue.backoff.ms": 50,  # the default of 1 s leaves gaps when the bound is small
    "fetch.wait.max.ms": 100,
    # The bound is looked at before a fetch, and what comes is decompressed at once: small fetches.
    "fetch.max.bytes": 4_194_304,
    "max.partition.fetch.bytes": 524_288,
    "check.crcs": True,
}

# What keeps the contract; settings_refused.py gives the reasons to whoever tries to change them.
_CONSUMER_CONTRACT: Config = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
}

_PRODUCER_TUNING: Config = {
    "linger.ms": 5,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 100_000,
}

_PRODUCER_CONTRACT: Config = {
    "enable.idempotence": True,
    "acks": "all",
    "partitioner": "murmur2_random",
    "allow.auto.create.topics": False,
}


def consumer_config(settings: Settings) -> Config:
    """For the group consumer: no automatic commit, store or reset; bounded prefetch."""
    kafka = settings.kafka
    return _CONSUMER_TUNING | kafka.consumer | connection(kafka) | _group(kafka) | _CONSUMER_CONTRACT


def producer_config(settings: Settings) -> Config:
    """For results and dead letters: idempotent, acknowledged by all, bounded queue.

    A batch is never larger than one record may be, so topics whose max.message.bytes admits
    `output.max_bytes` + FRAMING_BYTES admit every request.
    """
    largest = settings.output.max_bytes + FRAMING_BYTES
    tuning = _PRODUCER_TUNING | {
        "batch.size": min(_LARGEST_BATCH, largest),
        "queue.buffering.max.kbytes": max(_SMALLEST_QUEUE_KBYTES, 4 * largest // 1024),
    }
    bounds = {
        "message.max.bytes": largest,
        "message.timeout.ms": _milliseconds(settings.delivery.timeout),
    }
    return tuning | settings.kafka.producer | connection(settings.kafka) | bounds | _PRODUCER_CONTRACT


def transactional_config(settings: Settings, transactional_id: str) -> Config:
    """The same in transactions. A result that is not acknowledged while its transaction may be open is
    of no use, so that bounds its time, too."""
    longest = min(settings.delivery.timeout, settings.transaction.timeout)
    return producer_config(settings) | {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": _milliseconds(settings.transaction.timeout),
        "message.timeout.ms": _milliseconds(longest),
    }


def admin_config(settings: Settings) -> Config:
    """For inspection only: it creates nothing."""
    return connection(settings.kafka) | {"allow.auto.create.topics": False}


def make_client(factory: Callable[..., Client], config: Config, settings: Settings, **options: Any) -> Client:
    """`factory(config, **options)`; raises Misconfigured with the client's reason, secrets masked.

    The cause is dropped on purpose: it repeats the values it was given, and a traceback would show it.
    """
    try:
        return factory(config, **options)
    except (KafkaException, TypeError, ValueError) as error:
        why = _reason(error, config)
    fix = next((fix for key, fix in _UNUSABLE.items() if key in why), "")
    raise Misconfigured([f"kafka: the client refuses its configuration: {redacted(why, settings)}{fix}"])


# What the client finds wrong with files, by its own names for them, and which of our settings to look at.
_UNUSABLE = {
    "ssl.key.location": (
        "; check kafka.ssl_key_location, that kafka.ssl_key_password_file holds its password, and that it is "
        "the key of kafka.ssl_certificate_location"
    ),
    "ssl.certificate.location": "; check that kafka.ssl_certificate_location is a certificate in PEM",
    "ssl.ca.location": "; check that kafka.ssl_ca_location holds certificates in PEM",
}


def _reason(error: Exception, config: Mapping[str, object]) -> str:
    """One line of the client's reason, with the value of every secret key masked."""
    first = error.args[0] if error.args else error
    text = " ".join(str(first.str() if hasattr(first, "str") else first).split())
    for name, value in config.items():
        if is_secret(name) and isinstance(value, str) and value:
            text = text.replace(value, MASK)
    return text


class _Heard(logging.Handler):
    """Keeps what a client logs instead of writing it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def quiet_logger() -> tuple[logging.Logger, list[str]]:
    """A logger of its own for one client, and the list that its lines go to."""
    heard = _Heard()
    logger = logging.Logger("consumer.kafka.inspection")
    logger.addHandler(heard)
    return logger, heard.lines


def refused_configuration(settings: Settings) -> list[str]:
    """One line for each entry of the free maps, or else the whole, that the client does not accept.

    Asks the client itself, without brokers: it reports a bad value as an error, but a producer's key
    given to a consumer only as a log line.
    """
    kafka = settings.kafka
    return [
        *_refused("kafka.consumer", kafka.consumer, consumer_config(settings), _try_consumer),
        *_refused("kafka.producer", kafka.producer, producer_config(settings), _try_producer),
    ]


def _refused(table: str, entries: Mapping[str, str], whole: Config, attempt: _Attempt) -> list[str]:
    error, _ = attempt({name: value for name, value in whole.items() if name != "bootstrap.servers"})
    found = []
    for name, value in entries.items():
        alone, ignored = attempt({"group.id": "inspection", name: value})
        # An entry that is refused alone may be right beside the others (fetch sizes are compared).
        if why := ignored or (error and alone):
            found.append(
                f"{table}.{name} = {shown(value, secret=is_secret(name))}: {why}; correct or remove it"
            )
    return found or ([f"{table}: the client refuses its configuration: {error}"] if error else [])


def _try_consumer(config: Config) -> _Verdict:
    def attempt(logger: logging.Logger) -> None:
        client = Consumer(config, logger=logger)
        client.poll(0)
        client.close()

    return _try(attempt, config)


def _try_producer(config: Config) -> _Verdict:
    without_group = {name: value for name, value in config.items() if name != "group.id"}

    def attempt(logger: logging.Logger) -> None:
        Producer(without_group, logger=logger).poll(0)

    return _try(attempt, config)


def _try(attempt: Callable[[logging.Logger], None], config: Config) -> _Verdict:
    logger, lines = quiet_logger()
    try:
        attempt(logger)
    except (KafkaException, TypeError, ValueError) as error:
        return _reason(error, config), None
    ignored = (line.partition("Configuration property ")[2] for line in lines if "will be ignored" in line)
    return None, next(ignored, None)

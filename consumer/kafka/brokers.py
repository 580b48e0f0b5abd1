"""Whether every bootstrap address answers, why not, and whether the addresses behind it do."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from consumer.kafka.config import admin_config, make_client, quiet_logger
from consumer.loading import redacted
from consumer.masking import shown
from consumer.settings import Settings

_MOST_ADDRESSES = 16  # looked at; a longer list is not a list of bootstrap brokers
_SLICE = 1.0  # seconds after which a reported failure ends the wait for an address


class Answer(NamedTuple):
    """One bootstrap address: the metadata of its whole cluster, or why there is none."""

    address: str
    metadata: Any
    why: str = ""


def admin_client(settings: Settings, address: str, **options: Any) -> AdminClient:
    """A silent client for one address. Raises Misconfigured when it refuses its configuration."""
    logger, _ = quiet_logger()
    config = admin_config(settings) | {"bootstrap.servers": address} | options
    return make_client(AdminClient, config, settings, logger=logger)


def ask_all(settings: Settings, timeout: float) -> list[Answer]:
    """Every address by a client of its own: a shared one stops at the first broker that answers.

    Blocks for up to `timeout` seconds in all.
    """
    addresses = [part.strip() for part in settings.kafka.bootstrap_servers.split(",")][:_MOST_ADDRESSES]
    with ThreadPoolExecutor(len(addresses)) as pool:
        return list(pool.map(lambda address: _ask(settings, address, timeout), addresses))


def _ask(settings: Settings, address: str, timeout: float) -> Answer:
    """Metadata of all topics. The call alone would sit out its timeout on a refused connection."""
    reasons: list[KafkaError] = []
    client = admin_client(settings, address, error_cb=reasons.append)
    slices = max(1, round(timeout / _SLICE))
    for left in reversed(range(slices)):
        try:
            return Answer(address, client.list_topics(timeout=timeout / slices))
        except KafkaException as error:
            client.poll(0)  # runs error_cb, which has the reason: the exception says only "timed out"
            if reasons or not left:
                return Answer(address, None, redacted(_telling(reasons, error), settings))
    raise AssertionError("the last slice returns")


# The more specific a code, the more it tells; the client reports several in one attempt.
_TELLING = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE, KafkaError._TRANSPORT)


def _telling(reasons: Sequence[KafkaError], error: KafkaException) -> str:
    """The most telling reason in one line, without the address and the time that the client adds."""
    for code in _TELLING:
        for reason in reasons:
            if reason.code() == code:
                text = " ".join(reason.str().split())
                return text.partition("/bootstrap: ")[2].partition(" (after ")[0] or text
    return str(error.args[0].str())


def not_reached(answer: Answer) -> str:
    """The line for an address that does not answer, with the fix that its reason suggests."""
    why = answer.why.lower()
    fix = "start the broker there or correct the address"
    if "oauthbearer" in why:
        fix = "check kafka.oauth_token_url, oauth_client_id and oauth_client_secret_file"
    elif "authenticat" in why or "sasl" in why:
        fix = "check kafka.security_protocol, sasl_mechanism, sasl_username and sasl_password_file"
    elif "ssl" in why or "certificate" in why:
        fix = "check kafka.security_protocol and kafka.ssl_ca_location"
    elif "disconnected" in why:
        fix = "the broker may expect another kafka.security_protocol"
    return f"kafka.bootstrap_servers = {shown(answer.address)}: cannot be reached: {answer.why}; {fix}"


def advertised(answer: Answer, timeout: float) -> list[str]:
    """A line for each broker whose advertised address takes no connection; blocks up to `timeout`.

    A bootstrap address may work while the advertised ones, which all work goes to, do not.
    """
    brokers = list(answer.metadata.brokers.values())[:_MOST_ADDRESSES]
    with ThreadPoolExecutor(max(1, len(brokers))) as pool:
        reasons = list(pool.map(lambda broker: _refusal(broker.host, broker.port, timeout), brokers))
    return [
        f"kafka.bootstrap_servers = {shown(answer.address)}: broker {broker.id} advertises "
        f"{broker.host}:{broker.port}, which cannot be reached from here: {why}; "
        "correct that broker's advertised.listeners"
        for broker, why in zip(brokers, reasons, strict=True)
        if why
    ]


def _refusal(host: str, port: int, timeout: float) -> str | None:
    """Why no TCP connection can be made, or None when one can."""
    try:
        socket.create_connection((host, port), timeout).close()
    except OSError as error:
        return error.strerror or str(error)
    return None

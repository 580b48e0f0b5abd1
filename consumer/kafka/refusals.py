"""Why a broker turns us away, or we it: which setting of the connection is wrong."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping

from consumer.kafka.brokers import Answer, not_reached
from consumer.masking import shown
from consumer.settings import Kafka
from consumer.settings_rules import split_address

# The first pattern that the client's reason matches counts: what to look at.
_FIXES: Mapping[str, str] = {
    r"unsupported sasl mechanism": "check kafka.sasl_mechanism",
    r"oauthbearer token: .*(trust anchors|certificate|ssl)": (
        "check kafka.oauth_ca_location and the host name in kafka.oauth_token_url"
    ),
    r"oauthbearer token: .*unexpired": (
        "the token server gives tokens that are out of date: check the clocks of both machines"
    ),
    r"invalid_token": (
        "the brokers refuse the token: check kafka.oauth_scope, and the issuer and audience they expect"
    ),
    r"alert .*(certificate|unknown ca)": (
        "the broker wants a client certificate that it trusts and that is in date: check "
        "kafka.ssl_certificate_location and kafka.ssl_key_location"
    ),
    r"plaintext broker listener": "the broker speaks without TLS there: check kafka.security_protocol",
}
# The same for what this machine finds wrong with a broker's certificate.
_CERTIFICATE_FIXES: Mapping[str, str] = {
    r"mismatch": "write the address as the broker's certificate names it",
    r"expired|not yet valid": "renew the broker's certificate, or correct this machine's clock",
    r"": "check kafka.ssl_ca_location",
}


def explained(answer: Answer, kafka: Kafka, timeout: float) -> str:
    """The line for an address that does not answer. Blocks for up to `timeout` seconds, where the client
    does not tell what is wrong with the broker's certificate."""
    if "certificate verify failed" in answer.why:
        why = _verdict(answer.address, kafka.ssl_ca_location, timeout) or answer.why
        return _line(answer, f"SSL handshake failed: {why}", _fix(_CERTIFICATE_FIXES, why))
    if fix := _fix(_FIXES, answer.why):
        return _line(answer, answer.why, fix)
    if re.search("transport failure|timed out", answer.why, re.IGNORECASE) and _listens(
        answer.address, timeout
    ):
        what = "it takes connections, but does not answer them"
        return _line(answer, what, "the broker may expect another kafka.security_protocol")
    return not_reached(answer)


def _line(answer: Answer, why: str, fix: str) -> str:
    return f"kafka.bootstrap_servers = {shown(answer.address)}: cannot be reached: {why}; {fix}"


def _fix(fixes: Mapping[str, str], why: str) -> str:
    return next((fix for pattern, fix in fixes.items() if re.search(pattern, why, re.IGNORECASE)), "")


def _verdict(address: str, authorities: str | None, timeout: float) -> str:
    """What this machine finds wrong with the certificate there; empty when it cannot be asked. The client
    finds the same, but says of every certificate that its authority may be unknown."""
    where = split_address(address)
    try:
        context = ssl.create_default_context(cafile=authorities)
        with (
            socket.create_connection(where or ("", 0), timeout) as plain,
            context.wrap_socket(plain, server_hostname=where[0] if where else None),
        ):
            return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message.rstrip(".")
    except (OSError, ValueError):
        return ""


def _listens(address: str, timeout: float) -> bool:
    try:
        socket.create_connection(split_address(address) or ("", 0), timeout).close()
    except OSError:
        return False
    return True

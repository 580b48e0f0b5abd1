"""librdkafka keys that the free maps do not pass through, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from consumer.masking import is_secret

_CONTRACT = "would break the delivery contract"

# librdkafka keys that are not passed through, each with its reason and what to use instead.
REFUSED: Mapping[str, str] = {
    "enable.auto.commit": f"{_CONTRACT}: offsets are committed only after their results are written",
    "auto.commit.enable": f"{_CONTRACT}: offsets are committed only after their results are written",
    "auto.commit.interval.ms": "there is no automatic commit; use commit.interval",
    "enable.auto.offset.store": f"{_CONTRACT}: offsets are kept by the consumer itself",
    "offset.store.method": f"{_CONTRACT}: offsets live in the group on the brokers",
    "auto.offset.reset": f"{_CONTRACT}: it would skip records silently; use input.start",
    "isolation.level": f"{_CONTRACT}: records of aborted transactions would be scored",
    "enable.partition.eof": f"{_CONTRACT}: the end of a partition moves its finished offset",
    "allow.auto.create.topics": "no topic is ever created by the consumer; create it on purpose",
    "partition.assignment.strategy": "use kafka.assignor",
    "group.protocol": "use kafka.assignor = 'consumer'",
    "enable.idempotence": f"{_CONTRACT}: a retried send could be duplicated or reordered",
    "acks": f"{_CONTRACT}: a result counts as written when all in-sync replicas have it",
    "request.required.acks": f"{_CONTRACT}: a result counts as written when all in-sync replicas have it",
    "max.in.flight": f"{_CONTRACT}: it belongs to the idempotent producer, which keeps order",
    "max.in.flight.requests.per.connection": (
        f"{_CONTRACT}: it belongs to the idempotent producer, which keeps order"
    ),
    "queuing.strategy": f"{_CONTRACT}: results would lose their order",
    "enable.gapless.guarantee": f"{_CONTRACT}: a failed send is repeated from memory, not fatal",
    "delivery.report.only.error": f"{_CONTRACT}: successes must be reported before offsets are committed",
    "partitioner": f"{_CONTRACT}: keyed results follow murmur2, keyless ones their input partition",
    "transactional.id": "it is made of kafka.group_id, kafka.client_id and kafka.group_instance_id",
    "transaction.timeout.ms": "use transaction.timeout",
    "message.timeout.ms": "use delivery.timeout",
    "delivery.timeout.ms": "use delivery.timeout",
    "message.max.bytes": "use output.max_bytes",
    "ssl.endpoint.identification.algorithm": "the brokers' host names are always verified",
    "enable.ssl.certificate.verification": (
        "the brokers' certificates are always verified; trust a private authority by kafka.ssl_ca_location"
    ),
    "bootstrap.servers": "use kafka.bootstrap_servers",
    "metadata.broker.list": "use kafka.bootstrap_servers",
    "group.id": "use kafka.group_id",
    "group.instance.id": "use kafka.group_instance_id",
    "client.id": "use kafka.client_id",
    "max.poll.interval.ms": "use kafka.max_poll_interval",
    "session.timeout.ms": "use kafka.session_timeout",
    "security.protocol": "use kafka.security_protocol",
    "sasl.mechanism": "use kafka.sasl_mechanism",
    "sasl.mechanisms": "use kafka.sasl_mechanism",
    "sasl.username": "use kafka.sasl_username",
    "sasl.password": "use kafka.sasl_password_file",
    "sasl.oauthbearer.client.id": "use kafka.oauth_client_id",
    "sasl.oauthbearer.client.secret": "use kafka.oauth_client_secret_file",
    "sasl.oauthbearer.token.endpoint.url": "use kafka.oauth_token_url",
    "sasl.oauthbearer.client.credentials.client.id": "use kafka.oauth_client_id",
    "sasl.oauthbearer.scope": "use kafka.oauth_scope",
    "sasl.oauthbearer.method": "it is always oidc; use kafka.sasl_mechanism = 'OAUTHBEARER'",
    "https.ca.location": "use kafka.oauth_ca_location",
    "ssl.ca.location": "use kafka.ssl_ca_location",
    "ssl.certificate.location": "use kafka.ssl_certificate_location",
    "ssl.key.location": "use kafka.ssl_key_location",
    "ssl.key.password": "use kafka.ssl_key_password_file",
}


def refused_entry(name: str) -> str | None:
    """Why a key of a free map is not passed through, or None when it is."""
    if name in REFUSED:
        return f"refused: {REFUSED[name]}"
    if name.endswith("_cb"):
        return "refused: callbacks belong to the consumer"
    if is_secret(name):
        return "refused: no secrets in the free maps; use the *_file settings or a PEM file's location"
    return None

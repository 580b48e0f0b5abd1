"""A broker that asks who we are and what we may: passwords, certificates, tokens and access control lists."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.kafka.cluster import Cluster, Node, free_ports
from tests.kafka.secured_certificates import Authority
from tests.kafka.token_server import AUDIENCE, ISSUER, Client, Keys, TokenServer
from tests.kafka.topics import Topics

_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Grant(NamedTuple):
    """One line of an access control list, for one user."""

    resource: ResourceType
    name: str
    pattern: ResourcePatternType
    operation: AclOperation


class User(NamedTuple):
    """Somebody whom the brokers know: settings that say so, and the secrets behind these."""

    name: str
    settings: Mapping[str, str]
    secrets: tuple[str, ...]


class Secured:
    """A cluster of one broker with four doors. The plain one is the administrator's, whom the authorizer
    lets do anything; through the others one may only do what was granted."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.authority = Authority(home)
        self.keys = Keys(home)
        self._server = self.authority.issue("broker", host="IP:127.0.0.1")
        self._expired = self.authority.issue("expired", host="IP:127.0.0.1", expired=True)
        sasl, tls, expired, tokens = free_ports(4)
        self.sasl, self.tls, self.outdated = (f"127.0.0.1:{port}" for port in (sasl, tls, expired))
        self.tokens = TokenServer(self.keys, self._server, tokens)
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://{self.keys.jwks}"
        self._cluster = Cluster(jvm=("-Xmx256m", allowed), more=self._properties)
        self.bootstrap = self._cluster.bootstrap

    def start(self) -> None:
        """Blocks until the broker serves."""
        self.tokens.start()
        self._cluster.start()
        self._cluster.wait_ready()
        self.topics = Topics(self.bootstrap)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def close(self) -> None:
        self._cluster.close()
        self.tokens.stop()

    # ---------------------------------------------------------------- who

    def user_with_password(self) -> User:
        name, password = self._new("CANARY-password")
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, credential, password.encode())
        for future in self.admin.alter_user_scram_credentials([change]).values():
            future.result(timeout=30)
        settings = {
            **self._through(self.sasl, "sasl_ssl"),
            "kafka.sasl_mechanism": "SCRAM-SHA-512",
            "kafka.sasl_username": name,
            "kafka.sasl_password_file": self.file(password),
        }
        return User(name, settings, (password,))

    def user_with_certificate(self) -> User:
        name, password = self._new("CANARY-key")
        issued = self.authority.issue(name, password=password)
        settings = {
            **self._through(self.tls, "ssl"),
            "kafka.ssl_certificate_location": str(issued.certificate),
            "kafka.ssl_key_location": str(issued.key),
            "kafka.ssl_key_password_file": self.file(password),
        }
        return User(name, settings, (password,))

    def user_with_tokens(self, lifetime: float = 3600.0) -> User:
        name, secret = self._new("CANARY-client")
        self.tokens.clients[name] = Client(secret, lifetime)
        settings = {
            **self._through(self.sasl, "sasl_ssl"),
            "kafka.sasl_mechanism": "OAUTHBEARER",
            "kafka.oauth_token_url": self.tokens.url,
            "kafka.oauth_ca_location": str(self.authority.certificate),
            "kafka.oauth_client_id": name,
            "kafka.oauth_client_secret_file": self.file(secret),
        }
        return User(name, settings, (secret,))

    def file(self, secret: str) -> str:
        """The path of a file that holds it."""
        path = self.home / f"secret-{uuid4().hex}"
        path.write_text(secret)
        return str(path)

    @staticmethod
    def _new(kind: str) -> tuple[str, str]:
        return f"scorer-{uuid4().hex[:8]}", f"{kind}-{secrets.token_hex(8)}"

    def _through(self, door: str, protocol: str) -> dict[str, str]:
        return {
            "kafka.bootstrap_servers": door,
            "kafka.security_protocol": protocol,
            "kafka.ssl_ca_location": str(self.authority.certificate),
        }

    # ---------------------------------------------------------------- what

    def allow(self, user: User, grants: Iterable[Grant]) -> None:
        for future in self.admin.create_acls([_binding(user, grant) for grant in grants]).values():
            future.result(timeout=30)

    def revoke(self, user: User, grants: Iterable[Grant]) -> None:
        filters = [_filter(user, grant) for grant in grants]
        for future in self.admin.delete_acls(filters).values():
            assert future.result(timeout=30), "nothing to revoke"

    # ---------------------------------------------------------------- the broker

    def _properties(self, node: Node) -> dict[str, str]:
        plain = f"PLAINTEXT://127.0.0.1:{node.port}"
        doors = f"{plain},SASL_SSL://{self.sasl},SSL://{self.tls},EXPIRED://{self.outdated}"
        return {
            "listeners": f"{doors},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": doors,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,EXPIRED:SSL"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **self._tls(),
            **self._sasl(),
        }

    def _tls(self) -> dict[str, str]:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._server.both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
            "listener.name.ssl.ssl.client.auth": "required",
            "listener.name.expired.ssl.keystore.type": "PEM",
            "listener.name.expired.ssl.keystore.location": str(self._expired.both),
        }

    def _sasl(self) -> dict[str, str]:
        door = "listener.name.sasl_ssl"
        bearer = f"{door}.oauthbearer"
        return {
            f"{door}.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
            f"{door}.scram-sha-512.sasl.jaas.config": f"{_SCRAM} required;",
            f"{bearer}.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            f"{bearer}.sasl.server.callback.handler.class": f"{_OAUTH}.OAuthBearerValidatorCallbackHandler",
            f"{bearer}.sasl.oauthbearer.jwks.endpoint.url": f"file://{self.keys.jwks}",
            f"{bearer}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{bearer}.sasl.oauthbearer.expected.issuer": ISSUER,
            f"{bearer}.connections.max.reauth.ms": "3600000",  # a connection lives as long as its token
        }


def _binding(user: User, grant: Grant) -> AclBinding:
    who = (f"User:{user.name}", "*", grant.operation, AclPermissionType.ALLOW)
    return AclBinding(grant.resource, grant.name, grant.pattern, *who)


def _filter(user: User, grant: Grant) -> AclBindingFilter:
    who = (f"User:{user.name}", "*", grant.operation, AclPermissionType.ALLOW)
    return AclBindingFilter(grant.resource, grant.name, grant.pattern, *who)

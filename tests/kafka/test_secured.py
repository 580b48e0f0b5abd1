"""Who we are: passwords, certificates and tokens, right ones and wrong ones. Nothing of them is shown."""

from __future__ import annotations

import base64
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from consumer.checks import Findings, check_all
from consumer.loading import load
from consumer.settings_keys import KEYS
from tests.kafka.collect import Item
from tests.kafka.items import mixed
from tests.kafka.replicas import Deployment
from tests.kafka.scenario import Scenario, assert_sound
from tests.kafka.secured import Secured, User
from tests.kafka.secured_canaries import assert_hidden, places_of
from tests.kafka.secured_certificates import Authority
from tests.kafka.secured_grants import documented, names_in, prepare
from tests.kafka.token_server import Client
from tests.kafka.waiting import eventually
from tests.redis.servers import valkey

pytest_plugins = ["tests.kafka.secured_fixtures"]

TOPICS = {
    "input.topic": "events",
    "output.topic": "anomaly-scores",
    "dead_letter.topic": "anomaly-dead-letters",
}
WRONG, REDIS = "CANARY-wrong-2f1c", "CANARY-redis-77a0"
Given = Mapping[str, str]


@pytest.fixture(scope="module")
def cache() -> Iterator[Given]:
    """Settings of a Valkey that lets in a user with a password, who may do what docs/redis.md says."""
    with valkey() as server:
        rules = ["on", f">{REDIS}", "resetkeys", "~anomaly-consumer:*", "-@all", "+mget", "+set"]
        server.admin.execute_command("ACL", "SETUSER", "scorer", *rules)  # type: ignore[no-untyped-call]
        yield {"redis.url": f"redis://127.0.0.1:{server.port}", "redis.username": "scorer"}


@pytest.mark.parametrize("proof", ["password", "certificate", "tokens"])
def test_each_proof_of_identity_serves_from_the_first_record_to_a_clean_stop(
    secured: Secured, cache: Given, proof: str, tmp_path: Path
) -> None:
    user: User = getattr(secured, f"user_with_{proof}")()
    scenario = Scenario(secured.bootstrap, secured.topics, tmp_path)
    with_cache = {**cache, "redis.password_file": secured.file(REDIS), "dedupe.enabled": "true"}
    try:
        prepare(scenario, user, **with_cache, kafka__producer="debug=all", log__level="debug")
        secured.allow(user, documented("at-least-once", names_in(scenario)))
        replica = scenario.start(proof)
        with_id = Item(None, b'{"message":"once","id":"4711"}', "scored")
        scenario.feed([*mixed(60, seed=7, every=10), with_id])
        scenario.until_committed()
        assert replica.ready()
        shown = places_of(replica)
        scenario.stop(replica)
        assert_sound(scenario.history())
    finally:
        scenario.close()
    assert "librdkafka" in replica.log, "the client said nothing, so nothing was looked at"
    assert "consumer_dedupe_events_total 1.0" in shown["/metrics"]
    assert "redis_bypassed" not in replica.log
    tokens = secured.tokens.issued.get(user.name, [])
    assert_hidden((REDIS, *user.secrets, *tokens), {**shown, "the whole log": replica.log})


def test_every_secret_setting_is_planted(callers: Callers) -> None:
    users = (callers.password, callers.certificate, callers.tokens)
    planted = {name for user in users for name in user.settings if name.endswith("_file")}
    assert planted | {"redis.password_file"} == {key.source for key in KEYS.values() if key.secret}


@pytest.mark.parametrize(
    "shown",
    [
        WRONG,
        WRONG.encode().hex(),
        *(base64.b64encode(f"{before}{WRONG}:more".encode()).decode() for before in ("", "a", "user:")),
    ],
)
def test_a_secret_is_found_in_whatever_form_it_travels(shown: str) -> None:
    with pytest.raises(AssertionError, match="a secret is shown in: log"):
        assert_hidden([WRONG], {"page": "nothing", "log": f"one line\nand {shown} in another"})


def test_an_aborted_process_shows_nothing_and_keeps_the_core_limit_that_it_was_given(
    callers: Callers, tmp_path: Path
) -> None:
    given = callers.by_password()
    deployment = Deployment(tmp_path, callers.secured.sasl, "anomaly-consumer", TOPICS, given)
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, before[1]))
    try:
        replica = deployment.start("aborted")
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    try:
        eventually("ready", replica.ready, 60)
        shown = places_of(replica)
        assert b"Max core file size        0 " in shown["limits"]
        replica.signal(signal.SIGABRT)
        assert replica.wait(30) == -signal.SIGABRT
    finally:
        replica.end()
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert left.keys() == {"aborted.log", "aborted.events"}, "no core image"
    assert_hidden(callers.password.secrets, {**shown, **left})


class Callers(NamedTuple):
    """Three who may do everything that is needed, each by another proof, and an authority that nobody
    trusts."""

    secured: Secured
    password: User
    certificate: User
    tokens: User
    stranger: Authority

    def by_password(self, **changes: str) -> Given:
        return _changed(self.password, changes)

    def by_certificate(self, **changes: str) -> Given:
        return _changed(self.certificate, changes)

    def by_tokens(self, **changes: str) -> Given:
        return _changed(self.tokens, changes)

    def with_client(self, client: Client) -> Given:
        """By tokens of its own kind."""
        name = f"client-{client.lifetime}-{client.audience}"
        self.secured.tokens.clients[name] = client
        return self.by_tokens(oauth_client_id=name, oauth_client_secret_file=self.secured.file(client.secret))

    def with_certificate(self, authority: Authority, *, expired: bool = False) -> Given:
        issued = authority.issue("other", expired=expired)
        files = {"ssl_certificate_location": issued.certificate, "ssl_key_location": issued.key}
        return self.by_certificate(**{k: str(v) for k, v in files.items()}, ssl_key_password_file="")


def _changed(user: User, changes: Given) -> Given:
    """The user's settings; a change to nothing unsets one."""
    settings = {**user.settings, **{f"kafka.{name}": value for name, value in changes.items()}}
    return {name: value for name, value in settings.items() if value}


def _by_name(address: str) -> str:
    """The same place under a name that is not in its certificate."""
    return address.replace("127.0.0.1", "localhost")


class Wrong(NamedTuple):
    """A mistake, the settings to look at, and words of the one line that tells it."""

    what: str
    given: Callable[[Callers], Given]
    named: tuple[str, ...]
    said: str


_PASSWORD = ("sasl_mechanism", "sasl_username", "sasl_password_file")
_CLIENT = ("ssl_certificate_location", "ssl_key_location")
_KEY = ("kafka.ssl_key_location", "kafka.ssl_key_password_file", "kafka.ssl_certificate_location")
_TOKENS = ("oauth_token_url", "oauth_client_id", "oauth_client_secret_file")

WRONGS = (
    Wrong("password", lambda c: c.by_password(sasl_password_file=c.secured.file(WRONG)), _PASSWORD,
          "Authentication failed"),
    Wrong("user", lambda c: c.by_password(sasl_username="nobody"), _PASSWORD, "Authentication failed"),
    Wrong("mechanism", lambda c: c.by_password(sasl_mechanism="SCRAM-SHA-256"), ("kafka.sasl_mechanism",),
          "supported mechanisms: SCRAM-SHA-512"),
    Wrong("authority", lambda c: c.by_password(ssl_ca_location=str(c.stranger.certificate)),
          ("kafka.ssl_ca_location",), "unable to get local issuer certificate"),
    Wrong("authority: no PEM", lambda c: c.by_password(ssl_ca_location=c.secured.file("none")),
          ("kafka.ssl_ca_location",), "no certificate or crl found"),
    Wrong("authority: no file", lambda c: c.by_password(ssl_ca_location="/none"),
          ("kafka.ssl_ca_location = '/none'",), "cannot be read"),
    Wrong("host name", lambda c: c.by_password(bootstrap_servers=_by_name(c.secured.sasl)),
          ("kafka.bootstrap_servers = 'localhost:",), "Hostname mismatch"),
    Wrong("broker's certificate expired", lambda c: c.by_certificate(bootstrap_servers=c.secured.outdated),
          ("kafka.bootstrap_servers",), "certificate has expired"),
    Wrong("no TLS towards TLS", lambda c: {"kafka.bootstrap_servers": c.secured.sasl},
          ("kafka.security_protocol",), "does not answer"),
    Wrong("TLS towards none", lambda c: c.by_certificate(bootstrap_servers=c.secured.bootstrap),
          ("kafka.security_protocol",), "PLAINTEXT"),
    Wrong("no SASL towards SASL", lambda c: c.by_certificate(bootstrap_servers=c.secured.sasl),
          ("kafka.security_protocol",), "does not answer"),
    Wrong("no client certificate", lambda c: c.by_certificate(
        ssl_certificate_location="", ssl_key_location="", ssl_key_password_file=""), _CLIENT, "alert"),
    Wrong("client certificate of a stranger", lambda c: c.with_certificate(c.stranger), _CLIENT, "alert"),
    Wrong("client certificate expired", lambda c: c.with_certificate(c.secured.authority, expired=True),
          _CLIENT, "alert"),
    Wrong("key's password", lambda c: c.by_certificate(ssl_key_password_file=c.secured.file(WRONG)), _KEY,
          "ssl.key.location failed"),
    Wrong("key's password missing", lambda c: c.by_certificate(ssl_key_password_file=""), _KEY,
          "ssl.key.location failed"),
    Wrong("another's key", lambda c: c.by_certificate(
        ssl_key_location=str(c.stranger.issue("key").key), ssl_key_password_file=""), _KEY, "mismatch"),
    Wrong("client secret", lambda c: c.by_tokens(oauth_client_secret_file=c.secured.file(WRONG)), _TOKENS,
          "invalid_client"),
    Wrong("client id", lambda c: c.by_tokens(oauth_client_id="nobody"), _TOKENS, "invalid_client"),
    Wrong("token server away", lambda c: c.by_tokens(oauth_token_url="https://127.0.0.1:1/token"), _TOKENS,
          "Could not connect"),
    Wrong("path of the token server", lambda c: c.by_tokens(oauth_token_url=f"{c.secured.tokens.url}s"),
          _TOKENS, "Failed to acquire"),
    Wrong("token server's authority", lambda c: c.by_tokens(oauth_ca_location=str(c.stranger.certificate)),
          ("kafka.oauth_ca_location",), "unable to get local issuer certificate"),
    Wrong("token server of the system's authorities", lambda c: c.by_tokens(oauth_ca_location=""),
          ("kafka.oauth_ca_location",), "certificate"),
    Wrong("token server's host name", lambda c: c.by_tokens(
        oauth_token_url=_by_name(c.secured.tokens.url)), ("kafka.oauth_token_url",), "localhost"),
    Wrong("token for others", lambda c: c.with_client(Client("CANARY-others", audience="others")),
          ("kafka.oauth_scope",), "invalid_token"),
    Wrong("token out of date", lambda c: c.with_client(Client("CANARY-late", lifetime=-60.0)), ("clocks",),
          "unexpired"),
)  # fmt: skip


@pytest.fixture(scope="module")
def callers(secured: Secured) -> Callers:
    for topic in TOPICS.values():
        secured.topics.create(topic)
    users = (secured.user_with_password(), secured.user_with_certificate(), secured.user_with_tokens())
    for user in users:
        secured.allow(user, documented("at-least-once", {**TOPICS, "kafka.group_id": "anomaly-consumer"}))
    return Callers(secured, *users, Authority(secured.home / "stranger", "stranger"))


@pytest.fixture(scope="module")
def found(callers: Callers) -> dict[str, Findings]:
    """What `consumer check` finds with each mistake, and without; all asked at once."""
    given = {wrong.what: wrong.given(callers) for wrong in WRONGS}
    given |= {"nothing 1": callers.by_password(), "nothing 2": callers.by_certificate()}
    given |= {"nothing 3": callers.by_tokens()}
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(given, pool.map(_checked, given.values()), strict=True))


def _checked(given: Given) -> Findings:
    return check_all(load({**given, "scoring.model": "demo"}, {}), timeout=15.0)


def test_who_is_right_is_told_nothing(found: Mapping[str, Findings]) -> None:
    assert [found[f"nothing {n}"].problems for n in (1, 2, 3)] == [(), (), ()]


@pytest.mark.parametrize("wrong", WRONGS, ids=[wrong.what for wrong in WRONGS])
def test_a_mistake_is_one_line_that_names_the_setting(wrong: Wrong, found: Mapping[str, Findings]) -> None:
    (problem,) = found[wrong.what].problems
    assert problem.startswith("kafka")
    assert problem.isprintable()
    assert wrong.said in problem
    for name in wrong.named:
        assert name in problem


def test_no_mistake_shows_a_secret(callers: Callers, found: Mapping[str, Findings]) -> None:
    secrets = {c.secret for c in callers.secured.tokens.clients.values()} | {WRONG}
    secrets |= {*callers.password.secrets, *callers.certificate.secrets}
    assert_hidden(secrets, {what: repr(findings) for what, findings in found.items()})


def test_a_start_with_a_mistake_ends_with_code_2_and_that_line(callers: Callers, tmp_path: Path) -> None:
    chosen = [w for w in WRONGS if w.what in {"password", "another's key", "client secret"}]
    replicas = []
    for number, wrong in enumerate(chosen):
        given = wrong.given(callers)
        deployment = Deployment(tmp_path, given["kafka.bootstrap_servers"], "anomaly-consumer", TOPICS, given)
        replicas.append(deployment.start(str(number)))
    try:
        assert [replica.wait(120) for replica in replicas] == [2] * len(chosen)
    finally:
        for replica in replicas:
            replica.end()
    for wrong, replica in zip(chosen, replicas, strict=True):
        problems = [line for line in replica.log.splitlines() if line.startswith("kafka")]
        assert len(problems) == 1, replica.log
        assert wrong.said in problems[0]
        assert_hidden((WRONG, *callers.tokens.secrets), {wrong.what: replica.log})

"""Rules between settings."""

from __future__ import annotations

import pytest

from consumer.loading import load
from consumer.settings_rules import split_address


@pytest.mark.parametrize(
    ("flags", "key", "needle"),
    [
        ({"output.topic": "events"}, "output.topic", "scored again"),
        ({"dead_letter.topic": "events"}, "dead_letter.topic", "read again"),
        ({"dead_letter.topic": "anomaly-scores"}, "dead_letter.topic", "results only"),
        (
            {"kafka.session_timeout": "301"},
            "kafka.session_timeout",
            "at most kafka.max_poll_interval = 300.0",
        ),
        ({"delivery.timeout": "300"}, "delivery.timeout", "below kafka.max_poll_interval = 300.0"),
        ({"delivery.revoke_budget": "300", "health.stall_after": "400"}, "delivery.revoke_budget", "below"),
        ({"health.stall_after": "30"}, "delivery.revoke_budget", "below health.stall_after = 30.0"),
        ({"batch.idle_wait": "0.3"}, "batch.idle_wait", "at most batch.max_wait = 0.25"),
        ({"kafka.bootstrap_servers": "a:1,b"}, "kafka.bootstrap_servers", "'b' is not host:port"),
        ({"kafka.bootstrap_servers": "a:1,"}, "kafka.bootstrap_servers", "'' is not host:port"),
        ({"kafka.sasl_mechanism": "PLAIN", "kafka.sasl_username": "x"}, "kafka.sasl_mechanism", "not used"),
        ({"kafka.security_protocol": "ssl"}, "kafka.ssl_ca_location", "must be set with TLS"),
        ({"kafka.ssl_ca_location": "/dev/null"}, "kafka.ssl_ca_location", "is not used"),
        ({"kafka.security_protocol": "sasl_plaintext"}, "kafka.security_protocol", "unencrypted"),
        ({"kafka.security_protocol": "sasl_ssl"}, "kafka.sasl_mechanism", "must be set"),
        ({"kafka.ssl_key_location": "/dev/null"}, "kafka.ssl_certificate_location", "needs its key"),
        ({"kafka.oauth_token_url": "http://x"}, "kafka.oauth_token_url", "https"),
        ({"redis.url": "cache:6379"}, "redis.url", "is not redis://"),
        ({"redis.url": "redis:///0"}, "redis.url", "is not redis://"),
        ({"redis.url": "http://cache"}, "redis.url", "is not redis://"),
        ({"redis.url": "redis://cache:x"}, "redis.url", "is no URL"),
        ({"redis.url": "redis://u:hush@cache"}, "redis.url", "redis.password_file"),
        ({"redis.url": "redis://cache?socket_timeout=9"}, "redis.url", "address only"),
        ({"redis.url": "redis://cache/first"}, "redis.url", "no database number"),
        ({"redis.url": "redis://cache", "redis.username": "u"}, "redis.password", "must be set"),
        ({"dedupe.enabled": "true"}, "dedupe.enabled", "give redis.url"),
        ({"redis.url": "redis://cache", "scoring.factory": "a:b"}, "redis.url", "fitted models"),
        (
            {"redis.url": "redis://cache", "redis.ssl_ca_location": "/dev/null"},
            "redis.ssl_ca_location",
            "rediss",
        ),
        (
            {"redis.url": "rediss://c", "redis.ssl_key_location": "/dev/null"},
            "redis.ssl_certificate_location",
            "key",
        ),
    ],
)
def test_a_broken_rule_names_the_key_its_value_and_the_other_key(
    flags: dict[str, str], key: str, needle: str
) -> None:
    loaded = load(flags, {})
    lines = [problem for problem in loaded.problems if problem.startswith(f"{key} = ")]
    assert len(lines) == 1
    assert needle in lines[0]
    assert key in loaded.troubled


@pytest.mark.parametrize(
    "flags",
    [
        {"kafka.session_timeout": "300"},
        {"delivery.timeout": "299.9"},
        {"batch.idle_wait": "0.25"},
        {"redis.url": "redis://cache"},
        {"redis.url": "redis://cache", "dedupe.enabled": "true"},
        {"redis.url": "redis://cache", "dedupe.enabled": "true", "scoring.factory": "a:b"},
        {"redis.url": "rediss://[::1]:6380/3", "redis.ssl_ca_location": "/dev/null"},
        {"redis.url": "unix:///run/valkey.sock"},
        {"kafka.bootstrap_servers": "a:1, [::1]:9092,10.0.0.1:65535"},
        {
            "kafka.security_protocol": "ssl",
            "kafka.ssl_ca_location": "/dev/null",
            "kafka.ssl_certificate_location": "/dev/null",
            "kafka.ssl_key_location": "/dev/null",
        },
    ],
)
def test_what_is_just_allowed_is_allowed(flags: dict[str, str]) -> None:
    assert load(flags, {}).problems == ()


@pytest.mark.parametrize(
    ("mechanism", "needed"),
    [
        ("SCRAM-SHA-512", ["kafka.sasl_username", "kafka.sasl_password"]),
        ("OAUTHBEARER", ["kafka.oauth_token_url", "kafka.oauth_client_id", "kafka.oauth_client_secret"]),
    ],
)
def test_a_mechanism_names_every_credential_that_it_lacks(mechanism: str, needed: list[str]) -> None:
    flags = {
        "kafka.security_protocol": "sasl_ssl",
        "kafka.ssl_ca_location": "/dev/null",
        "kafka.sasl_mechanism": mechanism,
    }
    problems = load(flags, {}).problems
    assert [problem.partition(" = ")[0] for problem in problems] == needed


def test_credentials_may_go_unencrypted_only_when_that_is_said() -> None:
    flags = {"kafka.security_protocol": "sasl_plaintext", "kafka.allow_plaintext_credentials": "true"}
    assert not any("unencrypted" in problem for problem in load(flags, {}).problems)


def test_a_rule_stays_silent_where_a_value_was_already_refused() -> None:
    (problem,) = load({"kafka.max_poll_interval": "5", "delivery.timeout": "400"}, {}).problems
    assert problem.startswith("kafka.max_poll_interval = '5'")


@pytest.mark.parametrize(
    "address", ["", "host", "host:", ":9092", "host:0", "host:65536", "host:x", "a b:1", "http://a:1"]
)
def test_what_is_not_an_address_is_none(address: str) -> None:
    assert split_address(address) is None


def test_a_v6_address_loses_its_brackets() -> None:
    assert split_address(" [::1]:9092") == ("::1", 9092)

"""Secrets come from files, and no message or dump ever shows one."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumer.loading import effective, load, redacted
from consumer.masking import MASK, is_secret, shown
from consumer.settings import Kafka, Settings
from consumer.settings_keys import KEYS

CANARY = "CANARY-hunter2"
SECRETS = [key for key in KEYS.values() if key.secret]
SASL = {
    "kafka.security_protocol": "sasl_ssl",
    "kafka.sasl_mechanism": "PLAIN",
    "kafka.sasl_username": "me",
    "kafka.ssl_ca_location": "/dev/null",
}


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        (CANARY, CANARY),
        (f"{CANARY}\n", CANARY),
        (f"{CANARY}\r\n", CANARY),
        (f" {CANARY}\n\n", f" {CANARY}\n"),
    ],
)
def test_a_secret_is_its_file_without_one_newline_at_the_end(
    tmp_path: Path, content: str, secret: str
) -> None:
    path = tmp_path / "password"
    path.write_bytes(content.encode())
    loaded = load(SASL, {"CONSUMER_KAFKA_SASL_PASSWORD_FILE": str(path)})
    assert loaded.require().kafka.sasl_password == secret
    assert CANARY not in str(effective(loaded))
    assert ("kafka.sasl_password", MASK, "from CONSUMER_KAFKA_SASL_PASSWORD_FILE") in effective(loaded)


def test_a_secrets_file_can_be_named_in_the_file_and_on_the_command_line(tmp_path: Path) -> None:
    password, toml = tmp_path / "password", tmp_path / "c.toml"
    password.write_text(CANARY)
    toml.write_text(f"[kafka]\nsasl_password_file = '{password}'\n")
    assert load(SASL, {}, toml).require().kafka.sasl_password == CANARY
    assert (
        load({**SASL, "kafka.sasl_password_file": str(password)}, {}).require().kafka.sasl_password == CANARY
    )


@pytest.mark.parametrize("key", SECRETS, ids=lambda key: str(key.name))
def test_a_secret_given_as_a_value_is_refused_everywhere_and_shown_nowhere(key, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    toml = tmp_path / "c.toml"
    toml.write_text(f"[{key.section}]\n{key.field} = '{CANARY}'\n")
    plain = key.variable.removesuffix("_FILE")
    for loaded in (load({}, {plain: CANARY}), load({key.name: CANARY}, {}), load({}, {}, toml)):
        (problem,) = loaded.problems
        assert "read from a file only" in problem
        assert key.variable in problem
        assert CANARY not in problem
        assert getattr(getattr(loaded.settings, key.section), key.field) is None


@pytest.mark.parametrize("key", SECRETS, ids=lambda key: str(key.name))
def test_a_misspelt_secret_is_not_shown(key) -> None:  # type: ignore[no-untyped-def]
    for name in (key.variable, key.variable.removesuffix("_FILE")):
        for i in range(len("CONSUMER_KAFKA_"), len(name)):
            problems = load({}, {name[:i] + name[i + 1 :]: CANARY}).problems
            assert CANARY not in str(problems), name[:i] + name[i + 1 :]


def test_an_unknown_name_that_resembles_nothing_does_not_show_its_value() -> None:
    assert CANARY not in str(load({"zzzz": CANARY}, {"CONSUMER_ZZZZ": CANARY}).problems)


def test_the_secret_itself_given_where_its_path_belongs_is_not_shown() -> None:
    (problem,) = load({}, {"CONSUMER_KAFKA_SSL_KEY_PASSWORD_FILE": CANARY}).problems
    assert problem.startswith(f"kafka.ssl_key_password_file = {MASK}")
    assert "cannot be read" in problem


def test_a_missing_secrets_file_names_its_path(tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    (problem,) = load({}, {"CONSUMER_KAFKA_SSL_KEY_PASSWORD_FILE": path}).problems
    assert path in problem


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_secrets_file_without_a_text_is_a_problem(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)
    (problem,) = load({}, {"CONSUMER_KAFKA_SSL_KEY_PASSWORD_FILE": str(path)}).problems
    assert "empty" in problem or "UTF-8" in problem


@pytest.mark.parametrize(
    "name",
    ["sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem", "sasl.jaas.config",
     "sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret",
     "sasl.oauthbearer.assertion.private.key.passphrase", "https.ca.pem", "sasl.oauthbearer.config",
     "CONSUMER_KAFKA_SASL_PASWORD", "api_token"],
)  # fmt: skip
def test_names_of_secrets_are_known_as_such(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["scoring.max_padded_tokens", "kafka.sasl_password_file", "ssl.key.location", "client.rack",
     "kafka.oauth_token_url", "sasl.oauthbearer.token.endpoint.url"],
)  # fmt: skip
def test_names_that_only_sound_like_secrets_are_not(name: str) -> None:
    assert not is_secret(name)


def test_no_secret_of_the_client_passes_through_the_free_maps() -> None:
    """Whatever name it has there: every key of the client whose value it hides itself."""
    for name in ("ssl.key.password", "ssl.keystore.password", "sasl.password", "ssl.key.pem",
                 "sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret",
                 "sasl.oauthbearer.assertion.private.key.pem",
                 "sasl.oauthbearer.assertion.private.key.passphrase", "sasl.oauthbearer.config"):  # fmt: skip
        for table in ("consumer", "producer"):
            (problem,) = load({f"kafka.{table}.{name}": CANARY}, {}).problems
            assert "refused" in problem
            assert CANARY not in problem


def test_credentials_inside_an_address_are_masked() -> None:
    assert CANARY not in shown(f"https://me:{CANARY}@host/path")
    assert "@host/path" in shown(f"https://me:{CANARY}@host/path")


def test_a_clients_message_is_cleared_of_every_secret_it_was_given() -> None:
    settings = Settings(kafka=Kafka(sasl_password=CANARY, oauth_client_secret="OTHER"))
    assert redacted(f'Invalid value "{CANARY}" or OTHER', settings) == f'Invalid value "{MASK}" or {MASK}'

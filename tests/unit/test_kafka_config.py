"""librdkafka configurations: needs the client library, no broker.

What the client would do by itself, closed here: it commits what was delivered, not what is done
(finding 10); it skips silently on an offset out of range (16); its sends outlive the poll interval (18);
its prefetch stalls and grows (6.9); it takes keys of the wrong role with a log line, and repeats bad
values, secrets among them, in its errors (6.13); it creates missing topics.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from consumer.errors import Misconfigured
from consumer.kafka.config import (
    FRAMING_BYTES,
    admin_config,
    consumer_config,
    make_client,
    producer_config,
    quiet_logger,
    refused_configuration,
)
from consumer.masking import MASK
from consumer.settings import Delivery, Kafka, Results, Settings
from consumer.settings_refused import REFUSED

CANARY = "CANARY-hunter2"


def _with(**kafka: Any) -> Settings:
    return Settings(kafka=Kafka(**kafka))


def test_the_consumer_commits_stores_and_resets_nothing_by_itself() -> None:
    config = consumer_config(Settings())
    assert config["enable.auto.commit"] is False
    assert config["enable.auto.offset.store"] is False
    assert config["auto.offset.reset"] == "error"
    assert config["isolation.level"] == "read_committed"
    assert config["enable.partition.eof"] is True
    assert config["partition.assignment.strategy"] == "cooperative-sticky"
    assert config["check.crcs"] is True


def test_the_prefetch_is_bounded_and_does_not_pause_a_second_when_full() -> None:
    config = consumer_config(Settings())
    assert config["queued.max.messages.kbytes"] == 32_768
    assert config["fetch.queue.backoff.ms"] <= 100


def test_a_result_counts_as_written_when_all_replicas_have_it_once_and_in_order() -> None:
    config = producer_config(Settings())
    assert config["enable.idempotence"] is True
    assert config["acks"] == "all"
    assert config["partitioner"] == "murmur2_random"


def test_a_send_fails_after_the_delivery_timeout_before_the_group_gives_us_up() -> None:
    settings = Settings(delivery=Delivery(timeout=12.5))
    assert producer_config(settings)["message.timeout.ms"] == 12_500
    assert (
        producer_config(Settings())["message.timeout.ms"]
        < consumer_config(Settings())["max.poll.interval.ms"]
    )


@pytest.mark.parametrize("largest", [20_000, 1_000_000, 50_000_000])
def test_a_batch_is_never_larger_than_a_topic_for_our_largest_record_admits(largest: int) -> None:
    config = producer_config(Settings(output=Results(max_bytes=largest)))
    assert config["message.max.bytes"] == largest + FRAMING_BYTES
    assert config["batch.size"] <= largest + FRAMING_BYTES
    assert config["queue.buffering.max.kbytes"] * 1024 > largest
    make_client(Producer, config, Settings(), logger=quiet_logger()[0])


@pytest.mark.parametrize("make", [consumer_config, producer_config, admin_config])
def test_no_client_ever_creates_a_topic_and_all_verify_who_they_talk_to(make: Any) -> None:
    config = make(Settings())
    assert config["allow.auto.create.topics"] is False
    assert config["ssl.endpoint.identification.algorithm"] == "https"
    assert config["enable.ssl.certificate.verification"] is True


def test_the_free_maps_tune_but_never_touch_the_contract() -> None:
    maps = dict.fromkeys(REFUSED, "broken") | {"fetch.wait.max.ms": "7", "linger.ms": "50"}
    settings = _with(consumer=maps, producer=maps)
    plain = Settings()
    for make in (consumer_config, producer_config):
        contract = {name: value for name, value in make(plain).items() if name in REFUSED}
        assert contract.items() <= make(settings).items()
    assert consumer_config(settings)["fetch.wait.max.ms"] == "7"
    assert producer_config(settings)["linger.ms"] == "50"


def test_everything_that_keeps_the_contract_is_refused_in_the_free_maps() -> None:
    tunable = {"check.crcs", "queued.max.messages.kbytes", "queued.min.messages", "compression.type",
               "queue.buffering.max.kbytes", "queue.buffering.max.messages", "batch.size"}  # fmt: skip
    names = consumer_config(Settings()).keys() | producer_config(Settings()).keys()
    ours = {n for n in names if not n.startswith(("fetch.", "max.partition.fetch", "linger."))} - tunable
    assert ours <= REFUSED.keys()


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range", "consumer"])
def test_the_client_accepts_the_configuration_of_each_assignor(assignor: Any) -> None:
    settings = _with(assignor=assignor, group_instance_id="replica-1")
    client = make_client(Consumer, consumer_config(settings), settings, logger=quiet_logger()[0])
    client.close()
    assert ("session.timeout.ms" in consumer_config(settings)) == (assignor != "consumer")


def test_the_client_logs_no_doubt_about_any_of_our_keys() -> None:
    for make, factory in (
        (consumer_config, Consumer),
        (producer_config, Producer),
        (admin_config, AdminClient),
    ):
        logger, lines = quiet_logger()
        config = {name: value for name, value in make(Settings()).items() if name != "bootstrap.servers"}
        client = factory(config, logger=logger)
        client.poll(0)
        assert [line for line in lines if "Configuration property" in line] == []
        if isinstance(client, Consumer):
            client.close()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"])
def test_credentials_reach_every_client(mechanism: Any) -> None:
    settings = _with(
        security_protocol="sasl_ssl", sasl_mechanism=mechanism, sasl_username="me", sasl_password=CANARY,
        ssl_ca_location="/ca.pem", oauth_client_secret=CANARY, oauth_client_id="me", oauth_token_url="https://x",
    )  # fmt: skip
    for make in (consumer_config, producer_config, admin_config):
        config = make(settings)
        assert config["security.protocol"] == "sasl_ssl"
        assert config["sasl.mechanism"] == mechanism
        assert CANARY in config.values()
        assert ("sasl.oauthbearer.client.secret" in config) == (mechanism == "OAUTHBEARER")


def test_a_client_that_refuses_its_configuration_shows_no_secret() -> None:
    settings = _with(sasl_password=CANARY)
    config = {"sasl.password": CANARY, "debug": CANARY}
    with pytest.raises(Misconfigured) as caught:
        make_client(Producer, config, settings)
    assert CANARY not in str(caught.value)
    assert MASK in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None, "a traceback would show the client's own message"


@pytest.mark.parametrize(
    ("table", "name", "value", "needle"),
    [
        ("consumer", "linger.ms", "5", "is a producer property"),
        ("producer", "fetch.min.bytes", "5", "is a consumer property"),
        ("consumer", "no.such.key", "5", "No such configuration property"),
        ("consumer", "fetch.min.bytes", "many", "Invalid value"),
        ("producer", "compression.type", "rar", "Invalid value"),
    ],
)
def test_an_entry_that_the_client_does_not_accept_is_named_with_its_value(
    table: str, name: str, value: str, needle: str
) -> None:
    (problem,) = refused_configuration(_with(**{table: {name: value}}))
    assert problem.startswith(f"kafka.{table}.{name} = {value!r}: ")
    assert needle in problem


def test_entries_that_are_right_only_together_are_accepted() -> None:
    large = {"fetch.max.bytes": "200000000", "receive.message.max.bytes": "300000000"}
    assert refused_configuration(_with(consumer=large)) == []
    assert refused_configuration(_with(consumer={"receive.message.max.bytes": "2000"})) != []


def test_looking_at_a_configuration_writes_nothing_to_the_console(capfd: pytest.CaptureFixture[str]) -> None:
    refused_configuration(_with(consumer={"linger.ms": "5", "nope": "1"}, producer={"debug": "nope"}))
    assert capfd.readouterr() == ("", "")


def test_the_quiet_logger_is_not_one_that_others_configure() -> None:
    logger, lines = quiet_logger()
    logger.warning("kept")
    assert lines == ["kept"]
    assert logger is not logging.getLogger(logger.name)

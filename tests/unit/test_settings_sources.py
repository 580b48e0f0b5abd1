"""Names: typos, variables that are not ours, and librdkafka's keys in the free maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from consumer.loading import effective, load
from consumer.settings_keys import SOURCES, VARIABLES, nearest
from consumer.settings_refused import REFUSED


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("CONSUMER_BATCH_CUONT", "CONSUMER_BATCH_COUNT"),
        ("CONSUMER_KAFKA_BOOTSTRAP_SERVER", "CONSUMER_KAFKA_BOOTSTRAP_SERVERS"),
        ("CONSUMER_DEADLETTER_TOPIC", "CONSUMER_DEAD_LETTER_TOPIC"),
        ("CONSUMER_INPUT_TOPICS", "CONSUMER_INPUT_TOPIC"),
    ],
)
def test_a_misspelt_variable_fails_with_the_nearest_one(wrong: str, right: str) -> None:
    (problem,) = load({}, {wrong: "5"}).problems
    assert problem == f"{wrong} = '5' (environment): no such setting; did you mean {right}?"


def test_a_misspelt_flag_or_table_fails_with_the_nearest_key(tmp_path: Path) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text("[inptu]\ntopic = 'x'\n")
    problems = load({"batch.max_wiat": "1"}, {}, toml).problems
    assert [problem.rpartition("; ")[2] for problem in problems] == [
        "did you mean input.topic?",
        "did you mean batch.max_wait?",
    ]


def test_a_section_given_a_value_says_that_it_is_a_section() -> None:
    (problem,) = load({"batch": "5"}, {}).problems
    assert "batch is a section" in problem


def test_two_letters_swapped_in_any_variable_still_find_it() -> None:
    for name in VARIABLES:
        swapped = name[:-3] + name[-2] + name[-3] + name[-1]
        assert nearest(swapped, VARIABLES) == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONSUMER_SERVICE_HOST", "10.0.0.1"),
        ("CONSUMER_SERVICE_PORT", "9108"),
        ("CONSUMER_SERVICE_PORT_HTTP", "9108"),
        ("CONSUMER_PORT", "tcp://10.0.0.1:9108"),
        ("CONSUMER_PORT_9108_TCP", "tcp://10.0.0.1:9108"),
        ("CONSUMER_PORT_9108_TCP_ADDR", "10.0.0.1"),
        ("CONSUMER_METRICS_SERVICE_HOST", "10.0.0.1"),
        ("CONSUMER_METRICS_PORT", "tcp://10.0.0.1:9108"),
        ("CONSUMER_METRICS_PORT_9108_TCP_PROTO", "tcp"),
        ("CONSUMER_CONFIG", "/etc/consumer.toml"),
        ("CONSUMERS", "5"),
        ("PATH", "/bin"),
    ],
)
def test_variables_that_kubernetes_or_others_set_are_not_typos(name: str, value: str) -> None:
    loaded = load({}, {name: value})
    assert loaded.problems == ()
    assert loaded.settings.metrics.port == 9108


def test_librdkafka_keys_are_merged_entry_by_entry_over_the_sources(tmp_path: Path) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text('[kafka.consumer]\nfetch.min.bytes = 1\n"client.rack" = "file"\ncheck.crcs = false\n')
    environ = {"CONSUMER_KAFKA_CONSUMER": "client.rack=environment, fetch.wait.max.ms = 7"}
    loaded = load({"kafka.consumer.fetch.wait.max.ms": "9"}, environ, toml)
    assert loaded.require().kafka.consumer == {
        "fetch.min.bytes": "1",
        "client.rack": "environment",
        "check.crcs": "false",
        "fetch.wait.max.ms": "9",
    }
    assert ("kafka.consumer.fetch.wait.max.ms", "'9'", "command line") in effective(loaded)


def test_a_map_with_commas_in_its_values_can_be_given_as_json() -> None:
    text = '{"debug": "broker,topic", "linger.ms": 20, "socket.keepalive.enable": true}'
    assert load({}, {"CONSUMER_KAFKA_PRODUCER": text}).require().kafka.producer == {
        "debug": "broker,topic",
        "linger.ms": "20",
        "socket.keepalive.enable": "true",
    }


@pytest.mark.parametrize("text", ["fetch.min.bytes", "=5", "{not json", '["a"]', "[" * 5000])
def test_a_map_that_is_neither_form_is_a_problem_that_does_not_show_it(text: str) -> None:
    (problem,) = load({}, {"CONSUMER_KAFKA_CONSUMER": text}).problems
    assert problem.startswith("kafka.consumer = ******** (from CONSUMER_KAFKA_CONSUMER): must be key=value")


@pytest.mark.parametrize("name", sorted(REFUSED))
@pytest.mark.parametrize("table", ["kafka.consumer", "kafka.producer"])
def test_a_librdkafka_key_that_is_ours_to_set_is_refused_with_its_reason(table: str, name: str) -> None:
    loaded = load({f"{table}.{name}": "x"}, {})
    assert f"{table}.{name}" in loaded.problems[0]
    assert REFUSED[name] in loaded.problems[0]
    assert loaded.settings.kafka.consumer == loaded.settings.kafka.producer == {}


@pytest.mark.parametrize(
    "name", ["stats_cb", "oauth_cb", "ssl.keystore.password", "ssl.key.pem", "sasl.jaas.config"]
)
def test_callbacks_and_secrets_do_not_pass_through_the_maps(name: str) -> None:
    (problem,) = load({f"kafka.consumer.{name}": "CANARY"}, {}).problems
    assert "refused" in problem
    assert name.endswith("_cb") or "CANARY" not in problem


def test_a_refusal_that_points_to_a_setting_points_to_one_that_exists() -> None:
    for reason in REFUSED.values():
        if reason.startswith("use "):
            assert reason.split()[1] in SOURCES

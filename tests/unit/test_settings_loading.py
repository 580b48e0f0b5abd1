"""Settings from flags, environment, file and defaults, and every problem at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.errors import Misconfigured
from consumer.loading import DEFAULT, effective, load
from consumer.settings import Settings
from consumer.settings_keys import KEYS, VARIABLES


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "consumer.toml"


def test_nothing_given_is_the_default_tree_without_problems() -> None:
    loaded = load({}, {})
    assert loaded.require() == Settings()
    assert loaded.problems == ()


def test_a_flag_wins_over_the_environment_which_wins_over_the_file_which_wins_over_the_default(
    toml: Path,
) -> None:
    toml.write_text("[batch]\ncount = 1\nbyte_size = 1\nmax_wait = 1\nidle_wait = 0.5\n")
    environ = {"CONSUMER_BATCH_COUNT": "2", "CONSUMER_BATCH_BYTE_SIZE": "2"}
    loaded = load({"batch.count": "3"}, environ, toml)
    batch = loaded.require().batch
    assert (batch.count, batch.byte_size, batch.max_wait) == (3, 2, 1.0)
    assert loaded.origins["batch.count"] == "command line"
    assert loaded.origins["batch.byte_size"] == "from CONSUMER_BATCH_BYTE_SIZE"
    assert loaded.origins["batch.max_wait"] == str(toml)
    assert {name: origin for name, _, origin in effective(loaded)}["commit.interval"] == DEFAULT


def test_every_key_has_a_variable_of_its_own() -> None:
    assert len(VARIABLES) == len(KEYS)
    assert VARIABLES["CONSUMER_DEAD_LETTER_TOPIC"].name == "dead_letter.topic"
    assert VARIABLES["CONSUMER_KAFKA_SASL_PASSWORD_FILE"].name == "kafka.sasl_password"


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if not key.secret and not key.is_map])
def test_each_default_given_as_text_comes_back_as_itself(name: str) -> None:
    key = KEYS[name]
    text = "" if key.default is None else str(key.default)
    settings = load({}, {key.variable: text}).require()
    assert getattr(getattr(settings, key.section), key.field) == key.default


def test_texts_become_the_types_of_their_keys() -> None:
    environ = {
        "CONSUMER_KAFKA_ALLOW_PLAINTEXT_CREDENTIALS": "TRUE",
        "CONSUMER_DELIVERY_GIVE_UP_AFTER": "1e2",
        "CONSUMER_SCORING_THREADS": "4",
        "CONSUMER_SCORING_MODEL": "null",
    }
    settings = load({}, environ).require()
    assert settings.kafka.allow_plaintext_credentials is True
    assert settings.delivery.give_up_after == 100.0
    assert settings.scoring.threads == 4
    assert settings.scoring.model == "null"


def test_an_empty_variable_unsets_what_may_be_unset_and_overrides_the_file(toml: Path) -> None:
    toml.write_text("[scoring]\nthreads = 8\n")
    assert load({}, {"CONSUMER_SCORING_THREADS": ""}, toml).require().scoring.threads is None


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CONSUMER_BATCH_COUNT", "0"),
        ("CONSUMER_BATCH_COUNT", "many"),
        ("CONSUMER_BATCH_COUNT", "1.5"),
        ("CONSUMER_BATCH_COUNT", ""),
        ("CONSUMER_BATCH_MAX_WAIT", "-1"),
        ("CONSUMER_BATCH_MAX_WAIT", "nan"),
        ("CONSUMER_BATCH_MAX_WAIT", "inf"),
        ("CONSUMER_SCORING_FALSE_ALARM_RATE", "1"),
        ("CONSUMER_METRICS_PORT", "65536"),
        ("CONSUMER_INPUT_FORMAT", "xml"),
        ("CONSUMER_INPUT_TOPIC", "a/b"),
        ("CONSUMER_DEAD_LETTER_TOPIC", ""),
        ("CONSUMER_KAFKA_ALLOW_PLAINTEXT_CREDENTIALS", "maybe"),
        ("CONSUMER_KAFKA_SSL_CA_LOCATION", "/no/such/file"),
    ],
)
def test_a_bad_value_is_one_line_with_key_value_variable_and_what_is_allowed(
    variable: str, text: str
) -> None:
    key = VARIABLES[variable]
    loaded = load({}, {variable: text})
    (problem,) = loaded.problems
    assert problem.startswith(f"{key.name} = {text!r} (from {variable}): ")
    assert ("allowed: " in problem) != ("cannot be read" in problem)
    assert loaded.settings == Settings(), "the default stands in"
    assert key.name in loaded.troubled


def test_all_problems_come_at_once_and_the_rest_of_the_tree_is_as_given(toml: Path) -> None:
    toml.write_text("[batch]\ncount = 'x'\ncuont = 1\n[kafka]\ngroup_id = 'mine'\n")
    loaded = load({"pipeline.depth": "0"}, {"CONSUMER_COMMIT_INTERVL": "5"}, toml)
    with pytest.raises(Misconfigured) as caught:
        loaded.require()
    assert caught.value.problems == loaded.problems
    assert sorted(problem.split(" = ")[0] for problem in loaded.problems) == [
        "CONSUMER_COMMIT_INTERVL",
        "batch.count",
        "batch.cuont",
        "pipeline.depth",
    ]
    assert loaded.settings.kafka.group_id == "mine"


def test_a_default_that_stands_in_says_so_where_settings_are_shown() -> None:
    rows = effective(load({}, {"CONSUMER_BATCH_COUNT": "0"}))
    assert ("batch.count", "1000", "default, in place of the one from CONSUMER_BATCH_COUNT") in rows


def test_a_problem_is_always_one_printable_line() -> None:
    (problem,) = load({}, {"CONSUMER_BATCH_COUNT": "1\n\x1b[31mERROR" + "x" * 10_000}).problems
    assert problem.isprintable()
    assert len(problem) < 300


def test_a_file_that_cannot_be_read_is_a_problem(toml: Path) -> None:
    (problem,) = load({}, {}, toml).problems
    assert problem.startswith(f"--config = {str(toml)!r}: cannot be read: No such file or directory")


def test_a_file_that_is_not_toml_names_line_and_column(toml: Path) -> None:
    toml.write_text("[batch]\ncount = = 1\n")
    (problem,) = load({}, {}, toml).problems
    assert "is not TOML" in problem
    assert "line 2, column 9" in problem


def test_a_file_that_is_not_utf8_is_a_problem(toml: Path) -> None:
    toml.write_bytes(b"\xff\xfe")
    (problem,) = load({}, {}, toml).problems
    assert "UTF-8" in problem


@given(st.dictionaries(st.sampled_from(sorted(VARIABLES)), st.text(max_size=20), max_size=8))
def test_loading_never_raises_and_always_gives_a_whole_tree(environ: dict[str, str]) -> None:
    loaded = load({}, environ)
    assert isinstance(loaded.settings, Settings)
    assert all(problem.isprintable() for problem in loaded.problems)


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=20), max_size=4))
def test_flags_of_any_name_are_taken_or_refused_but_never_lost(flags: dict[str, str]) -> None:
    loaded = load(flags, {})
    assert len(loaded.problems) >= sum(name not in KEYS for name in flags if not name.startswith("kafka."))

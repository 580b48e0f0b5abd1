"""docs/configuration.md is what the tree says."""

from __future__ import annotations

from pathlib import Path

from consumer.loading import load
from consumer.settings_docs import render
from consumer.settings_keys import KEYS

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_the_one_that_the_settings_give() -> None:
    assert PAGE.read_text("utf-8") == render(), (
        "run: python -m consumer.settings_docs > docs/configuration.md"
    )


def test_the_page_names_every_setting_and_its_description() -> None:
    page = render()
    for key in KEYS.values():
        assert f"| `{key.source}` |" in page
        assert key.description in page


def test_the_example_on_the_page_is_accepted_apart_from_its_files(tmp_path: Path) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text(PAGE.read_text("utf-8").split("```toml\n")[1].split("```")[0])
    loaded = load({}, {}, toml)
    assert all("cannot be read" in problem or "must be set" in problem for problem in loaded.problems)
    assert loaded.settings.kafka.consumer == {"fetch.min.bytes": "1000"}
    assert loaded.settings.scoring.false_alarm_rate == 0.001

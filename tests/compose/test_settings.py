"""Every setting that the compose file gives is a real one, and together they are accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from consumer.loading import load
from consumer.settings_keys import VARIABLES
from tests.compose.conftest import ROOT, Project
from tests.report import COUNTS


@pytest.fixture(params=["project", "gpu_project"])
def environment(request: pytest.FixtureRequest, secrets: dict[str, str]) -> dict[str, str]:
    """The consumer's environment, with the secret where it lies here."""
    loaded: Project = request.getfixturevalue(request.param)
    given: Mapping[str, str] = loaded["services"]["consumer"]["environment"]
    return {
        k: v.replace("/run/secrets/redis_password", secrets["REDIS_PASSWORD_FILE"]) for k, v in given.items()
    }


def test_every_variable_of_the_consumer_is_a_setting(environment: dict[str, str]) -> None:
    assert environment.keys() <= VARIABLES.keys()
    COUNTS["settings checked"] += len(environment)


def test_together_they_are_accepted(environment: dict[str, str]) -> None:
    loaded = load({}, environment)
    assert loaded.problems == ()
    assert loaded.settings.metrics.host == "0.0.0.0"
    assert loaded.settings.scoring.model == "demo"


def test_no_other_service_and_no_image_names_a_setting_that_is_none(project: Project) -> None:
    names = {name for service in project["services"].values() for name in service.get("environment") or {}}
    names |= set(re.findall(r"CONSUMER_[A-Z_]+(?==)", (ROOT / "Dockerfile").read_text("utf-8")))
    assert {name for name in names if name.startswith("CONSUMER_")} <= VARIABLES.keys()


def test_the_page_names_only_variables_that_the_files_know() -> None:
    page = (ROOT / "docs/deployment.md").read_text("utf-8")
    files = "".join(
        (ROOT / name).read_text("utf-8") for name in ("docker-compose.yml", "docker-compose.gpu.yml")
    )
    known = set(re.findall(r"\$\{([A-Z_]+)", files))
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.M))
    assert table == known

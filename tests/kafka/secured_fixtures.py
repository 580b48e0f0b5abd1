"""One broker with access control for all tests that name this module in `pytest_plugins`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.kafka.cluster import JARS
from tests.kafka.secured import Secured


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    if not (JARS / ".complete").exists() or not (shutil.which("java") and shutil.which("openssl")):
        pytest.skip("access control needs a broker of our own (`make kafka-jars`, Java 17) and openssl")
    secured = Secured(tmp_path_factory.mktemp("secured"))
    try:
        secured.start()
        yield secured
    finally:
        secured.close()

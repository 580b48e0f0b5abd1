"""docs/delivery.md names for each fault a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "delivery.md").read_text()
ROWS = dict(re.findall(r"^\| (F\d+) \|(.*)$", PAGE, re.MULTILINE))
UNPROVEN = {"F26"}  # there is no schema registry


def test_every_fault_has_its_row() -> None:
    assert list(ROWS) == [f"F{n}" for n in range(1, 43)]


@pytest.mark.parametrize("fault", ROWS)
def test_what_proves_it_exists(fault: str) -> None:
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", ROWS[fault])
    storms = re.findall(r'chaos "([^"]+)"', ROWS[fault])
    assert (tests or storms) or fault in UNPROVEN
    for file, name in tests:
        found = _tests_of(ROOT / file)
        assert name in found, file
    assert set(storms) <= {known.name for known in FAULTS}


def test_every_fault_of_the_storm_is_named() -> None:
    named = set(re.findall(r'chaos "([^"]+)"', PAGE))
    assert {fault.name for fault in FAULTS} - named <= set(_LEFT_OUT)


_LEFT_OUT = (
    "SIGKILL",  # at any moment; its moments have rows of their own
    "SIGKILL before commit",
    "scorer out of memory",
    "scorer returns NaN",
    "scorer raises",
    "Redis killed",
    "Redis flushed",
    "Redis full",
    "Redis read-only",
)


def _tests_of(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}

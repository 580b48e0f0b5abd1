"""Imports point down only, and each vendor has one place: read off the source, functions included."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "consumer"

# Level → modules or packages. A module that is not listed is a command, which nothing else may import.
LEVELS = {
    0: ["errors", "records"],
    1: [
        "allocator", "batcher", "calibration", "codec", "ends", "evaluation", "headers", "limits", "lines",
        "loading", "marks", "masking", "masks", "normalize", "offsets", "pacing", "packing", "partitioner",
        "planning", "prefixes", "results", "settings", "settings_docs", "settings_keys", "settings_redis",
        "settings_refused", "settings_rules", "settings_sources",
    ],
    2: ["ports", "sharing"],
    3: [
        "commits", "dead_letters", "dedupe", "encode", "flight", "intake", "isolation", "pipeline",
        "templates",
    ],
    4: ["kafka", "ops", "scoring", "stores"],
}  # fmt: skip
COMMANDS = 5
LEVEL = {module: level for level, modules in LEVELS.items() for module in modules}

CORE_VENDORS = {"msgspec", "numpy"}
VENDORS = {
    "torch": {"scoring"},
    "transformers": {"scoring"},
    "tokenizers": {"scoring"},
    "safetensors": {"scoring"},
    # `consumer version` names the client's version; the audit shares no reader with what it audits.
    "confluent_kafka": {"kafka", "demo", "cli", "verify"},
    "redis": {"stores"},
    "prometheus_client": {"ops", "demo"},  # the demonstration reads what replicas tell, as anybody can
}


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def _part(path: Path) -> str:
    """The module or package directly under `consumer` that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _level(part: str) -> int:
    return LEVEL.get(part, COMMANDS)


@functools.cache
def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def _imports(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from _from(str(node.module), node.names)


def _from(module: str, names: list[ast.alias]) -> Iterator[str]:
    """`from consumer import errors` imports the module consumer.errors."""
    yield from ([f"consumer.{name.name}" for name in names] if module == "consumer" else [module])


def _own(path: Path) -> Iterator[str]:
    for name in _imports(path):
        first, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if first == "consumer" and part and not part.startswith("__version"):
            yield part


def _foreign(path: Path) -> set[str]:
    firsts = {name.partition(".")[0] for name in _imports(path)}
    return firsts - sys.stdlib_module_names - {"consumer", "__future__"}


FILES = pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(PACKAGE)))


def test_every_listed_level_is_a_module_or_a_package_of_a_vendor() -> None:
    here = {_part(path) for path in _modules()}
    assert {module for module in LEVEL if LEVEL[module] <= 3} <= here


@FILES
def test_imports_point_down_only(path: Path) -> None:
    up = {part for part in _own(path) if _level(part) > _level(_part(path))}
    assert not up, "imports from above; if it is new, give it a level in this file"


@FILES
def test_vendors_do_not_know_each_other(path: Path) -> None:
    part = _part(path)
    siblings = {other for other in _own(path) if _level(other) == 4 and other != part}
    assert _level(part) != 4 or not siblings


@FILES
def test_the_core_imports_only_the_standard_library_numpy_and_msgspec(path: Path) -> None:
    assert _level(_part(path)) > 3 or _foreign(path) <= CORE_VENDORS


@FILES
def test_each_vendor_is_imported_in_its_place_only(path: Path) -> None:
    misplaced = {name for name in _foreign(path) if _part(path) not in VENDORS.get(name, {_part(path)})}
    assert not misplaced


@FILES
def test_only_the_command_line_reads_the_environment(path: Path) -> None:
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.name
        for node in _nodes(path)
        if isinstance(node, ast.Attribute | ast.alias)
    }
    reads = names & {"environ", "environb", "getenv", "getenvb"}
    # The demo hands its environment on to the processes that it starts. The package `scoring` reads no
    # setting either: it tells OpenMP, which has no other ear, how its threads wait.
    tells_openmp = path == PACKAGE / "scoring" / "__init__.py"
    allowed = tells_openmp or _part(path).startswith(("cli", "__main__", "demo"))
    assert not reads or allowed, "take it as an argument"


AUDIT_MAY_IMPORT = {
    "consumer.errors",
    "consumer.kafka.config",  # how to reach the brokers
    "consumer.loading",
    "consumer.masking",
    "consumer.settings",
}


@pytest.mark.parametrize("path", [p for p in _modules() if _part(p) == "verify"], ids=lambda path: path.stem)
def test_the_audit_shares_no_code_with_what_it_audits(path: Path) -> None:
    ours = {name for name in _imports(path) if name.partition(".")[0] == "consumer"}
    assert {name for name in ours if not name.startswith("consumer.verify.")} <= AUDIT_MAY_IMPORT


def test_no_two_modules_of_the_core_import_each_other() -> None:
    graph = {_part(path): set(_own(path)) for path in _modules() if _level(_part(path)) <= 3}
    while graph:
        leaves = {part for part, needs in graph.items() if not needs & graph.keys()}
        assert leaves, f"a circle among {sorted(graph)}"
        graph = {part: needs for part, needs in graph.items() if part not in leaves}


@FILES
def test_nothing_that_holds_a_client_forks(path: Path) -> None:
    """A producer that is used in a forked child never delivers. Processes that the demonstration starts
    begin as programs of their own."""
    names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert not names & {"fork", "forkpty"}
    assert not _foreign(path) & {"multiprocessing"}

"""Breaks the code on purpose, one line at a time, and demands that a named test turns red each time.

    python -m tests.mutants.run            # all of the table
    python -m tests.mutants.run revoke     # those whose name contains the word

Each bug is made in a copy of the tree, never in the tree itself. Exit 1 when a bug survives, when its line
is not in its file exactly once any more, or when a named test is not green before anything is broken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tests.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
_COPIED = ("consumer", "schemas", "tests", "docs", "pyproject.toml", "README.md", "ARCHITECTURE.md")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".hypothesis", "lib")
_SECONDS = 120  # a bug that hangs its test is found as well
_AT_ONCE = 2


class Verdict(StrEnum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    STALE = "DOES NOT APPLY"
    BROKEN = "TEST DID NOT RUN"


class Outcome(NamedTuple):
    mutant: Mutant
    verdict: Verdict
    detail: str


def main(words: Sequence[str]) -> int:
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    if not chosen:
        _say("\n  ".join(["no such mutant; known:", *(m.name for m in MUTANTS)]))
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as home:
        if red := _baseline(Path(home) / "baseline", chosen):
            _say(f"not green before anything is broken:\n{red}")
            return 1
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            numbered = enumerate(chosen)
            outcomes = list(pool.map(lambda pair: try_out(Path(home) / str(pair[0]), pair[1]), numbered))
    _print_table(outcomes)
    return 0 if all(o.verdict is Verdict.KILLED for o in outcomes) else 1


def try_out(copy: Path, mutant: Mutant) -> Outcome:
    """Make the bug in a fresh copy and run its tests there."""
    _copy_tree(copy)
    if not apply(copy, mutant):
        return Outcome(mutant, Verdict.STALE, mutant.file)
    try:
        code, output = _run_tests(copy, mutant.tests)
    except subprocess.TimeoutExpired:
        return Outcome(mutant, Verdict.KILLED, "by hanging")
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    failed = [line for line in output.splitlines() if line.startswith("FAILED")]
    if code == 1 and failed:
        return Outcome(mutant, Verdict.KILLED, failed[0].split(" - ")[0].removeprefix("FAILED "))
    verdict = Verdict.SURVIVED if code == 0 else Verdict.BROKEN
    return Outcome(mutant, verdict, ", ".join(mutant.tests) if code == 0 else output[-500:])


def apply(root: Path, mutant: Mutant) -> bool:
    """Put the bug in place; False when its line is not there exactly once."""
    file = root / mutant.file
    text = file.read_text() if file.exists() else ""
    if text.count(mutant.old) != 1:
        return False
    file.write_text(text.replace(mutant.old, mutant.new))
    return True


def _baseline(copy: Path, mutants: Sequence[Mutant]) -> str:
    """Empty when all named tests are green, else what pytest said."""
    _copy_tree(copy)
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    code, output = _run_tests(copy, tests)
    return "" if code == 0 else output[-3000:]


def _copy_tree(copy: Path) -> None:
    copy.mkdir()
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=_LEFT_OUT)
        elif source.exists():
            shutil.copy(source, copy / name)


def _run_tests(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """pytest's exit code and output. The copy comes first on the path, before any installed package."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return done.returncode, done.stdout + done.stderr


def _print_table(outcomes: Sequence[Outcome]) -> None:
    width = max(len(o.mutant.name) for o in outcomes)
    for outcome in outcomes:
        _say(f"{outcome.mutant.name:<{width}}  {outcome.verdict:<8}  {outcome.detail}")
    killed = sum(o.verdict is Verdict.KILLED for o in outcomes)
    _say(f"{killed} of {len(outcomes)} bugs found by a named test")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

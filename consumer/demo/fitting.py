"""`consumer fit` as a user would call it: a process of its own, its progress shown where ours is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence


def run_fit(arguments: Sequence[str]) -> int:
    """Its exit code. Blocks until it has ended."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "consumer", "fit", *arguments]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own program, no shell

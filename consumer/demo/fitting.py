"""`consumer fit` as a user would call it: a process of its own, its progress shown where ours is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def run_fit(arguments: Sequence[str], records: Path | None = None) -> int:
    """Its exit code; `records` becomes its standard input. Blocks until it has ended."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "consumer", "fit", *arguments]
    with Path(os.devnull if records is None else records).open("rb") as source:
        return subprocess.run(command, stdin=source, check=False).returncode  # noqa: S603 - our own program

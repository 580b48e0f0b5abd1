"""The same texts scored again, away from Kafka."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.kafka.replicas import ROOT, SERVICE


def scores_in_a_file(file: Path, events: Sequence[bytes]) -> dict[str, float]:
    """Values of records through `consumer score` with the bundled model, by message. `file` is written."""
    file.write_bytes(b"".join(event + b"\n" for event in events))
    command = [sys.executable, *SERVICE, "score", "--model", "demo", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode()[-2000:]}"
    return {r["message"]: r["score"] for r in map(msgspec.json.decode, done.stdout.splitlines())}

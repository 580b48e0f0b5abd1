"""Five mistakes at once, and what `consumer check` says of them: python scripts/show_check.py

A wrong broker beside a right one, a missing topic, a misspelt variable, a value out of range and a model
with one bit turned over; and a password, which must not be shown. Exit 0 if all came out as they should.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from consumer.demo.cluster import InProcessCluster
from consumer.scoring.model_dir import Description, Reference, write_model

SECRET = "planted-" + os.urandom(8).hex()
WRONG_BROKER = "localhost:9"


def corrupted_model(directory: Path) -> Path:
    """A model directory with one bit turned over in its weights."""
    weights = {"weights": np.zeros(64, dtype=np.float32)}
    write_model(
        directory, Description("corrupted", (), Reference("", 0.0), {}), {"language-model": (weights, {})}
    )
    file = directory / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    return directory


def run_check(bootstrap: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`consumer check` with all five mistakes."""
    password = folder / "password"
    password.write_text(SECRET)
    variables = {
        "CONSUMER_BATCH_CUONT": "500",
        "CONSUMER_SCORING_FALSE_ALARM_RATE": "1.5",
        "CONSUMER_KAFKA_SSL_KEY_PASSWORD_FILE": str(password),
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CONSUMER_")}
    command = [
        sys.executable,
        "-m",
        "consumer",
        "check",
        "--bootstrap-servers",
        f"{bootstrap},{WRONG_BROKER}",
    ]
    command += ["--output-topic", "no-such-topic", "--model", str(corrupted_model(folder / "model"))]
    return subprocess.run(command, env=clean | variables, capture_output=True, text=True, check=False)


def main() -> int:
    with InProcessCluster() as cluster, tempfile.TemporaryDirectory() as folder:
        for topic in ("events", "anomaly-dead-letters"):
            cluster.create_topic(topic)
        done = run_check(cluster.bootstrap, Path(folder))
    lines = len(done.stderr.splitlines())
    shown = SECRET in done.stdout + done.stderr
    sys.stdout.write(f"{done.stdout}\n{done.stderr}\n")
    sys.stdout.write(f"lines: {lines} of 5, exit code: {done.returncode} of 2, secret shown: {shown}\n")
    return 0 if (lines, done.returncode, shown) == (5, 2, False) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzes one target, guided by coverage: `python -m tests.fuzz.run codec 300`. Needs atheris (`make fuzz`).

An input that breaks the target is written to build/fuzz/<target>-… and ends the run with exit code 1 or 77;
put it into findings.py when it is mended. New paths are kept in build/fuzz/<target>/ for the next run.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["consumer"]):
    from tests.fuzz.seeds import LONGEST, seeds
    from tests.fuzz.targets import TARGETS

FOLDER = Path("build") / "fuzz"


def main(target: str, seconds: int) -> None:
    """Never returns: the fuzzer ends the process."""
    kept = FOLDER / target
    kept.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (kept / sha256(seed).hexdigest()[:16]).write_bytes(seed)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={FOLDER / target}-",
        "-timeout=20",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(kept)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

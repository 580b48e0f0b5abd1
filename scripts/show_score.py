"""Shows `consumer score` on 1,000 lines with binary, empty, huge and deeply nested ones among them.

Exit code 0 if every line got exactly one result or one named rejection, in order.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

LINES = 1_000
ODD = {
    10: ("bytes that are not UTF-8", bytes(range(128, 256))),
    20: ("empty", b""),
    30: ("1 MB of one letter", b"x" * 1_000_000),
    40: ("more than input.max_bytes", b"y" * 1_500_000),
    50: ("100,000 opening brackets", b"[" * 100_000),
    60: ("JSON nested 5,000 deep", b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    70: ("control characters", b"\x00\x01\x1b[31mred"),
    80: ("JSON cut short", b'{"message": "cut'),
    90: ("a message that is a number", b'{"message": 5}'),
    100: ("a JSON event", b'{"message": "disk full", "level": "error"}'),
}


def main() -> int:
    """Score the lines, print what became of the odd ones, return the exit code."""
    lines = [f"Jan 01 10:00:{n % 60:02d} host app[{n}]: request {n} done".encode() for n in range(LINES)]
    for number, (_, line) in ODD.items():
        lines[number] = line
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.log"
        path.write_bytes(b"\n".join(lines) + b"\n")
        command = [sys.executable, "-m", "consumer", "score", "--model", "demo", str(path)]
        answers = [
            json.loads(line)
            for line in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
        ]
    print(f"{LINES} lines, {len(answers)} answers: {dict(Counter(a['outcome'] for a in answers))}")
    for number, (what, _) in ODD.items():
        print(f"  line {number + 1:4} {what:28} → {_told(answers[number])}")
    return int(len(answers) != LINES)


def _told(answer: dict[str, object]) -> str:
    if answer["outcome"] == "rejected":
        return f"rejected, {answer['reason']}: {answer['detail']}"
    flags = [name for name in ("truncated", "replaced") if answer.get(name)]
    score = f" {answer['score']:.2f}" if "score" in answer else ""
    return f"{answer['outcome']}{score} {' '.join(flags)}".strip()


if __name__ == "__main__":
    sys.exit(main())

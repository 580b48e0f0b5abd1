"""Streams that are closed or full: an exit code and one line, and no other file gets their numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(command: str, redirections: str) -> subprocess.CompletedProcess[str]:
    script = f'exec "{sys.executable}" {command} {redirections}'
    return subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    done = run(f"-m consumer fit - --out {tmp_path / 'm'}", "<&-")
    assert done.returncode == 2
    assert "only 0 different texts in 0 records" in done.stderr


@pytest.mark.parametrize(
    ("redirection", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_an_output_that_cannot_be_written_is_one_line_and_exit_code_1(redirection: str, why: str) -> None:
    done = run("-m consumer version", redirection)
    assert done.returncode == 1
    assert done.stderr == f"cannot read or write a stream: {why}\n"


def test_what_is_told_on_a_closed_standard_error_goes_into_no_file_that_is_opened_later(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "from consumer.__main__ import complete_standard_streams\n"
        "complete_standard_streams()\n"
        f"opened = open({str(tmp_path / 'opened')!r}, 'w')\n"
        "print('told', file=sys.stderr, flush=True)\n"
        "print(opened.fileno() > 2, os.get_inheritable(2))\n"
    )
    done = run(str(program), "<&- 2>&-")
    assert done.stdout == "True True\n"
    assert (tmp_path / "opened").read_text() == ""

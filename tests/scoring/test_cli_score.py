"""`consumer score` answers every line once, in order, whatever the line is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from consumer.cli import cli
from tests.scoring.conftest import normal_events

pytestmark = pytest.mark.torch

_HOSTILE: list[tuple[bytes, str, str | None]] = [
    (b"session opened for user alice in 5 ms", "scored", None),
    (b"\x00\xff\xfe\x80 binary", "scored", None),
    (b"", "empty", None),
    (b" \t ", "empty", None),
    (b"x" * 1_000_000, "scored", None),
    (b"y" * 1_500_000, "rejected", "oversize"),
    (b'{"message": "m", "attributes": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "rejected", "too_complex"),
    (b'{"message": "job nightly failed", "level": "ERROR"}', "scored", None),
    (b'{"message": 5}', "rejected", "invalid"),
    (b"{bad", "rejected", "undecodable"),
    (b'{"message": "\xff"}', "rejected", "undecodable"),
]


def _run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    command = ["score", "--device", "cpu", "--set", "scoring.threads=1", *map(str, arguments)]
    return CliRunner().invoke(cli, command, input=stdin)


def _rows(text: str | bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_hostile_lines_get_one_result_or_one_named_rejection_each(model: Path, tmp_path: Path) -> None:
    many = [(e.message.encode(), "scored", None) for e in normal_events(989, seed=4)]
    cases = [*many[:500], *_HOSTILE, *many[500:]]
    source = tmp_path / "hostile.log"
    source.write_bytes(b"\n".join(line for line, _, _ in cases))
    run = _run("--model", model, source)
    assert run.exit_code == 0, run.stderr
    rows = _rows(run.stdout)
    assert [(row["outcome"], row.get("reason")) for row in rows] == [case[1:] for case in cases]
    assert [row["id"] for row in rows] == [f"{source}|0|{n}" for n in range(1_000)]
    assert all(row["line"] == n for n, row in enumerate(rows, 1) if row["outcome"] == "rejected")
    assert "1000 lines" in run.stderr
    assert "4 rejected" not in run.stderr
    assert "5 rejected (" in run.stderr


def test_compressed_input_and_standard_input_score_alike(model: Path, tmp_path: Path) -> None:
    lines = b"".join(e.message.encode() + b"\n" for e in normal_events(30, seed=8))
    packed = tmp_path / "app.log.gz"
    packed.write_bytes(gzip.compress(lines))
    target = tmp_path / "scores.jsonl"
    from_file = _run("--model", model, "--output", target, packed)
    from_stdin = _run("--model", model, "-", stdin=lines)
    assert (from_file.exit_code, from_stdin.exit_code) == (0, 0)
    assert from_file.stdout == ""
    scores = [[row["score"] for row in _rows(text)] for text in (target.read_bytes(), from_stdin.stdout)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-2)


def test_format_and_include_are_those_of_the_service(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "events.jsonl"
    source.write_bytes(b'{"message": "worker closed by user alice", "k": 1}\nplain\n')
    text = _rows(_run("--model", model, "--format", "text", "--include", "none", source).stdout)
    assert ["message" in row for row in text] == [False, False]
    whole = _rows(_run("--model", model, "--format", "json", "--include", "event", source).stdout)
    assert whole[0]["event"] == {"message": "worker closed by user alice", "k": 1}
    assert (whole[1]["outcome"], whole[1]["line"]) == ("rejected", 2)


def test_batches_of_any_size_give_the_same_output(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "app.log"
    source.write_bytes(b"".join(e.message.encode() + b"\n" for e in normal_events(25, seed=3)))
    runs = [_rows(_run("--model", model, "--set", f"batch.count={n}", source).stdout) for n in (1, 7, 1_000)]
    scores = [[row["score"] for row in rows] for rows in runs]
    assert scores[0] == pytest.approx(scores[2], abs=1e-2)
    assert scores[1] == pytest.approx(scores[2], abs=1e-2)


def test_wrong_input_is_told_whole_before_anything_is_scored(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "app.log"
    source.write_text("x\n")
    run = _run("--model", model, "--output", source, source, tmp_path / "gone")
    assert run.exit_code == 2
    assert "gone: cannot be read" in run.stderr
    assert "is one of the files to read" in run.stderr
    assert source.read_text() == "x\n"


@pytest.mark.parametrize("chosen", [[], ["--model", "/nowhere"]])
def test_without_a_model_the_command_names_how_to_get_one(tmp_path: Path, chosen: list[str]) -> None:
    source = tmp_path / "app.log"
    source.write_text("x\n")
    run = _run(*chosen, source)
    assert run.exit_code == 2
    assert "consumer fit" in run.stderr

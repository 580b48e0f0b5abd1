"""`consumer evaluate` with real models: small ones, fitted here or loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from consumer.cli import cli
from consumer.scoring.model_dir import read_model
from consumer.scoring.scorer import load_scorer
from tests.scoring.conftest import normal_events, scoring

pytestmark = pytest.mark.torch

_ODD = [
    "fatal: segfault in unit zeta, memory corrupted",
    "kernel panic, cannot continue",
    "<script>alert(1)</script> rejected",
]
_FAST = ("--parts", "novelty,severity", "--blocks", "4")
_LABELS = ("--label-column", "1", "--normal-value", "-")


def run(command: str, *arguments: str | Path) -> Result:
    common = ["--set", "scoring.threads=1"]
    return CliRunner().invoke(cli, [command, *common, *map(str, arguments)])


def report(*arguments: str | Path) -> dict:
    result = run("evaluate", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def labelled_lines(tmp_path: Path) -> Callable[..., Path]:
    def write(label: str = "KERNELBUG", count: int = 240) -> Path:
        """Anomalies in both halves, more of them in the second."""
        lines = [f"- {event.message}" for event in normal_events(count, seed=6)]
        for place, message in ((40, _ODD[0]), (150, _ODD[1]), (190, _ODD[2]), (220, _ODD[1])):
            lines.insert(place, f"{label} {message}")
        path = tmp_path / f"{label}.log"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def test_a_stored_model_is_judged_on_labelled_json_records(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    # Three real anomalies, and five that nobody could tell: what is left of them depends on the parts.
    events = [(e.message, e.level, "ok") for e in normal_events(150, seed=3)]
    events += [(e.message, e.level, "bad") for e in normal_events(5, seed=77)]
    events += [(message, "error", "bad") for message in _ODD]
    rows = [{"message": m, "y": y} | ({"level": level} if level else {}) for m, level, y in events]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = report("--model", model, "--label-field", "y", "--normal-value", "ok", "--ablate", path)
    assert (found["model"], found["version"]) == ("small", read_model(model).version)
    assert (found["data"]["records"], found["data"]["anomalies"]) == (158, 8)
    assert found["scored"]["order"]["records"]["recall_at"][0] >= 3 / 8
    assert found["fitted_on"] is None
    assert list(found["without"]) == ["language-model", "novelty", "severity"]
    assert len({json.dumps(each) for each in found["without"].values()} | {json.dumps(found["scored"])}) > 1
    assert "rare level" in found["baselines"]
    table = run("evaluate", "--model", model, "--label-field", "y", "--normal-value", "ok", path)
    assert "version " + found["version"] in table.stdout
    assert f"{found['scored']['order']['records']['average_precision']:.4f}" in table.stdout


def test_a_chronological_split_learns_the_first_normal_lines_and_judges_the_rest(
    labelled_lines: Callable[..., Path],
) -> None:
    found = report("--split", "chronological", *_FAST, *_LABELS, "--ablate", labelled_lines())
    assert found["fitted_on"]["records"] == 122
    assert found["fitted_on"]["normal"] == 121
    assert found["data"]["label_in_model_input"] == 0
    assert (found["data"]["records"], found["data"]["anomalies"]) == (122, 3)
    assert found["scored"]["order"]["records"]["recall_at"] == [1.0, 1.0]
    assert list(found["without"]) == ["novelty", "severity"]


def test_labels_of_the_judged_part_change_the_figures_and_no_threshold(
    labelled_lines: Callable[..., Path],
) -> None:
    path = labelled_lines()
    plain = report("--split", "chronological", *_FAST, *_LABELS, path)
    lines = path.read_text().splitlines()
    path.write_text("".join(f"{'X' + line if n > 200 else line}\n" for n, line in enumerate(lines)))
    other = report("--split", "chronological", *_FAST, *_LABELS, path)
    alerts = [each["scored"]["alerts"] for each in (plain, other)]
    assert alerts[0]["per_10000"] == alerts[1]["per_10000"] > 0
    assert alerts[0]["recall"] != alerts[1]["recall"]


def test_no_text_is_in_both_parts_of_a_random_split_and_the_seed_draws_them(
    labelled_lines: Callable[..., Path],
) -> None:
    path = labelled_lines()
    asked = ("--split", "random", "--fit-share", "0.4", *_FAST, *_LABELS, path)
    found = [report(*asked, "--seed", seed) for seed in (2, 2, 5)]
    assert found[0] == found[1] != found[2]
    assert [each["fitted_on"]["seed"] for each in found] == [2, 2, 5]
    assert all(each["data"]["known_records"] == 0 for each in found)
    assert "seed 5" in run("evaluate", *asked, "--seed", 5).stdout


def test_a_label_left_in_the_text_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "leaky.log"
    lines = [f"- {event.message}" for event in normal_events(60, seed=6)]
    path.write_text("\n".join([*lines, "BAD this is bad", "BAD so is this"]))
    result = run("evaluate", "--split", "chronological", *_FAST, *_LABELS, path)
    assert result.exit_code == 0
    assert "model input of 1 records holds their label" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--split", "random", *_LABELS, "--label-field", "y"), "one of --label-field"),
        (("--split", "random", *_LABELS, "--parts", "novelty,magic"), "there is no 'magic'"),
        (("--split", "random", *_LABELS, "--parts", ","), "name one at least"),
        (("--split", "random", *_LABELS, "--severity-words", "/nowhere"), "no word list"),
        (("--split", "random", *_LABELS, "/nowhere/data"), "/nowhere/data: cannot be read"),
        (("--split", "chronological", *_LABELS, "--fit-share", "0.95"), "--fit-share"),
        (("--label-column", "1", "--normal-value", "-"), "scoring.model"),
        (("--label-column", "1"), "--normal-value"),
    ],
)
def test_what_cannot_work_is_refused_with_a_reason(
    labelled_lines: Callable[..., Path], arguments: tuple[str, ...], why: str
) -> None:
    result = run("evaluate", *arguments, labelled_lines())
    assert result.exit_code == 2
    assert why in result.stderr


@pytest.fixture
def wordy(tmp_path: Path) -> Callable[[str], Path]:
    """A model without a language model, with a word list of the user's own."""

    def make(words: str) -> Path:
        source, out, listed = tmp_path / "app.log", tmp_path / f"m{len(words)}", tmp_path / "words"
        source.write_text("".join(f"{event.message}\n" for event in normal_events(80)))
        listed.write_text(words)
        result = run("fit", source, "--out", out, *_FAST, "--severity-words", listed)
        assert result.exit_code == 0, result.stderr
        return out

    return make


def test_parts_and_words_are_in_the_manifest_and_so_in_the_version(wordy: Callable[[str], Path]) -> None:
    first, second = wordy("outage* 3\n"), wordy("outage* 3\nred 1\n")
    manifest = read_model(first).manifest
    assert manifest.sections["severity"].facts == {"weights": {"outage": 3.0}, "whole": []}
    assert "language-model" not in manifest.sections
    assert manifest.training["parts"] == ["novelty", "severity"]
    assert read_model(first).version != read_model(second).version


def test_a_model_without_a_language_model_scores_and_tests_itself(
    wordy: Callable[[str], Path], tmp_path: Path
) -> None:
    model = wordy("outage* 3\n")
    path = tmp_path / "new.log"
    path.write_text("outages everywhere\nsession opened for user alice in 7 ms\n")
    result = run("score", "--model", model, path)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(row["parts"]) for row in rows] == [["novelty", "severity"]] * 2
    assert [row["is_anomaly"] for row in rows] == [True, False]
    assert not any(row.get("tokens") for row in rows)
    scorer = load_scorer(scoring(model), explain_from=0.0)
    assert scorer.self_test()
    assert scorer.stats().device == "cpu"
    scorer.close()

"""examples/sequence_classifier.py with a small random checkpoint, through the commands."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
)

ROOT = Path(__file__).parents[2]
WORDS = ["[PAD]", "[UNK]", "disk", "is", "full", "ok", "on", "node", "one"]
TEXTS = ["disk is full on node one", "ok", "node ok " * 40, "strange words"]

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("classifier")
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=32
    ).save_pretrained(directory)
    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        id2label={0: "anomalous", 1: "normal"},
        label2id={"anomalous": 0, "normal": 1},
        initializer_range=1.0,
    )
    BertForSequenceClassification(config).save_pretrained(directory)
    return directory


def _consumer(*arguments: str, texts: str = "") -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CONSUMER_")}
    environment |= {"PYTHONPATH": str(ROOT / "examples"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "consumer", *arguments]
    command += ["--set", "scoring.factory=sequence_classifier:make_scorer", "--device", "cpu"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        input=texts,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def _expected(directory: Path, text: str) -> float:
    """-log10 of the probability of the class `normal`, one text at a time."""
    ids = [WORDS.index(w) if w in WORDS else 1 for w in text.split()][:32]
    model: Any = AutoModelForSequenceClassification.from_pretrained(directory, local_files_only=True)
    with torch.inference_mode():
        probabilities = model.eval()(input_ids=torch.tensor([ids])).logits.double().softmax(-1)
    return -math.log10(float(probabilities[0, 1]))


def test_a_local_classifier_scores_lines_as_it_does_one_by_one(classifier: Path) -> None:
    done = _consumer(
        "score", "--model", str(classifier), "--false-alarm-rate", "0.3", "-", texts="\n".join(TEXTS)
    )
    assert done.returncode == 0, done.stderr
    results = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    expected = [_expected(classifier, text) for text in TEXTS]
    assert [r["score"] for r in results] == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 3) for score in expected}) == len(TEXTS)
    assert [r["threshold"] for r in results] == pytest.approx([-math.log10(0.3)] * len(TEXTS))
    assert {r["model"]["name"] for r in results} == {classifier.name}


def test_check_loads_and_tries_it(classifier: Path) -> None:
    done = _consumer("check", "--model", str(classifier), "--bootstrap-servers", "127.0.0.1:1")
    assert f"# model: '{classifier.name}', version " in done.stdout
    assert "scoring" not in done.stderr


def test_weights_that_are_not_safetensors_are_refused_at_the_start(classifier: Path, tmp_path: Path) -> None:
    for path in classifier.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    done = _consumer("score", "--model", str(tmp_path), "-", texts="ok\n")
    assert done.returncode == 2
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("scoring.factory")]
    assert "failed to make a scorer" in line
    assert "safetensors" in line


def test_a_directory_without_a_model_is_refused_by_the_factory_itself(tmp_path: Path) -> None:
    done = _consumer("score", "--model", str(tmp_path), "-", texts="ok\n")
    assert done.returncode == 2
    assert "holds no config.json" in done.stderr

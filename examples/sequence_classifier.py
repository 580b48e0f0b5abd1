"""Scores with any local directory of an AutoModelForSequenceClassification.

scoring.factory = "sequence_classifier:make_scorer", scoring.model = the directory. The score of a text is
-log10 of the probability of the class that is called normal (`LABEL_0` where none has that name), so the
threshold follows from scoring.false_alarm_rate as far as the classifier's probabilities can be trusted.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from consumer.errors import Misconfigured
from consumer.records import Event
from consumer.settings import Scoring

BATCH = 32  # texts of a forward pass
LOCAL = {"local_files_only": True, "trust_remote_code": False}


class Classifier:
    """A SimpleScorer. Texts are cut to what the model admits."""

    def __init__(self, directory: Path, device: str, threshold: float) -> None:
        self.name, self.version = directory.name, _version(directory)
        self.device, self.threshold = device, threshold
        self._tokenizer = AutoTokenizer.from_pretrained(directory, **LOCAL)
        model = AutoModelForSequenceClassification.from_pretrained(directory, use_safetensors=True, **LOCAL)
        self._model = model.eval().to(device)
        self._normal = _normal_class(model.config.id2label)
        self._max_tokens = min(self._tokenizer.model_max_length, model.config.max_position_embeddings)

    def score(self, events: Sequence[Event]) -> list[float]:
        """Texts of similar length share a forward pass, so that little of it is padding."""
        order = sorted(range(len(events)), key=lambda index: len(events[index].message))
        scores = [0.0] * len(events)
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            for index, score in zip(chosen, self._forward([events[i].message for i in chosen]), strict=True):
                scores[index] = score
        return scores

    @torch.inference_mode()
    def _forward(self, texts: list[str]) -> list[float]:
        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self.device)
        logits = self._model(**tokens).logits.double()
        scores: list[float] = (-logits.log_softmax(-1)[:, self._normal] / math.log(10)).tolist()
        return scores


def make_scorer(scoring: Scoring) -> Classifier:
    directory = Path(scoring.model or "")
    if not (directory / "config.json").is_file():
        raise Misconfigured(
            [f"scoring.model = {scoring.model!r}: holds no config.json; name a classifier's directory"]
        )
    if scoring.threads is not None:
        torch.set_num_threads(scoring.threads)
    cuda = scoring.device == "cuda" or (scoring.device == "auto" and torch.cuda.is_available())
    return Classifier(directory, "cuda" if cuda else "cpu", -math.log10(scoring.false_alarm_rate))


def _normal_class(labels: dict[int, str]) -> int:
    return next((number for number, label in labels.items() if label.lower() == "normal"), 0)


def _version(directory: Path) -> str:
    """Of all files that make up the model: another weight is another version."""
    digest = hashlib.sha256()
    for path in sorted(p for p in directory.iterdir() if p.is_file()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]

"""The language model: the same for the same seed, loadable by the libraries it is made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from consumer.errors import Misconfigured
from consumer.packing import Windowing, pack
from consumer.scoring.judge import FittedModel
from consumer.scoring.language_model import FittedLanguageModel, LanguageModel, Surprisals, summarise
from consumer.scoring.parts import FitTask
from consumer.scoring.tokenizer import VOCABULARY, ItemTokenizer

pytestmark = pytest.mark.torch
ITEMS = [f"<info> {a} {b} <n>" for a in ("open", "close", "read", "write") for b in ("disk", "port", "log")]


def _part(fitted: FittedModel) -> FittedLanguageModel:
    return next(part for part in fitted.parts if isinstance(part, FittedLanguageModel))


def _task(seed: int = 0) -> FitTask:
    return FitTask(ITEMS, [1] * len(ITEMS), seed=seed)


@pytest.fixture(scope="module")
def small() -> FittedLanguageModel:
    torch.set_num_threads(1)
    return LanguageModel("cpu").fit(_task())


def test_the_same_seed_fits_the_same_model_and_another_seed_another(small: FittedLanguageModel) -> None:
    probe = ["<info> open port <n>", "never seen"]
    again = LanguageModel("cpu").fit(_task())
    other = LanguageModel("cpu").fit(_task(seed=1))
    assert (again.measure(probe).values == small.measure(probe).values).all()
    assert again.hint == small.hint
    assert not np.allclose(other.measure(probe).values, small.measure(probe).values, atol=1e-3)


def test_a_hint_saves_the_search_and_trains_alike(small: FittedLanguageModel) -> None:
    steps: list[int] = []
    task = _task()._replace(hint=small.hint, progress=lambda stage, done, total: steps.append(total))
    hinted = LanguageModel("cpu").fit(task)
    assert hinted.hint == small.hint
    assert len(steps) == steps[0] > 0
    familiar, strange = hinted.measure(["<info> read disk <n>", "zq%9|~ kernel oops"]).values[:, 0]
    assert familiar < strange / 2


def test_what_was_learnt_surprises_less_than_what_was_not(small: FittedLanguageModel) -> None:
    values = small.measure(["<info> open disk <n>", "<info> disk open <n>", "\u00e9\u00e8\u4e2d"]).values
    assert values[0, 0] < values[1, 0] < values[2, 0]


def test_a_saved_model_measures_the_same(small: FittedLanguageModel) -> None:
    probe = [*ITEMS, "something else entirely", "x" * 2_000]
    loaded = LanguageModel("cpu").load(*small.save())
    assert (loaded.measure(probe).values == small.measure(probe).values).all()


@pytest.mark.parametrize("damage", ["precision", "weights", "config", "tokenizer"])
def test_what_does_not_belong_together_is_refused(small: FittedLanguageModel, damage: str) -> None:
    arrays, facts = (dict(saved) for saved in small.save())
    texts = dict(facts["texts"])  # type: ignore[call-overload]
    if damage == "precision":
        facts["precision"] = "bf16"
    elif damage == "weights":
        arrays.pop("transformer.wte.weight")
    elif damage == "config":
        texts["config.json"] = texts["config.json"].replace('"n_embd": 64', '"n_embd": 32')
    else:
        texts["tokenizer.json"] = "{}"
    with pytest.raises(Misconfigured, match="language-model"):
        LanguageModel("cpu").load(arrays, {**facts, "texts": texts})


def test_transformers_loads_a_model_directory_and_predicts_the_same(model: Path, fitted: FittedModel) -> None:
    theirs = AutoModelForCausalLM.from_pretrained(model, local_files_only=True, use_safetensors=True)
    ours = _part(fitted).engine.model
    ids = torch.arange(40).unsqueeze(0)
    with torch.inference_mode():
        torch.testing.assert_close(theirs.eval()(input_ids=ids).logits, ours(input_ids=ids).logits)


def test_the_tokenizer_file_is_read_by_tokenizers_and_transformers(model: Path, fitted: FittedModel) -> None:
    text = "session opened for user alice"
    spans = _part(fitted).spans(text)
    bare = Tokenizer.from_file(str(model / "tokenizer.json"))
    theirs = AutoTokenizer.from_pretrained(model, local_files_only=True)
    assert [tuple(span) for span in spans] == bare.encode(text).offsets
    assert theirs(text)["input_ids"] == bare.encode(text).ids


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60))
def test_no_text_reaches_the_mark_and_none_fails(text: str) -> None:
    tokenizer = _TOKENIZER
    (ids,) = tokenizer.ids([text])
    assert all(0 <= each < tokenizer.mark for each in ids)
    assert len(tokenizer.spans(text)) == len(ids)
    assert all(0 <= span.start < span.end <= len(text) for span in tokenizer.spans(text))


_TOKENIZER = ItemTokenizer.learn([*ITEMS, "<|endoftext|> <s> [CLS]"])


def test_text_that_spells_a_control_token_stays_text() -> None:
    (ids,) = _TOKENIZER.ids(["<|endoftext|>"])
    assert len(ids) > 1
    assert _TOKENIZER.size <= VOCABULARY


@given(st.lists(st.lists(st.floats(0, 50), max_size=8), min_size=1, max_size=6))
def test_statistics_are_those_of_each_text_alone(nats: list[list[float]]) -> None:
    packed = pack([[0] * len(each) for each in nats], 511, Windowing())
    flat = np.array([value for each in nats for value in (0.0, *each)])
    values, lengths = summarise(Surprisals(flat, packed.bounds))
    assert lengths.tolist() == [len(each) for each in nats]
    for row, each in zip(values, nats, strict=True):
        top = sorted(each)[-3:]
        expected = [
            sum(each) / max(1, len(each)),
            max(each, default=0),
            sum(top) / max(1, len(top)),
            sum(each),
        ]
        np.testing.assert_allclose(row, expected, atol=1e-9)

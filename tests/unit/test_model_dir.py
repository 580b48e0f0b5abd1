"""A model directory is read only when every byte is as its manifest says; no torch is needed for that."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from consumer.errors import Misconfigured
from consumer.scoring.model_dir import (
    FORMAT_VERSION,
    TEXTS,
    Description,
    Reference,
    locate,
    read_model,
    verify,
    write_model,
)

_SECTIONS = {
    "language-model": ({"w": np.arange(6.0).reshape(2, 3)}, {"a": 1, TEXTS: {"tokenizer.json": "{}\n"}}),
    "severity": ({}, {"words": ["fatal"]}),
    "known": ({"counts": np.array([3, 4])}, {"items": 2}),
}
_ABOUT = Description("mine", (("n", "[0-9]+"),), Reference("text", 1.5, (2.0,)), {"records": 7})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_model(tmp_path / "model", _ABOUT, _SECTIONS)
    return tmp_path / "model"


def _problems(directory: Path) -> tuple[str, ...]:
    with pytest.raises(Misconfigured) as caught:
        read_model(directory)
    return caught.value.problems


def test_what_was_written_is_read_again(model: Path) -> None:
    found = read_model(model)
    arrays, facts = found.sections["language-model"]
    assert arrays["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert facts == {"a": 1, TEXTS: {"tokenizer.json": "{}\n"}}
    assert found.sections["severity"] == ({}, {"words": ["fatal"]})
    assert (found.manifest.name, found.manifest.masks) == ("mine", (("n", "[0-9]+"),))
    assert found.manifest.reference == Reference("text", 1.5, (2.0,))


def test_the_version_is_the_same_for_the_same_model_and_another_for_any_other(tmp_path: Path) -> None:
    same = [write_model(tmp_path / name, _ABOUT, _SECTIONS) for name in ("a", "b")]
    other = write_model(tmp_path / "c", _ABOUT._replace(reference=Reference("text", 1.5, (2.1,))), _SECTIONS)
    assert same[0] == same[1] == read_model(tmp_path / "a").version != other
    assert len(other) == 16


def test_an_older_model_is_replaced_whole(model: Path) -> None:
    write_model(model, _ABOUT, {"severity": _SECTIONS["severity"]})
    assert [path.name for path in model.iterdir()] == ["manifest.json"]
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_a_directory_with_anything_else_in_it_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(Misconfigured, match="is no model directory"):
        write_model(tmp_path, _ABOUT, _SECTIONS)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def _flip_a_bit(model: Path) -> None:
    path = model / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _swap_two_files(model: Path) -> None:
    (model / "known.safetensors").rename(model / "aside")
    (model / "model.safetensors").rename(model / "known.safetensors")
    (model / "aside").rename(model / "model.safetensors")


def _link_elsewhere(target: Path) -> Callable[[Path], None]:
    def tamper(model: Path) -> None:
        (model / "known.safetensors").unlink()
        (model / "known.safetensors").symlink_to(target)

    return tamper


def _directory_for_file(model: Path) -> None:
    (model / "known.safetensors").unlink()
    (model / "known.safetensors").mkdir()


def _pipe_for(name: str) -> Callable[[Path], None]:
    def tamper(model: Path) -> None:
        (model / name).unlink()
        os.mkfifo(model / name)

    return tamper


def _edit_manifest(change: Callable[[dict[str, object]], None]) -> Callable[[Path], None]:
    def tamper(model: Path) -> None:
        path = model / "manifest.json"
        manifest = msgspec.json.decode(path.read_bytes())
        change(manifest)
        path.write_bytes(msgspec.json.encode(manifest))

    return tamper


def _listed_pickle(model: Path) -> None:
    (model / "weights.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    _edit_manifest(lambda m: m["files"].update({"weights.pkl": "0" * 64}))(model)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("tamper", "expected"),
    [
        (_flip_a_bit, ["model.safetensors: sha256 differs"]),
        (_swap_two_files, ["model.safetensors: sha256 differs", "known.safetensors: sha256 differs"]),
        (_link_elsewhere(Path(__file__)), ["known.safetensors: sha256 differs"]),
        (_link_elsewhere(Path("/nowhere/at/all")), ["known.safetensors: No such file"]),
        (_link_elsewhere(Path("/dev/zero")), ["known.safetensors: not a regular file"]),
        (_pipe_for("known.safetensors"), ["known.safetensors: not a regular file"]),
        (_pipe_for("manifest.json"), ["no model there (not a regular file)"]),
        (_directory_for_file, ["known.safetensors: Is a directory"]),
        (lambda m: (m / ".hidden.pkl").touch(), [".hidden.pkl: files that can run code"]),
        (lambda m: (m / "__init__.py").symlink_to("/nowhere"), ["__init__.py: not in the manifest"]),
        (lambda m: (m / "tokenizer.json").unlink(), ["tokenizer.json: No such file"]),
        (lambda m: (m / "pytorch_model.bin").touch(), ["pytorch_model.bin: files that can run code"]),
        (lambda m: (m / "x.PKL").touch(), ["x.PKL: files that can run code"]),
        (lambda m: (m / "modeling.py").touch(), ["modeling.py: not in the manifest: remove it"]),
        (lambda m: (m / "sub").mkdir(), ["sub: not in the manifest"]),
        (_listed_pickle, ["weights.pkl: files that can run code"]),
        (_edit_manifest(lambda m: m.update(format_version=99)), ["format_version is 99, this"]),
        (_edit_manifest(lambda m: m.pop("format_version")), ["format_version is None"]),
        (_edit_manifest(lambda m: m.update(surprise=1)), ["damaged (Object contains unknown field"]),
        (_edit_manifest(lambda m: m["files"].pop("known.safetensors")),  # type: ignore[attr-defined]
         ["known.safetensors: not in the manifest", "uses 'known.safetensors' without its sha256"]),
        (_edit_manifest(lambda m: m["files"].update({"../x": "0" * 64})), ["damaged (Expected"]),  # type: ignore[attr-defined]
        (lambda m: (m / "manifest.json").write_bytes(b"[" * 100_000), ["damaged ("]),
        (lambda m: (m / "manifest.json").write_bytes(b"\xff\xfe{"), ["damaged ("]),
        (lambda m: (m / "manifest.json").write_bytes(b"[]"), ["damaged ("]),
        (lambda m: (m / "manifest.json").unlink(), ["`consumer fit`"]),
    ],
)  # fmt: skip
def test_a_model_that_is_not_as_written_is_refused_naming_the_file(
    model: Path, tamper: Callable[[Path], None], expected: list[str]
) -> None:
    tamper(model)
    problems = _problems(model)
    assert len(problems) == len(expected)
    for line in expected:
        assert any(line in problem for problem in problems), problems


def test_every_problem_is_told_at_once(model: Path) -> None:
    _flip_a_bit(model)
    (model / "tokenizer.json").unlink()
    (model / "extra.txt").touch()
    assert len(_problems(model)) == 3


def test_a_missing_directory_names_the_command_that_makes_one(tmp_path: Path) -> None:
    (problem,) = _problems(tmp_path / "nowhere")
    assert "nowhere" in problem
    assert "`consumer fit`" in problem


def test_no_model_at_all_names_the_command_that_makes_one() -> None:
    with pytest.raises(Misconfigured, match="`consumer fit`"):
        locate(None)


def test_the_demo_model_lies_in_the_package() -> None:
    assert locate("demo").parts[-3:] == ("consumer", "demo", "model")


def test_verifying_says_what_was_found(model: Path) -> None:
    assert verify(str(model)) == f"'mine', version {read_model(model).version}, 3 files verified"


def test_a_whole_file_with_a_matching_hash_that_is_no_safetensors_is_refused(model: Path) -> None:
    (model / "known.safetensors").write_bytes(b"not tensors")
    digest = hashlib.sha256(b"not tensors").hexdigest()
    _edit_manifest(lambda m: m["files"].update({"known.safetensors": digest}))(model)  # type: ignore[attr-defined]
    assert "known.safetensors: unreadable" in _problems(model)[0]


def test_checking_a_model_loads_no_torch() -> None:
    program = (
        "import sys, consumer.scoring.model_dir, consumer.scoring.scorer; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_format_is_the_one_that_this_version_reads(model: Path) -> None:
    assert read_model(model).manifest.format_version == FORMAT_VERSION == 1

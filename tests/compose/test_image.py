"""What the image copies, installs and sets."""

from __future__ import annotations

import re
import tomllib

from tests.compose.conftest import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


def _pins(path: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+==[^\s;\\]+)", (ROOT / path).read_text("utf-8"), re.M))


def _names(path: str) -> set[str]:
    return {pin.partition("==")[0] for pin in _pins(path)}


def _wanted(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", each)[0].lower() for each in requirements}


def test_the_image_installs_exactly_what_the_lock_file_says_of_the_runtime() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = _names("deploy/requirements.lock")
    advice = "run `make lock runtime-lock`"
    assert _pins("deploy/requirements.lock") <= _pins("requirements.lock"), advice
    assert _wanted(project["dependencies"]) <= installed, advice
    assert not _wanted(project["optional-dependencies"]["dev"]) & installed - _wanted(project["dependencies"])


def test_every_pin_of_the_image_has_a_hash() -> None:
    text = (ROOT / "deploy/requirements.lock").read_text("utf-8")
    blocks = re.split(r"^(?=[a-z0-9._-]+==)", text, flags=re.M)[1:]
    assert blocks
    assert all("--hash=sha256:" in block for block in blocks)
    assert "--require-hashes" in DOCKERFILE


def test_the_build_context_holds_what_is_copied_and_no_more() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.M)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split("\n")
    assert "*" in ignored
    assert {f"!{source}" for source in copied} == {line for line in ignored if line.startswith("!")}
    assert all((ROOT / source).exists() for source in copied)


def test_the_allocator_keeps_its_pages() -> None:
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"):
        assert re.search(rf"^ +{name}=\d+( \\)?$", DOCKERFILE, re.M), name

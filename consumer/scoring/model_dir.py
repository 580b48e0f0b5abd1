"""A model directory: arrays in safetensors, texts, and one manifest that vouches for every other file.

Everything is read once, verified against the manifest's sha256, and only then decoded, so that what
is used is what was verified. Nothing here or in what loads it unpickles or runs code from a model.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from safetensors import SafetensorError
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from consumer.errors import Misconfigured
from consumer.scoring.parts import Arrays, Facts

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DEMO = "demo"
TEXTS = "texts"  # a section's fact of this name maps file names to texts that become files
_VERSION_CHARS = 16
_LARGEST_MANIFEST = 16 * 2**20  # bytes
_HASH = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_NAME = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
_WEIGHTS = {"language-model": "model.safetensors"}  # the name that transformers looks for
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".ckpt")

Sections = Mapping[str, tuple[Arrays, Facts]]


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that was scored when the model was written: the self-test of every later process.
    `statistics` are those of all parts in a row; scores saturate, they do not."""

    message: str
    score: float
    statistics: tuple[float, ...] = ()
    level: str | None = None


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One part of the model: its facts, and the files that hold its arrays and texts."""

    facts: dict[str, object]
    arrays: _NAME | None = None
    texts: tuple[_NAME, ...] = ()


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """manifest.json. `training`: what was learnt from, for people. `masks`: name and pattern."""

    format_version: int
    name: str
    files: dict[_NAME, _HASH]
    sections: dict[_NAME, Section]
    masks: tuple[tuple[str, str], ...]
    reference: Reference
    training: dict[str, object] = {}


class Model(NamedTuple):
    """A verified model directory. `version` is the hash of its manifest, which covers every file."""

    manifest: Manifest
    version: str
    sections: Sections


class Description(NamedTuple):
    """What a manifest says beside the sections."""

    name: str
    masks: tuple[tuple[str, str], ...]
    reference: Reference
    training: Mapping[str, object]


def locate(model: str | None) -> Path:
    """The directory that `scoring.model` names; `demo` is the one that ships with the package. Raises
    Misconfigured where it names none."""
    if model is None:
        fix = "learn one from your own records with `consumer fit`, or try the bundled one: --model demo"
        raise Misconfigured([f"scoring.model = unset: {fix}"])
    if model == DEMO:
        return Path(str(files("consumer") / "demo" / "model"))
    return Path(model)


def write_model(directory: Path, description: Description, sections: Sections) -> str:
    """Write, whole or not at all, and return the version. Replaces an empty directory or an older
    model. Raises Misconfigured for a directory that holds anything else."""
    if directory.exists() and not _replaceable(directory):
        raise Misconfigured([f"{directory}: exists and is no model directory: name another one"])
    contents, entries = _encode(sections)
    manifest = Manifest(
        FORMAT_VERSION,
        description.name,
        {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
        entries,
        description.masks,
        description.reference,
        dict(description.training),
    )
    encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    _put(directory, {**contents, MANIFEST: encoded})
    return _version(encoded)


def read_model(directory: Path) -> Model:
    """Verify every file, then decode. Raises Misconfigured with one line for every problem."""
    encoded = _manifest_bytes(directory)
    manifest = _manifest(directory, encoded)
    contents, problems = _verified(directory, manifest)
    if problems:
        raise Misconfigured(problems)
    sections = {name: _section(directory, entry, contents) for name, entry in manifest.sections.items()}
    return Model(manifest, _version(encoded), sections)


def verify(model: str) -> str:
    """One line about a model directory in which everything is as its manifest says. Needs no torch.
    Raises Misconfigured like read_model."""
    found = read_model(locate(model))
    return f"{found.manifest.name!r}, version {found.version}, {len(found.manifest.files)} files verified"


def _version(manifest: bytes) -> str:
    return hashlib.sha256(manifest).hexdigest()[:_VERSION_CHARS]


def _replaceable(directory: Path) -> bool:
    return directory.is_dir() and ((directory / MANIFEST).is_file() or not any(directory.iterdir()))


def _encode(sections: Sections) -> tuple[dict[str, bytes], dict[str, Section]]:
    contents: dict[str, bytes] = {}
    entries: dict[str, Section] = {}
    for name, (arrays, facts) in sections.items():
        texts = msgspec.convert(facts.get(TEXTS, {}), dict[str, str])
        contents |= {file: text.encode() for file, text in texts.items()}
        stored = _WEIGHTS.get(name, f"{name}.safetensors") if arrays else None
        if stored:
            # transformers refuses a file that does not say which framework wrote it
            dense = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
            contents[stored] = save_safetensors(dense, {"format": "pt"})
        plain = {key: value for key, value in facts.items() if key != TEXTS}
        entries[name] = Section(plain, stored, tuple(texts))
    return contents, entries


def _put(directory: Path, contents: Mapping[str, bytes]) -> None:
    """Through a sibling, so that a reader sees the old model or the new one."""
    fresh = directory.with_name(f".{directory.name}.{os.getpid()}.new")
    stale = directory.with_name(f".{directory.name}.{os.getpid()}.old")
    fresh.mkdir(parents=True)
    try:
        for name, data in contents.items():
            (fresh / name).write_bytes(data)
        if directory.exists():
            directory.rename(stale)
        fresh.rename(directory)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(stale, ignore_errors=True)


def _manifest_bytes(directory: Path) -> bytes:
    path = directory / MANIFEST
    try:
        with _opened(path) as file:
            return file.read(_LARGEST_MANIFEST)
    except OSError as error:
        fix = "write one with `consumer fit`, or name the right directory in scoring.model"
        raise Misconfigured([f"{path}: no model there ({error.strerror}): {fix}"]) from error


def _opened(path: Path) -> BinaryIO:
    """A regular file, or a link to one: its hash vouches for what is in it. Anything else could be waited
    for or read for ever; raises OSError."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file")


def _manifest(directory: Path, encoded: bytes) -> Manifest:
    path = directory / MANIFEST
    try:
        version = msgspec.json.decode(encoded, type=dict[str, object]).get("format_version")
        if version != FORMAT_VERSION:
            fix = f"this version reads {FORMAT_VERSION}: fit the model again with `consumer fit`"
            raise Misconfigured([f"{path}: format_version is {version!r}, {fix}"])
        return msgspec.json.decode(encoded, type=Manifest)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Misconfigured(
            [f"{path}: damaged ({error}): restore the directory or fit again with `consumer fit`"]
        ) from error


def _verified(directory: Path, manifest: Manifest) -> tuple[dict[str, bytes], list[str]]:
    """The files that the manifest names, read once, and a line for everything that is not as it says."""
    problems = [
        _unexpected(path)
        for path in sorted(directory.iterdir())
        if path.name not in {MANIFEST, *manifest.files}
    ]
    contents: dict[str, bytes] = {}
    for name, wanted in manifest.files.items():
        path = directory / name
        if path.suffix.lower() in _PICKLES:
            problems.append(_unexpected(path))
            continue
        try:
            with _opened(path) as file:
                contents[name] = file.read()
        except OSError as error:
            problems.append(f"{path}: {error.strerror}, but the manifest lists it: restore it or fit again")
            continue
        if hashlib.sha256(contents[name]).hexdigest() != wanted:
            problems.append(f"{path}: sha256 differs from the manifest: restore it or fit again")
    return contents, problems + _unlisted(directory, manifest)


def _unexpected(path: Path) -> str:
    if path.suffix.lower() in _PICKLES:
        return f"{path}: files that can run code when loaded are never accepted: remove it"
    return f"{path}: not in the manifest: remove it"


def _unlisted(directory: Path, manifest: Manifest) -> list[str]:
    """Files that a section uses and that no hash vouches for."""
    used = [
        name
        for section in manifest.sections.values()
        for name in (*section.texts, *filter(None, [section.arrays]))
    ]
    return [
        f"{directory / MANIFEST}: uses {name!r} without its sha256: fit the model again"
        for name in used
        if name not in manifest.files
    ]


def _section(directory: Path, entry: Section, contents: Mapping[str, bytes]) -> tuple[Arrays, Facts]:
    try:
        arrays = load_safetensors(contents[entry.arrays]) if entry.arrays else {}
        texts = {name: contents[name].decode() for name in entry.texts}
    except (SafetensorError, KeyError, ValueError) as error:
        raise Misconfigured([f"{directory / str(entry.arrays)}: unreadable ({error}): fit again"]) from error
    return arrays, {**entry.facts, TEXTS: texts} if texts else entry.facts

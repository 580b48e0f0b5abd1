"""The records that are worked through: real logs where they are, invented ones elsewhere."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from consumer.codec import EventCodec
from consumer.demo.generator import ONLY_NORMAL, generate
from consumer.normalize import Normalizer
from consumer.records import Event, Record
from consumer.settings import Input

DATA_VARIABLE = "CONSUMER_TEST_DATA"
_SIBLING = Path(__file__).parents[2] / "shared" / "data"
_SEED = 20_261
_SYLLABLES = ("lo", "mur", "ti", "zen", "ka", "pol", "ru", "sha", "vim", "wo", "yul", "nor")


class Corpus(NamedTuple):
    """Texts under a name that is shown; `real`: written by machines at work, not by a generator."""

    name: str
    texts: Sequence[str]
    real: bool

    def values(self) -> list[bytes]:
        """Each text as a JSON event."""
        return [msgspec.json.encode({"message": text}) for text in self.texts]


def data_folder() -> Path | None:
    """The folder with real logs: CONSUMER_TEST_DATA, or `../shared/data` beside the project."""
    named = os.environ.get(DATA_VARIABLE)
    folder = Path(named) if named else _SIBLING
    return folder if (folder / "linux.log.gz").is_file() else None


def as_they_come(folder: Path | None) -> list[Corpus]:
    """Logs in their order, repeats included, each once."""
    if folder is None:
        return [Corpus("generated fleet", list(_invented(60_000)), real=False)]
    return [
        Corpus("linux.log", list(_lines(folder / "linux.log.gz")), real=True),
        Corpus("HDFS", list(_hdfs(folder)), real=True),
    ]


def all_distinct(folder: Path | None, most: int) -> Corpus:
    """At most `most` texts that all differ after normalising, in shuffled order."""
    texts = _made_distinct(2 * most) if folder is None else _logs(folder)
    normalizer = Normalizer()
    found = list({normalizer.normalize(text): text for text in texts if text.strip()}.values())
    random.Random(_SEED).shuffle(found)  # noqa: S311 - an order, not a secret
    return Corpus("all-distinct", found[:most], real=folder is not None)


def distinct_ratio(corpus: Corpus) -> float:
    """Share of texts that are left when repeats after normalising are taken out."""
    normalizer = Normalizer()
    return len({normalizer.model_input(None, text) for text in corpus.texts}) / len(corpus.texts)


def _logs(folder: Path) -> Iterator[str]:
    """Lines of every log there, the small ones first."""
    for path in sorted((folder / "loghub_2k").glob("*.log")):
        yield from _lines(path)
    yield from _lines(folder / "linux.log.gz")


def _lines(path: Path) -> Iterator[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = raw.decode(errors="replace").splitlines()
    return (line for line in lines if line.strip())


def _hdfs(folder: Path) -> Iterator[str]:
    class Line(msgspec.Struct):
        message: str

    decoder = msgspec.json.Decoder(Line)
    for path in sorted((folder / "hdfs").glob("*.jsonl.gz")):
        yield from (decoder.decode(line).message for line in gzip.decompress(path.read_bytes()).splitlines())


def _invented(count: int) -> Iterator[str]:
    """Messages of the demonstration's generator."""
    codec = EventCodec(Input())
    for labelled in generate(_SEED, count, ONLY_NORMAL):
        event = codec.decode(Record("generated", 0, 0, labelled.value))
        if isinstance(event, Event):
            yield event.message


def _made_distinct(count: int) -> Iterable[str]:
    """Invented messages with three words each that no other has."""
    rng = random.Random(_SEED)  # noqa: S311 - texts, not secrets
    for message in islice(_invented(count), count):
        words = ("".join(rng.choices(_SYLLABLES, k=3)) for _ in range(3))
        yield f"{message} {' '.join(words)}"

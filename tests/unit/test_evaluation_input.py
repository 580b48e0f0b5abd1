"""Labelled records: where labels are found, and that none of them becomes model input."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from consumer.cli_evaluate_input import Dataset, collect, holds_word
from consumer.cli_evaluate_labels import LabelSource, labelled
from consumer.errors import Misconfigured
from consumer.lines import read_lines
from consumer.normalize import Normalizer
from consumer.settings import Input

LIMIT = 10_000


def _bgl() -> Path | None:
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("CONSUMER_TEST_DATA") or root.parent / "shared" / "data")
    path = folder / "loghub_2k" / "BGL_2k.log"
    return path if path.is_file() else None


def read(path: Path, source: LabelSource) -> Dataset:
    records = labelled(read_lines([str(path)], LIMIT), source, LIMIT)
    return collect(records, Input(max_bytes=LIMIT), Normalizer(), source, lambda *_: None)


def column(number: int, *normal: str) -> LabelSource:
    return LabelSource(None, number, None, frozenset(normal))


def field(name: str, *normal: str) -> LabelSource:
    return LabelSource(name, None, None, frozenset(normal))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_the_first_column_is_taken_out_of_what_is_scored(file: Path) -> None:
    file.write_text("- kernel started\nKERNDTLB kernel data error\n- kernel started\nAPPSEV kernel started\n")
    data = read(file, column(1, "-"))
    assert data.items == ["kernel started", "kernel data error"]
    assert data.text_of.tolist() == [0, 1, 0, 0]
    assert data.anomalous.tolist() == [False, True, False, True]
    assert data.leaks == 0


@pytest.mark.parametrize(
    ("number", "line", "label", "rest"),
    [
        (1, "A b c", "A", "b c"),
        (2, "a B c", "B", "a c"),
        (3, "a b C", "C", "a b "),
        (2, "  a\tB   c  d", "B", "  a\tc  d"),
    ],
)
def test_any_column_can_be_the_label(file: Path, number: int, line: str, label: str, rest: str) -> None:
    file.write_text(line + "\n")
    ((_, found),) = labelled(read_lines([str(file)], LIMIT), column(number), LIMIT)
    assert (found.label(), found.record.value) == (label, rest.encode())


def test_the_label_of_a_json_record_is_read_beside_what_is_scored(file: Path) -> None:
    values = ['"normal"', '" bad "', "true", "1", "null"]
    file.write_text("".join(f'{{"message": "m", "level": "info", "y": {value}}}\n' for value in values))
    data = read(file, field("y", "normal", "null", "1"))
    assert data.anomalous.tolist() == [False, True, True, False, False]
    assert data.items == [Normalizer().model_input("info", "m")]
    assert data.level_of() == ["info"] * 5


def test_a_label_file_has_one_label_for_each_line(file: Path, tmp_path: Path) -> None:
    file.write_text("one\n\ntwo\n")
    labels = tmp_path / "labels"
    source = LabelSource(None, None, str(labels), frozenset({"0"}))
    labels.write_text("0\n0\n1\n")
    assert read(file, source).anomalous.tolist() == [False, True]
    for wrong, why in (("0\n1\n", "fewer lines"), ("0\n1\n0\n1\n", "more lines")):
        labels.write_text(wrong)
        with pytest.raises(Misconfigured, match=why):
            read(file, source)


@pytest.mark.parametrize(
    ("source", "text", "why"),
    [
        (column(3, "-"), "- a b\n- a\n", "line 2: no label"),
        (field("y", "-"), '{"message": "m", "y": "-"}\n{"message": "m"}\n', "line 2: no label: .*'y'"),
        (field("y", "-"), '{"message": "m", "y": [1]}\n', "line 1: .* a list"),
        (field("y", "-"), "plain text\n", "line 1: no label: is no JSON"),
        (column(1, "ok"), "- a\n- b\nX c\n", r"every one of 3 records is an anomaly; .*'-' \(2\), 'X' \(1\)"),
        (column(1, "-"), "- a\n- b\n", "every one of 2 records is normal"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_with_the_place(
    file: Path, source: LabelSource, text: str, why: str
) -> None:
    file.write_text(text)
    with pytest.raises(Misconfigured, match=why):
        read(file, source)


def test_records_that_the_service_would_reject_are_counted_apart(file: Path) -> None:
    lines = [b'{"message": "a", "y": 0}', b'{"message": 1}', b"", b'{"x', b'{"message": "b", "y": 1}']
    file.write_bytes(b"\n".join(lines))
    data = read(file, field("y", "0"))
    assert (data.read, data.empty, dict(data.rejected)) == (5, 1, {"invalid": 1, "undecodable": 1})
    assert data.anomalous.tolist() == [False, True]


def test_a_label_that_stands_in_the_scored_text_is_counted(file: Path) -> None:
    file.write_text("- all fine\nBAD a Bad: thing\nBAD badly done\nBAD a Bad: thing\n")
    assert read(file, column(1, "-")).leaks == 2


@pytest.mark.parametrize(
    ("text", "label", "found"),
    [("a-b - c", "-", False), ("anom", "anom", True), ("anomaly", "anom", False), ("x.anom", "ANOM", True)],
)
def test_a_label_counts_as_a_word_of_its_own(text: str, label: str, found: bool) -> None:
    assert holds_word(text, label) is found


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (LabelSource(None, None, None, frozenset()), "one of --label-field"),
        (LabelSource("a", 1, None, frozenset()), "one of --label-field"),
        (LabelSource("message", None, None, frozenset()), "is scored itself"),
        (LabelSource(None, None, "/nowhere", frozenset()), "cannot be read"),
    ],
)
def test_a_label_source_that_makes_no_sense_is_told(source: LabelSource, why: str) -> None:
    (problem,) = source.problems()
    assert why in problem


def test_a_part_keeps_its_records_and_a_text_counts_once_as_an_anomaly_where_it_has_one(file: Path) -> None:
    file.write_text("- a\n- b\nX a\n- c\nX d\n- b\n")
    data = read(file, column(1, "-"))
    later = data.part(np.array([False, True, True, True, True, True]))
    assert later.text_of.tolist() == [1, 0, 2, 3, 1]
    assert later.first_of_each_text().tolist() == [1, 0, 2, 3]
    assert data.first_of_each_text().tolist() == [2, 1, 3, 4]
    tally = data.normal_tally()
    assert (tally.items, tally.counts) == (["a", "b", "c"], [1, 2, 1])


@pytest.mark.skipif(_bgl() is None, reason="no log data: set CONSUMER_TEST_DATA to a folder with it")
def test_no_label_of_real_logs_is_left_in_what_is_scored() -> None:
    path = _bgl()
    assert path is not None
    data = read(path, column(1, "-"))
    labels = {line.split(b" ", 1)[0].decode() for line in path.read_bytes().splitlines()} - {"-"}
    words = {word for item in data.items for word in item.replace(":", " ").upper().split()}
    assert (len(data.text_of), int(data.anomalous.sum()), data.leaks) == (2_000, 143, 0)
    assert len(labels) > 5
    assert not labels & words
    assert not any(item.startswith("- ") for item in data.items)

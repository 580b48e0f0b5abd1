"""What `consumer fit` reads: files of any kind, the limits of run time, and what it says of bad lines."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from consumer.cli_fit_input import Collected, collect, from_files, from_topic
from consumer.errors import Misconfigured
from consumer.lines import check_files, read_lines
from consumer.normalize import Normalizer
from consumer.records import Record
from consumer.settings import Input, Settings

SETTINGS = Settings()


def collected(files: Sequence[Path], settings: Settings = SETTINGS) -> Collected:
    origins = from_files([str(path) for path in files], settings.input.max_bytes)
    return collect(origins, settings, Normalizer(), lambda *_: None)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_equal_lines_are_counted_and_line_ends_do_not_make_a_difference(tmp_path: Path) -> None:
    found = collected([written(tmp_path / "a.log", b"user 1 in\r\nuser 22 in\nuser in\nlast without end")])
    assert list(found.tally.items) == ["user <n> in", "user in", "last without end"]
    assert list(found.tally.counts) == [2, 1, 1]
    assert (found.read, found.records) == (4, 4)


def test_json_and_text_lines_mix_and_a_level_leads(tmp_path: Path) -> None:
    found = collected(
        [written(tmp_path / "a", b'{"message": "disk 7 full", "level": "ERROR"}\ndisk 7 full\n')]
    )
    assert list(found.tally.items) == ["<error> disk <n> full", "disk <n> full"]


def test_compressed_files_are_told_by_content_and_read_in_the_order_given(tmp_path: Path) -> None:
    packed = written(tmp_path / "packed.log", gzip.compress(b"from packed\n"))
    plain = written(tmp_path / "plain.gz", b"from plain\n")
    assert list(collected([packed, plain]).tally.items) == ["from packed", "from plain"]


def test_standard_input_is_read_and_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"one\ntwo\n")))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert [line.record.value for line in read_lines(["-"], 100)] == [b"one", b"two"]
    assert not stdin.buffer.closed


def test_rejected_lines_are_counted_by_reason_and_the_first_named_by_line(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.log", b"fine\n{broken\n\n" + b'{"level": "x"}\n' + b"{" * 9 + b"\n" * 2 + b"{\n" * 6
    )
    found = collected([path])
    assert found.records == 1
    assert found.empty == 2
    assert found.rejected.total() == 9
    assert len(found.named) == 5
    assert found.named[0].startswith(f"{path} line 2: undecodable")
    assert found.named[1].startswith(f"{path} line 4: invalid")
    assert "broken" not in "".join(found.named)


def test_a_line_beyond_the_limit_is_rejected_and_the_next_one_is_read_whole(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, input=Input(max_bytes=100))
    path = written(tmp_path / "a.log", b"x" * 100 + b"\n" + b"y" * 300_000 + b"\nnext\n" + b"z" * 101)
    found = collected([path], settings)
    assert list(found.tally.items) == ["x" * 100, "next"]
    assert found.rejected == {"oversize": 2}
    assert f"{path} line 2" in found.named[0]
    assert f"{path} line 4" in found.named[1]


def test_when_every_line_is_rejected_that_is_said_with_the_first_reasons(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"all 3 records were rejected") as caught:
        collected([written(tmp_path / "a.log", b"{\n" * 3)])
    assert len(caught.value.problems) == 4


def test_every_file_that_cannot_be_read_is_named_before_anything_is_read(tmp_path: Path) -> None:
    good = written(tmp_path / "good", b"x\n")
    missing = [str(tmp_path / "no.log"), str(tmp_path)]
    assert len(check_files([missing[0], str(good), missing[1], "-"])) == 2
    with pytest.raises(Misconfigured) as caught:
        from_files([missing[0], str(good), missing[1]], 100)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == missing


@pytest.mark.parametrize("cut", [30, -9])
def test_a_damaged_compressed_file_is_wrong_input(tmp_path: Path, cut: int) -> None:
    content = gzip.compress(b"".join(b"line %d\n" % i for i in range(5_000)))
    broken = content[:cut] if cut < 0 else content[:cut] + b"\xff" * 50 + content[cut + 50 :]
    with pytest.raises(Misconfigured, match="cannot be read to its end"):
        collected([written(tmp_path / "a.gz", broken)])


def test_records_of_a_topic_are_put_in_order_of_time() -> None:
    records = [
        Record("t", p, o, b"%d%d" % (p, o), timestamp=ms)
        for p, o, ms in [(1, 0, 30), (1, 1, 40), (0, 0, 30), (0, 1, 35)]
    ]
    assert [origin.record.value for origin in from_topic(records)] == [b"00", b"10", b"01", b"11"]
    assert next(iter(from_topic(records))).name == "t[0] offset 0"


def test_reading_ends_when_there_is_no_more_room_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("consumer.cli_fit_input.MAX_ITEMS", 2)
    found = collected([written(tmp_path / "a.log", b"a\nb\na\nc\nd\n")])
    assert found.full
    assert (list(found.tally.items), found.read) == (["a", "b"], 4)

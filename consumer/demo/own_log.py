"""The demonstration with the user's own log: fit on the first part, stream the rest through Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from consumer.demo import report
from consumer.demo.budget import Sent, fitting, placed
from consumer.demo.fitting import run_fit
from consumer.demo.judging import top
from consumer.demo.portion import FIT_CHARS, FIT_LINES, learnable
from consumer.demo.runner import finish, threads_each
from consumer.demo.screen import Screen
from consumer.demo.transit import Asked, through_kafka
from consumer.errors import ConsumerError, Misconfigured
from consumer.lines import check_files, read_lines
from consumer.settings import Input

_STREAM_LINES: Final = 40_000  # more could never fit into the in-process cluster
_LEAST_LINES: Final = 40
_BLOCKS: Final = 4
_TOP: Final = 20


def run_on_file(path: Path, replicas: int, screen: Screen) -> int:
    """Exit code as for generated logs. Raises Misconfigured for a file that cannot be read or is too
    short, ConsumerError when fitting fails."""
    lines = _lines(path)
    learnt = learnable(lines)
    sent = placed((None, value) for value in lines[learnt:])
    streamed = sent[: fitting(sent)]
    _announce(path, learnt, len(streamed), screen)
    with TemporaryDirectory(prefix="consumer-demo-model-") as folder:
        model = Path(folder) / "model"
        _fit(path, learnt, model)
        asked = Asked(streamed, str(model), replicas, threads_each(replicas))
        return _stream(asked, learnt, screen)


def _lines(path: Path) -> list[bytes]:
    """The first lines of the file, as many as a demonstration can use."""
    if problems := check_files([str(path)]):
        raise Misconfigured(problems)
    read = read_lines([str(path)], Input().max_bytes)
    lines = [line.record.value or b"" for line in islice(read, FIT_LINES + _STREAM_LINES)]
    if len(lines) < _LEAST_LINES:
        raise Misconfigured(
            [f"{path}: has {len(lines)} lines; a demonstration needs at least {_LEAST_LINES}"]
        )
    return lines


def _announce(path: Path, learnt: int, streamed: int, screen: Screen) -> None:
    screen.say(f"{path}: the first {learnt:,} lines are learnt as normal, the next {streamed:,} are scored")
    screen.say(
        f"  (here half of a file is learnt, at most {FIT_LINES:,} lines or {FIT_CHARS:,} characters of"
    )
    screen.say(
        "   different texts, and the in-process cluster keeps only 5 MB a partition, results included;"
    )
    screen.say("   `consumer fit` and `consumer run` have no such limits)")


def _fit(path: Path, lines: int, model: Path) -> None:
    options = ["--limit", str(lines), "--blocks", str(_BLOCKS), "--name", "own-log"]
    if code := run_fit([str(path), "--out", str(model), *options]):
        raise ConsumerError(f"`consumer fit` failed with exit code {code}; why stands above")


def _stream(asked: Asked, learnt: int, screen: Screen) -> int:
    passed = through_kafka(asked, screen)
    screen.say(f"{len(asked.records) / passed.seconds:,.0f} lines/s through {asked.replicas} replicas")
    results, flagged = top(passed.outputs.values(), _TOP)
    report.show_top(screen, results, _line_numbers(asked.records, passed.ids, learnt), flagged)
    share = flagged / max(1, len(asked.records))
    screen.say(
        f"  flagged {share:.2%} of the lines, repeats of a text counted once (1 % was asked of new texts)"
    )
    return finish(passed, screen)


def _line_numbers(records: Sequence[Sent], ids: Sequence[str], learnt: int) -> dict[str, str]:
    return {
        identity: f"line {learnt + index + 1}"
        for index, (_, identity) in enumerate(zip(records, ids, strict=True))
    }

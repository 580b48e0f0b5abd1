"""`consumer score`: the service's codec and scorer over files."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from consumer.cli_options import settings_options
from consumer.codec import EventCodec
from consumer.encode import ResultEncoder
from consumer.errors import BadRecord, Fatal, Misconfigured
from consumer.isolation import Isolating
from consumer.lines import STDIN, Line, check_files, read_lines
from consumer.loading import Loaded
from consumer.ports import Pending, Scorer
from consumer.records import Decoded, Empty, Entry, Event, Output, Rejection, Score, Verdict
from consumer.results import result_id
from consumer.settings import Settings

_GROUP = "consumer score"  # what a result names as its consumer group
_UNDER_WAY = 2  # batches: one is computed while the next is read


class Rejected(msgspec.Struct, frozen=True):
    """What stands in the output for a line that is no event."""

    outcome: str
    id: str
    file: str
    line: int
    reason: str
    detail: str


class _Batch(NamedTuple):
    lines: list[Line]
    decoded: list[Decoded]
    pending: Pending


@click.command(
    epilog="""\b
Examples:
  consumer score --model ./model app.log
  consumer score --model ./model --output scores.jsonl old.log.gz new.log
  journalctl -o cat | consumer score --model ./model - | jq 'select(.is_anomaly)'
  consumer score --model demo --false-alarm-rate 0.001 --include none app.log
"""
)
@settings_options("scoring")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, replaced if it exists. [default: standard output]",
)
@click.option(
    "--format",
    "line_format",
    type=click.Choice(["auto", "json", "text"]),
    help="What the lines are: input.format.",
)
@click.option(
    "--include",
    type=click.Choice(["message", "none", "event"]),
    help="What of a line its result repeats: output.include.",
)
def score(
    loaded: Loaded, files: Sequence[str], output: Path | None, line_format: str | None, include: str | None
) -> None:
    """Score the lines of files, compressed or not, or of standard input (-).

    Writes one JSON object for each line, in order: a result as on the results topic, or what was wrong
    with the line (outcome `rejected`). A summary goes to standard error. Lines are streamed: memory does
    not grow with the input. Exit code 0: every line was answered, rejected ones included.
    """
    settings = _with(loaded.require(), line_format, include)
    if problems := [*check_files(files), *_clashes(files, output)]:
        raise Misconfigured(problems)
    began = time.monotonic()
    scorer = Isolating(_load(settings), settings.scoring.max_failures)
    try:
        with _opened(output) as out:
            counts = FileScoring(settings, scorer).run(read_lines(files, settings.input.max_bytes), out)
    finally:
        scorer.close()
    click.echo(_summary(counts, time.monotonic() - began, scorer), err=True)


def _load(settings: Settings) -> Scorer:
    if settings.scoring.factory is not None:
        from consumer.scoring.own import load_own  # noqa: PLC0415 - only where it is asked for

        return load_own(settings.scoring)
    from consumer.scoring.scorer import load_scorer  # noqa: PLC0415 - torch takes seconds to import

    return load_scorer(settings.scoring, settings.output.explain_from)


class FileScoring:
    """Lines in, one JSON object for each out, in order. Holds two micro-batches at most."""

    def __init__(self, settings: Settings, scorer: Scorer) -> None:
        self._settings = settings
        self._scorer = scorer
        self._codec = EventCodec(settings.input, keep_document=settings.output.include == "event")
        self._encoder = ResultEncoder(settings.output, _GROUP, scorer.model)
        self._counts: Counter[str] = Counter()

    def run(self, lines: Iterable[Line], out: BinaryIO) -> Counter[str]:
        """Blocks until all is written. How many lines had which outcome; `anomaly` is counted beside
        `scored`, and each reason beside `rejected`. Raises Fatal when the scorer is broken."""
        under_way: deque[_Batch] = deque()
        for chunk in self._chunks(lines):
            under_way.append(self._start(chunk))
            if len(under_way) >= _UNDER_WAY:
                self._finish(under_way.popleft(), out)
        for batch in under_way:
            self._finish(batch, out)
        out.flush()
        return self._counts

    def _chunks(self, lines: Iterable[Line]) -> Iterator[list[Line]]:
        chunk: list[Line] = []
        size = 0
        for line in lines:
            chunk.append(line)
            size += len(line.record.value or b"")
            if len(chunk) >= self._settings.batch.count or size >= self._settings.batch.byte_size:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _start(self, lines: list[Line]) -> _Batch:
        decoded = [self._codec.decode(line.record) for line in lines]
        events = [each for each in decoded if isinstance(each, Event)]
        return _Batch(lines, decoded, self._scorer.submit(events))

    def _finish(self, batch: _Batch, out: BinaryIO) -> None:
        limit = self._settings.scoring.stall_after
        if not batch.pending.wait(time.monotonic() + limit):
            raise Fatal(f"no result for {limit:g} s (scoring.stall_after): the device hangs, or is too slow")
        verdicts = iter(batch.pending.result())
        now = int(time.time() * 1000)
        for line, decoded in zip(batch.lines, batch.decoded, strict=True):
            verdict: Verdict = next(verdicts) if isinstance(decoded, Event) else decoded
            out.write(self._encoded(line, Output(Entry(line.record, decoded), verdict), now) + b"\n")

    def _encoded(self, line: Line, output: Output, now: int) -> bytes:
        verdict = output.verdict
        try:
            if isinstance(verdict, Rejection):
                return self._rejected(line, verdict)
            value = self._encoder.encode(output, now).value
        except BadRecord as error:
            return self._rejected(line, error.rejection)
        self._counts["empty" if isinstance(verdict, Empty) else "scored"] += 1
        self._counts["anomaly"] += isinstance(verdict, Score) and verdict.is_anomaly
        return value or b""

    def _rejected(self, line: Line, rejection: Rejection) -> bytes:
        self._counts["rejected"] += 1
        self._counts[rejection.reason] += 1
        name = result_id(line.record, self._settings.output.id_prefix)
        rejected = Rejected("rejected", name, line.file, line.number, rejection.reason, rejection.detail)
        return msgspec.json.encode(rejected)


def _with(settings: Settings, line_format: str | None, include: str | None) -> Settings:
    """The settings with what the flags of this command change."""
    read = replace(settings.input, format=line_format or settings.input.format)
    written = replace(settings.output, include=include or settings.output.include)
    return replace(settings, input=read, output=written)


def _clashes(files: Sequence[str], output: Path | None) -> list[str]:
    """An output that would overwrite what is read, or cannot be written."""
    if output is None:
        return []
    if any(
        name != STDIN and Path(name).exists() and output.exists() and output.samefile(name) for name in files
    ):
        return [f"--output {output}: is one of the files to read; name another one"]
    if not output.absolute().parent.is_dir():
        return [f"--output {output}: its directory does not exist; create it first"]
    return []


def _opened(output: Path | None) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdout.buffer) if output is None else output.open("wb")


def _summary(counts: Counter[str], seconds: float, scorer: Scorer) -> str:
    lines = counts["scored"] + counts["empty"] + counts["rejected"]
    own = {"scored", "empty", "rejected", "anomaly"}
    reasons = ", ".join(f"{n} {reason}" for reason, n in counts.most_common() if reason not in own)
    why = f" ({reasons})" if reasons else ""
    model = scorer.model
    return (
        f"{lines} lines in {seconds:.1f} s: {counts['scored']} scored, {counts['anomaly']} of them "
        f"anomalies, {counts['empty']} empty, {counts['rejected']} rejected{why}; "
        f"model {model.name} {model.version}"
    )

"""Logs: JSON lines or console lines on standard error, safe to show and never in the way of the work.

`emit` formats, masks and puts the line into a bounded queue; a thread writes. When standard error is
blocked or closed, lines are dropped and counted, records never wait (and the count is logged once the
stream takes lines again).
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import TextIO

from consumer import settings
from consumer.ops.limiter import Limiter
from consumer.ops.log_format import ConsoleFormatter, Formatter, JsonFormatter

_CAPACITY = 2_000  # lines of a few hundred bytes; a burst of tracebacks still fits into 20 MB
_GOODBYE = 2.0  # seconds that closing waits for room, and then for the last lines
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_ROOT = "consumer"
CLIENT_LOGGER = f"{_ROOT}.librdkafka"


class LogWriter(logging.Handler):
    """A handler whose `emit` neither blocks nor raises. `dropped` counts the lines that were not written."""

    def __init__(self, stream: TextIO, formatter: Formatter, capacity: int = _CAPACITY) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._refused = 0  # counted by the threads that log, under the handler's lock
        self._lost = 0  # counted by the thread that writes
        self._told = 0
        self._ended = False
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._run, name="logs", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        return self._refused + self._lost

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except Exception:  # full, or a field whose text cannot be had: a log line is never worth a record
            self._refused += 1

    def close(self) -> None:
        """Write what is queued, for a few seconds at most. Idempotent."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=_GOODBYE)
            self._thread.join(_GOODBYE)
        super().close()

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            self._write(line)

    def _write(self, line: str) -> None:
        try:
            self._confess()
            _write_through(self._stream, f"{line}\n")
        except (OSError, ValueError):  # a closed stream, or one whose reader went away
            self._lost += 1

    def _confess(self) -> None:
        missing = self.dropped - self._told
        if missing == 0:
            return
        fields = {"action": "log_lines_dropped", "lines": missing}
        record = logging.makeLogRecord(
            {
                "name": _ROOT,
                "levelno": logging.WARNING,
                "levelname": "WARNING",
                "msg": "log lines were dropped",
            }
            | fields
        )
        _write_through(self._stream, f"{self.format(record)}\n")
        self._told += missing


def _write_through(stream: TextIO, text: str) -> None:
    """Write past Python's buffers where there is a descriptor: a thread that blocks while it holds the
    buffer's lock makes the interpreter abort at exit."""
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):
        stream.write(text)
        stream.flush()
        return
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]


class ClientFilter(logging.Filter):
    """Gives librdkafka's lines our shape: a constant message, what it said in fields.

    While a broker is away each of its threads complains many times a second: of those complaints one in
    ten seconds passes, with the number held back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._limiter = Limiter()
        self._now = now

    def filter(self, record: logging.LogRecord) -> bool:
        facility, client, said = _client_words(record)
        held_back = self._held_back(record.levelno, f"{client} {facility} {_thread(said)}")
        if held_back is None:
            return False
        record.msg, record.args = "the Kafka client says", ()
        fields = {"action": "librdkafka", "facility": facility, "client": client, "said": said}
        record.__dict__.update(fields | ({"held_back": held_back} if held_back else {}))
        return True

    def _held_back(self, level: int, kind: str) -> int | None:
        return self._limiter.passes(kind, self._now()) if level > logging.DEBUG else 0


def _client_words(record: logging.LogRecord) -> tuple[str, str, str]:
    match record.args:
        case (facility, client, said):
            return str(facility), str(client), str(said)
    return "", "", record.getMessage()


def _thread(said: str) -> str:
    """`[thrd:broker:9092/1]`, one of a few; anything else that a line begins with may be one of many."""
    return said.partition("]:")[0][:100] if said.startswith("[thrd:") else ""


def client_logger() -> logging.Logger:
    """What belongs in the client's `logger` configuration key."""
    logger = logging.getLogger(CLIENT_LOGGER)
    if not any(isinstance(f, ClientFilter) for f in logger.filters):
        logger.addFilter(ClientFilter())
    return logger


def configure(log: settings.Log, stream: TextIO, secrets: Collection[str] = ()) -> LogWriter:
    """Send all logging of the process to `stream`: ours from `log.level` up, that of others from WARNING
    up, Python's warnings included. None of the values in `secrets` is ever written. Replaces what an
    earlier call set up; close the returned handler last."""
    writer = LogWriter(stream, _formatter(log, stream, secrets))
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, LogWriter)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(writer)
    root.setLevel(logging.WARNING)
    logging.getLogger(_ROOT).setLevel(_LEVELS[log.level])
    logging.captureWarnings(capture=True)
    return writer


@contextlib.contextmanager
def logging_to(log: settings.Log, stream: TextIO, secrets: Collection[str] = ()) -> Iterator[LogWriter]:
    """`configure` for the length of a `with`, after which logging is as before."""
    root, ours = logging.getLogger(), logging.getLogger(_ROOT)
    levels = root.level, ours.level
    writer = configure(log, stream, secrets)
    try:
        yield writer
    finally:
        root.removeHandler(writer)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
        logging.captureWarnings(capture=False)
        writer.close()


def _formatter(log: settings.Log, stream: TextIO, secrets: Collection[str]) -> Formatter:
    console = log.format == "console" or (log.format == "auto" and stream.isatty())
    return ConsoleFormatter(secrets) if console else JsonFormatter(secrets)

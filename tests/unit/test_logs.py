"""Logs: safe to show, complete when they can be, and never in the way."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import threading
import unicodedata
import warnings

import pytest

from consumer import settings
from consumer.ops.log_format import ConsoleFormatter, Formatter, JsonFormatter, escaped
from consumer.ops.logs import ClientFilter, LogWriter, client_logger, logging_to

log = logging.getLogger("consumer.test")
CANARY = "hunter2-canary"


def logged(format_: str, level: str = "info", secrets: tuple[str, ...] = ()) -> Logged:
    return Logged(settings.Log(format=format_, level=level), secrets)  # type: ignore[arg-type]


class Logged:
    """`with logged("json") as out: …`; afterwards `out.lines` holds what was written."""

    def __init__(self, wanted: settings.Log, secrets: tuple[str, ...]) -> None:
        self._stream = io.StringIO()
        self._context = logging_to(wanted, self._stream, secrets)

    def __enter__(self) -> Logged:
        self._context.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    @property
    def objects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.text.splitlines()]


def test_json_lines_hold_the_constant_message_and_the_fields() -> None:
    with logged("json") as out:
        fields = {"action": "committed", "partitions": 3, "share": 0.5, "why": None}
        log.info("offsets committed", extra=fields)
    (line,) = out.objects
    assert line["message"] == "offsets committed"
    assert line["level"] == "info"
    assert line["logger"] == "consumer.test"
    assert str(line["time"]).endswith("Z")
    assert fields.items() <= line.items()


def test_console_lines_quote_what_has_spaces() -> None:
    with logged("console") as out:
        log.warning("a dependency fails", extra={"action": "trouble", "why": 'no "broker" answers'})
    assert 'WARNING a dependency fails  action=trouble why="no \\"broker\\" answers"' in out.text


@pytest.mark.parametrize("format_", ["json", "console"])
@pytest.mark.parametrize(
    "evil",
    [
        "\x1b[2J\x1b]0;title\x07",
        "first\nERROR forged line",
        "first\r\nforged",
        "gnp\u202egpj.exe",
        "\u2066isolate\u2069",
        "\u200b\u200e\ufeffhidden",
        "\x00\x7f\x9b31m",
        "line\u2028separator\u2029",
        "lone \ud800 surrogate",
    ],
)
def test_hostile_characters_never_reach_the_stream(format_: str, evil: str) -> None:
    with logged(format_) as out:
        log.info(evil, extra={"action": "test", "field": evil})
    assert out.text.endswith("\n")
    assert out.text.count("\n") == 1
    assert out.text[:-1].isprintable()
    out.text.encode()  # no surrogate is left
    if format_ == "json":
        assert out.objects[0]["field"] == evil  # escaped, not lost


def test_every_format_or_control_character_of_unicode_is_escaped() -> None:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    bad = [chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) in kinds]
    left = [hex(ord(c)) for c in bad if escaped(c) == c]
    assert left == []


def test_ordinary_letters_of_any_language_stay_readable() -> None:
    with logged("json") as out:
        log.info("Größe 東京 🙂", extra={"action": "test"})
    assert "Größe 東京 🙂" in out.text


@pytest.mark.parametrize("format_", ["json", "console"])
@pytest.mark.parametrize("name", ["password", "sasl_password", "client_secret", "auth_token", "jaas.config"])
def test_a_field_with_the_name_of_a_secret_is_masked(format_: str, name: str) -> None:
    with logged(format_) as out:
        log.info("told", extra={"action": "test", name: CANARY})
    assert CANARY not in out.text
    assert "****" in out.text


@pytest.mark.parametrize(
    "text",
    [
        f"sasl.password={CANARY}",
        f"ssl.key.password: {CANARY}, and more",
        f'client_secret = "{CANARY} with spaces"',
        f"redis://user:{CANARY}@host:6379/0",
    ],
)
def test_a_secret_inside_a_text_is_masked(text: str) -> None:
    with logged("json") as out:
        log.info("told", extra={"action": "test", "why": text})
        log.info("told %s", text, extra={"action": "test"})
        try:
            raise ValueError(text)
        except ValueError:
            log.exception("failed", extra={"action": "test"})
    assert len(out.objects) == 3
    assert CANARY not in out.text


def test_known_secret_values_are_masked_wherever_they_turn_up() -> None:
    with logged("json", secrets=(CANARY, f"{CANARY}-longer", "", "ab")) as out:
        log.info("told", extra={"action": "test", "why": f'Invalid value "{CANARY}" and {CANARY}-longer, ab'})
    assert CANARY not in out.text
    assert "longer" not in out.text
    assert "ab" in out.text  # too short to be masked everywhere


def test_numbers_are_not_secrets_whatever_their_name() -> None:
    with logged("json") as out:
        log.info("told", extra={"action": "test", "token_budget": 2048, "tokens": 3})
    assert out.objects[0]["token_budget"] == 2048
    assert out.objects[0]["tokens"] == 3


def test_values_that_json_cannot_hold_are_written_as_text() -> None:
    with logged("json") as out:
        log.info(
            "told", extra={"action": "test", "a": float("nan"), "b": float("inf"), "c": {1}, "d": b"\xff"}
        )
    line = out.objects[0]
    assert [line[k] for k in "abcd"] == ["nan", "inf", "{1}", "b'\\xff'"]


def test_long_fields_are_cut_and_a_long_traceback_keeps_its_end() -> None:
    with logged("json") as out:
        try:
            raise ValueError("x" * 20_000 + "the end")
        except ValueError:
            log.exception("m" * 20_000, extra={"action": "test", "why": "y" * 20_000})
    line = out.objects[0]
    assert all(len(str(line[k])) <= 4_097 for k in ("message", "why", "exception"))
    assert str(line["exception"]).endswith("the end")


def test_a_console_traceback_is_indented_and_cannot_forge_a_line() -> None:
    with logged("console") as out:
        try:
            raise ValueError("boom\n2026-01-01 INFO forged \x1b[31m")
        except ValueError:
            log.exception("failed", extra={"action": "test"})
    first, *rest = out.text.splitlines()
    assert "failed  action=test" in first
    assert rest
    assert all(line.startswith("    ") and line.isprintable() for line in rest)


def test_the_level_holds_for_us_and_warning_for_everybody_else() -> None:
    with logged("json", level="debug") as out:
        log.debug("ours", extra={"action": "test"})
        logging.getLogger("other.library").info("theirs")
        logging.getLogger("other.library").warning("theirs, serious")
    assert [o["message"] for o in out.objects] == ["ours", "theirs, serious"]
    with logged("json", level="error") as out:
        log.warning("not serious enough", extra={"action": "test"})
    assert out.text == ""


def test_python_warnings_become_log_lines() -> None:
    with logged("json") as out, warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn("old call", DeprecationWarning, stacklevel=1)
    assert "old call" in out.text


def test_auto_is_json_unless_the_stream_is_a_terminal() -> None:
    with logged("auto") as out:
        log.info("told", extra={"action": "test"})
    assert out.objects[0]["message"] == "told"

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with logging_to(settings.Log(format="auto"), terminal):
        log.info("told", extra={"action": "test"})
    assert "INFO    told  action=test" in terminal.getvalue()


def client_record(level: int, said: str, facility: str = "FAIL") -> logging.LogRecord:
    """As the client makes them."""
    args = (facility, "rdkafka#consumer-1", said)
    return logging.LogRecord("consumer.librdkafka", level, "", 0, "%s [%s] %s", args, None)


def test_the_clients_lines_get_a_constant_message_and_its_words_in_fields() -> None:
    with logged("json") as out:
        client_logger().handle(client_record(logging.WARNING, "[thrd:b1]: connection refused"))
        client_logger().warning("without parts")
    first, second = out.objects
    assert first["message"] == second["message"] == "the Kafka client says"
    assert (first["facility"], first["said"]) == ("FAIL", "[thrd:b1]: connection refused")
    assert second["said"] == "without parts"


def test_of_the_clients_complaints_about_one_broker_one_in_ten_seconds_passes() -> None:
    time = 0.0
    said = ClientFilter(now=lambda: time)
    passed = []
    for _ in range(21):
        complaint = client_record(logging.ERROR, f"[thrd:b1]: Connect failed after {time} s")
        if said.filter(complaint):
            passed.append(vars(complaint).get("held_back", 0))
        time += 1.0
    assert passed == [0, 9, 9]
    assert said.filter(client_record(logging.ERROR, "[thrd:b2]: Connect failed"))
    assert said.filter(client_record(logging.ERROR, "[thrd:b1]: other", facility="AUTH"))
    assert all(said.filter(client_record(logging.DEBUG, "[thrd:b1]: detail")) for _ in range(5))


def test_logging_is_as_before_afterwards() -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level, log.parent and log.parent.level)
    with logged("json"):
        pass
    assert (list(root.handlers), root.level, log.parent and log.parent.level) == before


class Gate(io.StringIO):
    """A stream that blocks in write until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.opened = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.entered.set()
        self.opened.wait()
        return super().write(text)


def record(text: str) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": text, "levelname": "INFO", "action": "test"})


def test_a_blocked_stream_drops_lines_counts_them_and_says_so_when_it_moves_again() -> None:
    gate = Gate()
    writer = LogWriter(gate, JsonFormatter(), capacity=3)
    writer.handle(record("first"))
    gate.entered.wait()  # the writing thread hangs on the first line
    for i in range(10):
        writer.handle(record(f"line {i}"))
    assert writer.dropped == 7
    gate.opened.set()
    writer.close()
    told = [json.loads(line) for line in gate.getvalue().splitlines()]
    assert [t["message"] for t in told] == ["first", "log lines were dropped", "line 0", "line 1", "line 2"]
    assert told[1]["lines"] == 7


def test_closing_while_the_stream_is_blocked_returns() -> None:
    gate = Gate()
    writer = LogWriter(gate, JsonFormatter(), capacity=1)
    for i in range(5):
        writer.handle(record(f"line {i}"))
    writer.close()
    writer.close()
    assert writer.dropped >= 3
    gate.opened.set()


def test_a_closed_stream_neither_raises_nor_stops_the_writer() -> None:
    stream = io.StringIO()
    stream.close()
    writer = LogWriter(stream, JsonFormatter())
    writer.handle(record("nobody reads this"))
    writer.close()
    assert writer.dropped == 1


def test_a_record_that_cannot_be_formatted_is_dropped_and_counted() -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    stream = io.StringIO()
    writer = LogWriter(stream, JsonFormatter())
    writer.handle(logging.makeLogRecord({"msg": "x", "field": Hostile()}))
    writer.handle(logging.makeLogRecord({"msg": "%d", "args": ("not a number",)}))
    assert writer.dropped == 2
    writer.handle(record("still alive"))
    writer.close()
    assert "still alive" in stream.getvalue()


@pytest.mark.parametrize("formatter", [JsonFormatter(), ConsoleFormatter()])
def test_a_text_that_fights_the_masking_pattern_costs_little(formatter: Formatter) -> None:
    for evil in ("password" * 10_000, "://" + "a" * 100_000, "secret=" + '"' * 50_000, "-." * 50_000):
        formatter.format(record(evil))  # would not return if the pattern backtracked


CHILD = """
import logging, sys
from consumer import settings
from consumer.ops.logs import configure
writer = configure(settings.Log(format="json"), sys.stderr)
log = logging.getLogger("consumer.child")
for i in range(5_000):
    log.info("a line of some length, again and again", extra={"action": "test", "number": i})
print(writer.dropped, flush=True)
"""


def test_a_process_whose_standard_error_nobody_reads_works_on_and_exits_cleanly() -> None:
    reader, blocked = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD], stderr=blocked, stdout=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(reader)
        os.close(blocked)
    assert done.returncode == 0
    assert int(done.stdout) > 0


def test_a_process_whose_standard_error_is_closed_works_on_and_exits_cleanly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD], stderr=writer, stdout=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode == 0

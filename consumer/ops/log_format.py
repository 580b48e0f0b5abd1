"""One log record to one line that is safe to show on a terminal and safe to keep.

Safe: no secret, no control, escape or text-direction character that could forge lines or hide text,
bounded fields.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Collection
from datetime import UTC, datetime

from consumer.masking import MASK, is_secret

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST_FIELD = 4_096
_SHORTEST_SECRET = 4  # masking a shorter one everywhere would only make the lines unreadable

# All of Unicode's control, format and separator characters (Cc, Cf, Zl, Zp) and lone surrogates: escape
# sequences, line breaks, zero-width characters, changes of text direction, invisible tags.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
# Every repetition is bounded, so that no text makes the search slow.
_ASSIGNED = re.compile(
    r"(?i)((?:passw(?:or)?d|secret|credential|jaas|api[_.-]?key|private[_.-]?key)[\w.\-]{0,32}\s{0,4}[=:]\s{0,4})"
    r"(?:\"[^\"]{0,256}\"|'[^']{0,256}'|[^\s,;]{1,256})"
)
_PLAIN = re.compile(r"[^\s\"=]+")  # needs no quotes in a console line
_USERINFO = re.compile(r"(?<=://)[^/@\s]{1,512}@")


def escaped(text: str) -> str:
    """Every unsafe character as \\uXXXX, which inside a JSON string means the same character."""
    return _UNSAFE.sub(_code_units, text)


def _code_units(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


class Formatter(logging.Formatter):
    """What both formats share: fields of a record, masking, bounds. Subclasses implement `line`."""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        # longest first, so that a secret that contains another is masked as a whole
        kept = sorted({s for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, kept))) if kept else None

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: self._field(name, value) for name, value in _extra(record).items()}
        if record.exc_info:
            # its end says what happened, so that is what must survive the bound
            fields["exception"] = self._text(self.formatException(record.exc_info)[-_LONGEST_FIELD:])
        return self.line(record, self._text(record.getMessage()), fields)

    def line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        raise NotImplementedError

    def _field(self, name: str, value: object) -> object:
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        return MASK if is_secret(name) else self._text(str(value))

    def _text(self, text: str) -> str:
        text = text[: 2 * _LONGEST_FIELD]  # twice, so that no secret is cut before it is masked
        text = _USERINFO.sub(f"{MASK}@", _ASSIGNED.sub(rf"\1{MASK}", text))
        text = self._secrets.sub(MASK, text) if self._secrets else text
        return text if len(text) <= _LONGEST_FIELD else f"{text[:_LONGEST_FIELD]}…"


class JsonFormatter(Formatter):
    """One JSON object per line: time, level, logger, message, then the record's own fields."""

    def line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        head = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name}
        return escaped(json.dumps(head | {"message": message} | fields, ensure_ascii=False))


class ConsoleFormatter(Formatter):
    """`time LEVEL message  field=value …`; a traceback follows on lines of its own, indented."""

    def line(self, record: logging.LogRecord, message: str, fields: dict[str, object]) -> str:
        trace = str(fields.pop("exception", ""))
        told = [f"{name}={_quoted(value)}" for name, value in fields.items()]
        first = f"{_time(record)} {record.levelname:<7} {escaped(message)}"
        rest = [f"    {escaped(line)}" for line in trace.splitlines()]
        return "\n".join(["  ".join([first, " ".join(told)]).rstrip(), *rest])


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _quoted(value: object) -> str:
    text = str(value)
    return escaped(text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False))


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""Record headers: read from a message, and kept under a limit in bytes."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from consumer.records import Headers

# W3C Trace Context: what links a result to the trace of its record is kept before all else.
TRACE = frozenset({"traceparent", "tracestate"})
_FRAMING = 10  # the two lengths of a header on the wire, at most

# Calls it from C, which looks for an error that comes with a result; the interpreter does not, once it has
# seen a call of `message.headers()` a few times, and the error would surface at some later instruction.
_ask = operator.methodcaller("headers")


class Message(Protocol):
    """What the client hands over."""

    def headers(self) -> Any:
        """Where a name is not UTF-8: the first call returns a broken list and leaves an exception behind;
        another call returns the list, which then crashes the interpreter."""


def headers_of(message: Message) -> Headers | None:
    """The headers; None where a name is not UTF-8. Once for each message."""
    try:
        return tuple(_ask(message) or ())
    except Exception:  # SystemError over UnicodeDecodeError today; anything here is the record's fault
        return None


def header_size(name: str, value: bytes | None) -> int:
    """Bytes on the wire, at most."""
    return len(name.encode()) + len(value or b"") + _FRAMING


def headers_size(headers: Iterable[tuple[str, bytes | None]]) -> int:
    size = 0
    for name, value in headers:
        size += header_size(name, value)
    return size


def fit(headers: Headers, limit: int, reserved: Collection[str] = ()) -> Headers:
    """The headers, without those with a reserved name, in their order, as far as they fit in `limit`.

    Whole headers only, the trace first; one that does not fit does not keep out smaller ones.
    """
    for name, _ in headers:
        if name in reserved:
            headers = tuple(header for header in headers if header[0] not in reserved)
            break
    return headers if headers_size(headers) <= limit else _fit_whole(headers, limit)


def _fit_whole(headers: Headers, limit: int) -> Headers:
    kept = set()
    for i in sorted(range(len(headers)), key=lambda i: headers[i][0] not in TRACE):
        size = header_size(*headers[i])
        if size <= limit:
            limit -= size
            kept.add(i)
    return tuple(header for i, header in enumerate(headers) if i in kept)

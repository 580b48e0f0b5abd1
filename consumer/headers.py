"""Record headers under a limit in bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from consumer.records import Headers

# W3C Trace Context: what links a result to the trace of its record is kept before all else.
TRACE = frozenset({"traceparent", "tracestate"})
_FRAMING = 10  # the two lengths of a header on the wire, at most


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

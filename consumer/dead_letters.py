"""Rejected records to bytes: unchanged, with the why in headers. Format: schemas/dead-letter.md."""

from __future__ import annotations

from hashlib import sha256

from consumer.encode import Encoded
from consumer.headers import fit, headers_size
from consumer.records import Headers, Reason, Record, Rejection
from consumer.results import result_id, rfc3339
from consumer.settings import Results

SCHEMA_VERSION = 1
MAX_OWN_BYTES = 512
"""Bytes of the value of one header of ours; a longer one is cut between characters."""

# Kafka Connect's names of stages (org.apache.kafka.connect.runtime.errors.Stage), and who refused.
_DECODING = ("VALUE_CONVERTER", "consumer.codec.EventCodec")
_STAGES = {
    Reason.BAD_HEADERS: ("HEADER_CONVERTER", "consumer.codec.EventCodec"),
    Reason.POISON: ("TASK_PUT", "consumer.ports.Scorer"),
    Reason.UNPUBLISHABLE: ("KAFKA_PRODUCE", "consumer.ports.Sink"),
}


class DeadLetterEncoder:
    """Encodes rejected records, each within `output.max_bytes`."""

    def __init__(self, settings: Results, group: str) -> None:
        self._max_bytes = settings.max_bytes
        self._id_prefix = settings.id_prefix
        self._group = group

    def encode(self, record: Record, rejection: Rejection, at_ms: int) -> Encoded:
        """Never raises. Key, value and headers as they came where they fit together; otherwise headers
        and key within a quarter of the room each, and of the value as much as is left.

        Our headers come last and always all of them, so the last header of a name is ours, whatever
        the record brought along.
        """
        own = _connect_headers(record, rejection, self._group) + self._own_headers(record, rejection, at_ms)
        room = self._max_bytes - headers_size(own) - headers_size(_flags(False, False, False))
        key, value, headers = record.key, record.value, record.headers or ()
        if len(key or b"") + len(value or b"") + headers_size(headers) > room:
            headers = fit(headers, room // 4)
            key = _first(key, room // 4)
            value = _first(value, room - headers_size(headers) - len(key or b""))
        flags = _flags(value != record.value, key != record.key, headers != record.headers)
        return Encoded(key, value, [*headers, *own, *flags])

    def _own_headers(self, record: Record, rejection: Rejection, at_ms: int) -> Headers:
        written = {
            "consumer.schema.version": str(SCHEMA_VERSION),
            "consumer.reason": rejection.reason,
            "consumer.detail": rejection.detail,
            "consumer.group": self._group,
            "consumer.result.id": result_id(record, self._id_prefix),
            "consumer.rejected.at": rfc3339(at_ms),
            "consumer.original.timestamp": None if record.timestamp is None else str(record.timestamp),
            "consumer.original.timestamp.type": _timestamp_type(record),
            "consumer.value.bytes": _length(record.value),
            "consumer.value.sha256": _digest(record.value),
            "consumer.key.bytes": _length(record.key),
            "consumer.key.sha256": _digest(record.key),
        }
        return _as_headers(written)


def _connect_headers(record: Record, rejection: Rejection, group: str) -> Headers:
    """The context headers of Kafka Connect's dead letters, as its DeadLetterQueueReporter names them."""
    stage, component = _STAGES.get(rejection.reason, _DECODING)
    written: dict[str, str | None] = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "connector.name": group,
        "task.id": "0",
        "stage": stage,
        "class.name": component,
        "exception.class.name": "consumer.errors.BadRecord",
        "exception.message": f"{rejection.reason}: {rejection.detail}",
    }
    return _as_headers({f"__connect.errors.{name}": value for name, value in written.items()})


def _flags(value: bool, key: bool, headers: bool) -> Headers:
    """What of the record is not here as it came."""
    cut = {"consumer.value.cut": value, "consumer.key.cut": key, "consumer.headers.cut": headers}
    return tuple((name, b"true" if is_cut else b"false") for name, is_cut in cut.items())


def _as_headers(values: dict[str, str | None]) -> Headers:
    return tuple((name, None if value is None else _bounded(value)) for name, value in values.items())


def _bounded(text: str) -> bytes:
    return text.encode(errors="replace")[:MAX_OWN_BYTES].decode(errors="ignore").encode()


def _first(data: bytes | None, length: int) -> bytes | None:
    return None if data is None else data[:length]


def _length(data: bytes | None) -> str | None:
    return None if data is None else str(len(data))


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def _timestamp_type(record: Record) -> str:
    if record.timestamp is None:
        return "NoTimestampType"
    return "LogAppendTime" if record.log_append_time else "CreateTime"

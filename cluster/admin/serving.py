"""Serve an ASGI application within an event loop that belongs to something else."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from cluster.zone import Address, ClusterError

_BACKLOG = 64
_CLIENTS_MAX = 64
_START_S = 10.0
_IDLE_S = 5


def _not_told() -> None:
    pass


class _Server(uvicorn.Server):
    """Leaves the signals to whoever owns the loop, and tells when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serves = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serves.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Client(H11Protocol):
    """Closed at once if it is one too many, and after ``idle_s`` without a whole request."""

    def __init__(self, *args: Any, clients_max: int, on_refused: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clients_max, self._on_refused = clients_max, on_refused

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._clients_max:
            self._on_refused()
            transport.abort()
        else:
            self._wait_for_a_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_a_request()

    def _wait_for_a_request(self) -> None:
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    what: str = "the administration",
    clients_max: int = _CLIENTS_MAX,
    finish_s: int = 1,
    idle_s: int = _IDLE_S,
    on_refused: Callable[[], None] = _not_told,
) -> AsyncIterator[Address]:
    """Serve ``app`` inside the block; gives where. Raises ``ClusterError``, about ``what``, if the port cannot be had.

    Requests that are under way at its end have ``finish_s`` to be answered. More than ``clients_max`` connections are
    closed at once, which ``on_refused`` hears of; so is, after ``idle_s``, one that asks nothing.
    """
    listener = listening(host, port, what=what)
    bounds: dict[str, Any] = {"clients_max": clients_max, "idle_s": idle_s, "on_refused": on_refused}
    async with serving_at(app, listener, finish_s=finish_s, **bounds) as address:
        yield address


@contextlib.asynccontextmanager
async def serving_at(
    app: ASGIApp,
    listener: socket.socket,
    *,
    clients_max: int = _CLIENTS_MAX,
    finish_s: int = 1,
    idle_s: int = _IDLE_S,
    on_refused: Callable[[], None] = _not_told,
) -> AsyncIterator[Address]:
    """The same at a port that is had already."""
    client = partial(_Client, clients_max=clients_max, on_refused=on_refused)
    server = _Server(
        uvicorn.Config(
            app,
            loop="none",
            http=cast(type[asyncio.Protocol], client),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=idle_s,
            timeout_graceful_shutdown=finish_s,
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
    """Raises ``ClusterError``, about ``what``, if the port cannot be had."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ClusterError(f"{what} cannot listen at {host}:{port}: {error.strerror}") from error
    return listener

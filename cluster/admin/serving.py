"""Serve an ASGI application within an event loop that belongs to something else."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.types import ASGIApp

from cluster.zone import Address, ClusterError

_BACKLOG = 64
_CLIENTS_MAX = 64
_START_S = 10.0


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


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    what: str = "the administration",
    clients_max: int = _CLIENTS_MAX,
    finish_s: int = 1,
) -> AsyncIterator[Address]:
    """Serve ``app`` inside the block; gives where. Raises ``ClusterError``, about ``what``, if the port cannot be had.

    Requests that are under way at its end have ``finish_s`` to be answered.
    """
    listener = listening(host, port, what=what)
    async with serving_at(app, listener, clients_max=clients_max, finish_s=finish_s) as address:
        yield address


@contextlib.asynccontextmanager
async def serving_at(
    app: ASGIApp, listener: socket.socket, *, clients_max: int = _CLIENTS_MAX, finish_s: int = 1
) -> AsyncIterator[Address]:
    """The same at a port that is had already."""
    server = _Server(
        uvicorn.Config(
            app,
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            limit_concurrency=clients_max,
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

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
async def serving(app: ASGIApp, *, host: str, port: int) -> AsyncIterator[Address]:
    """Serve ``app`` inside the block; gives where. Raises ``ClusterError`` if the port cannot be had."""
    listener = _listener(host, port)
    server = _Server(
        uvicorn.Config(
            app,
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            limit_concurrency=_CLIENTS_MAX,
            timeout_graceful_shutdown=1,
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


def _listener(host: str, port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ClusterError(f"the administration cannot listen at {host}:{port}: {error.strerror}") from error
    return listener

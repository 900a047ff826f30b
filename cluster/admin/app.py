"""The HTTP application of one coordinator.

::

    GET  /health      200, or 503 if its own server is not reached
    GET  /topology    zones, port, levels, links     GET /statistics  counts, latencies, of late too
    GET  /metrics     for Prometheus
    PUT  /links       {"a>b": {"lag": "constant:50ms", "loss": 0.1, "cut": "drop"}, …}: how links are to be
    PUT  /levels      {"read": "DC_ONE", "write": "DC_QUORUM"}: for connections made from now on
    POST /heal        every link as it began

What is sent as JSON is checked; a wrong value is answered by 422 and ``{"error": …}`` with what would be accepted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from zonelab.cluster.admin.exposition import MEDIA_TYPE
from zonelab.cluster.admin.guard import Guard, refused
from zonelab.cluster.admin.links import LinkState
from zonelab.cluster.admin.metrics import exposition
from zonelab.cluster.admin.rates import PERIOD_S
from zonelab.cluster.admin.serving import Bounds, serving
from zonelab.cluster.admin.settings import AdminSettings
from zonelab.cluster.admin.view import GatewayView
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import ClusterError

BODY_BYTES_MAX = 64 * 1024
_LINKS = TypeAdapter(dict[str, LinkState])

_Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class _LevelsBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    read: Level | None = None
    write: Level | None = None


def admin_app(view: GatewayView, settings: AdminSettings) -> Starlette:
    """The application; what it may do to the gateway is what ``view`` offers."""

    async def health(_: Request) -> Response:
        health_of_zone = view.health()
        return JSONResponse(health_of_zone, status_code=200 if health_of_zone["healthy"] else 503)

    async def topology(_: Request) -> Response:
        return JSONResponse(view.topology())

    async def statistics(_: Request) -> Response:
        return JSONResponse(view.statistics())

    async def metrics(_: Request) -> Response:
        return Response(exposition(view), media_type=MEDIA_TYPE)

    async def links(request: Request) -> Response:
        view.links.apply(_LINKS.validate_json(await body_of(request)))
        return JSONResponse(view.topology()["links"])

    async def levels(request: Request) -> Response:
        wanted = _LevelsBody.model_validate_json(await body_of(request))
        view.set_levels(read=wanted.read, write=wanted.write)
        topology = view.topology()
        return JSONResponse({"read": topology["read_level"], "write": topology["write_level"]})

    async def heal(_: Request) -> Response:
        view.links.heal()
        return JSONResponse(view.topology()["links"])

    reading: dict[str, _Endpoint] = {
        "/health": health,
        "/topology": topology,
        "/statistics": statistics,
        "/metrics": metrics,
    }
    return Starlette(
        routes=[
            *(Route(path, endpoint) for path, endpoint in reading.items()),
            Route("/links", links, methods=["PUT"]),
            Route("/levels", levels, methods=["PUT"]),
            Route("/heal", heal, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=settings.token, hosts=settings.hosts)],
        exception_handlers={ValidationError: wrong_value, ClusterError: wrong_value, BodyTooLarge: wrong_value},
    )


def administration(settings: AdminSettings) -> Callable[[ZoneGateway], AbstractAsyncContextManager[dict[str, str]]]:
    """A ``Companion`` of a gateway process that serves the application beside it."""

    @asynccontextmanager
    async def companion(gateway: ZoneGateway) -> AsyncIterator[dict[str, str]]:
        view = GatewayView(gateway)
        watching = [asyncio.create_task(each) for each in (_sample(view), _look(view))]
        try:
            bounds = Bounds(token=settings.token)
            app = admin_app(view, settings)
            async with serving(app, host=settings.host, port=settings.port, bounds=bounds) as address:
                yield {"admin": f"http://{address}"}
        finally:
            for task in watching:
                task.cancel()

    return companion


async def _sample(view: GatewayView) -> None:
    while True:
        await asyncio.sleep(PERIOD_S)
        view.sample()


async def _look(view: GatewayView) -> None:
    """Beside the counting: a server that stands still is waited for."""
    while True:
        await asyncio.sleep(PERIOD_S)
        await view.look_at_server()


class BodyTooLarge(ClusterError):
    """More than ``BODY_BYTES_MAX``."""


async def body_of(request: Request) -> bytes:
    """Return what the request carries. Raises ``BodyTooLarge`` before more than that is in memory."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES_MAX:
            raise BodyTooLarge(f"the body is larger than {BODY_BYTES_MAX} bytes")
    return bytes(body)


async def wrong_value(_: Request, error: Exception) -> Response:
    return refused(in_words(error), status=422)


def in_words(error: Exception) -> str:
    """One line for each thing that is wrong with what was sent, with the value given where pydantic knows it."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(_said(one) for one in error.errors(include_url=False))


def _said(wrong: Any) -> str:
    where = ".".join(map(str, wrong["loc"]))
    given = "" if wrong["type"] in ("missing", "json_invalid") else f", got {str(wrong['input'])[:60]!r}"
    said = str(wrong["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}{given}" if where else f"{said}{given}"

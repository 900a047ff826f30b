"""The server of a live page: the page itself, its events, and a message that is followed.

::

    GET /          the page, in which nothing of the cluster is
    GET /events    server-sent events: one ``hello`` with what stays the same, then a ``reading`` each second
    GET /metrics   the same figures for Prometheus
    GET /message   ?queue=NAME&engine=ENGINE&id=ID: where every zone has the message
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from zonelab.app.monitor.feed import Feed, event
from zonelab.app.monitor.metrics import exposition
from zonelab.app.monitor.page import PAGE_PATH, page, policy
from zonelab.cluster.admin.app import in_words
from zonelab.cluster.admin.exposition import MEDIA_TYPE
from zonelab.cluster.admin.guard import refused

METRICS_PATH = "/metrics"
OPEN_PATHS = (PAGE_PATH, METRICS_PATH)
"""Paths that are read without a token, as at a coordinator's administration."""

_NOT_KEPT = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class MonitorSources(Protocol):
    """Sources that a page shows."""

    def hello(self) -> dict[str, Any]:
        """Return what stays the same while it is looked at."""

    async def read(self) -> dict[str, Any]:
        """The figures now, each with the time when it was read."""

    @property
    def queues(self) -> "SearchableQueues":
        """The queues that are shown."""


class SearchableQueues(Protocol):
    """Queues in which a message can be looked for."""

    async def find(self, name: str, engine: str, message_id: str, /) -> list[dict[str, Any]]:
        """Return the places at which each zone has the message. Raises ``NotAccepted`` if no such queue is shown."""


async def not_accepted(_: Request, error: Exception) -> Response:
    """Return the response to a request that raised ``NotAccepted``: status 409."""
    return refused(in_words(error), status=409)


def page_routes(monitored: MonitorSources, feed: Feed) -> Sequence[Route]:
    """``feed`` reads ``monitored``."""

    async def shown(_: Request) -> Response:
        headers = {**_NOT_KEPT, "Content-Security-Policy": policy(), "Referrer-Policy": "no-referrer"}
        return HTMLResponse(page(), headers=headers)

    async def events(_: Request) -> Response:
        async def told() -> AsyncIterator[bytes]:
            yield event("hello", monitored.hello())
            async for each in feed.events():
                yield each

        return StreamingResponse(told(), media_type="text/event-stream", headers=_NOT_KEPT)

    async def message(request: Request) -> Response:
        name, engine, message_id = (request.query_params.get(part, "") for part in ("queue", "engine", "id"))
        found = await monitored.queues.find(name, engine, message_id)
        return JSONResponse({"message": message_id, "found": found}, headers=_NOT_KEPT)

    async def metrics(_: Request) -> Response:
        return Response(exposition(await monitored.read()), media_type=MEDIA_TYPE)

    return (
        Route(PAGE_PATH, shown),
        Route("/events", events),
        Route(METRICS_PATH, metrics),
        Route("/message", message),
    )

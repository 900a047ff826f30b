"""The supervisor's HTTP application, for the command line and the live page of the same user: all needs the token."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from zonelab.app.monitor.app import OPEN_PATHS, not_accepted, page_routes
from zonelab.app.monitor.queue_request import QueueRequest
from zonelab.app.session.fault_requests import FaultRequest
from zonelab.app.session.session import Session
from zonelab.cluster.admin.app import BodyTooLarge, body_of, in_words, wrong_value
from zonelab.cluster.admin.guard import Guard, refused
from zonelab.cluster.zone import ClusterError, Restart
from zonelab.scenarios.errors import NotAccepted


class RestartRequest(BaseModel):
    """``mode`` matters for servers only."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Literal["zone", "coordinator"]
    target: str
    mode: Restart = Restart.KEEP


class EndRequest(BaseModel):
    """Which fault, by its number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int = Field(ge=1)


def control_app(session: Session, *, token: str, ending: asyncio.Event) -> Starlette:
    """``ending`` is set when the cluster is to go down."""

    async def recorded(verb: str, arguments: dict[str, Any], work: Callable[[], Awaitable[Any]]) -> Response:
        """A verb that fails is recorded as well, with its error."""
        try:
            done = await work()
        except ClusterError as error:
            session.recording.verb(verb, arguments, error=str(error))
            raise
        session.recording.verb(verb, arguments)
        return JSONResponse({"done": done})

    async def status(_: Request) -> Response:
        return JSONResponse(await session.status())

    async def fault(request: Request) -> Response:
        wanted = FaultRequest.model_validate_json(await body_of(request))
        fields = wanted.model_dump(mode="json", exclude_defaults=True)
        return await recorded("fault", fields, lambda: session.board.begin(wanted))

    async def end(request: Request) -> Response:
        wanted = EndRequest.model_validate_json(await body_of(request))
        return await recorded("end", wanted.model_dump(), lambda: session.board.end(wanted.number))

    async def restart(request: Request) -> Response:
        wanted = RestartRequest.model_validate_json(await body_of(request))
        of_coordinator = wanted.what == "coordinator"
        mode = Restart.KEEP if of_coordinator else wanted.mode
        return await recorded(
            "restart",
            wanted.model_dump(mode="json"),
            lambda: session.board.restart(wanted.target, mode, of_coordinator=of_coordinator),
        )

    async def queue(request: Request) -> Response:
        wanted = QueueRequest.model_validate_json(await body_of(request))
        return JSONResponse({"done": [session.queues.add(wanted)]})

    async def heal(_: Request) -> Response:
        return await recorded("heal", {}, session.heal)

    async def down(_: Request) -> Response:
        session.recording.verb("down", {})
        try:
            return JSONResponse({"done": await session.compare_keys(after="down")}, status_code=202)
        finally:
            ending.set()

    async def failed(_: Request, error: Exception) -> Response:
        return refused(in_words(error), status=502)

    return Starlette(
        routes=[
            *page_routes(session, session.feed),
            Route("/status", status),
            Route("/faults", fault, methods=["POST"]),
            Route("/faults/end", end, methods=["POST"]),
            Route("/restart", restart, methods=["POST"]),
            Route("/queues", queue, methods=["POST"]),
            Route("/heal", heal, methods=["POST"]),
            Route("/down", down, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, token=token, reading_needs_token=True, open_to_all=OPEN_PATHS)],
        exception_handlers={
            ValidationError: wrong_value,
            BodyTooLarge: wrong_value,
            NotAccepted: not_accepted,
            ClusterError: failed,
        },
    )

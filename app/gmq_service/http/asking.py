"""Parts that the HTTP endpoints share: bodies of bounded size, and callers who may leave while they wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from zonelab.app.gmq_service.backend.waiting import Caller
from zonelab.app.gmq_service.rpc.go_json import decoded, encoded, scan_value, whole

EVERY_METHOD = ["GET", "POST", "PUT", "PATCH", "DELETE"]
JSON = "application/json; charset=utf-8"


class BadBody(Exception):
    """No JSON object with the fields that are asked for, or too long."""


async def body_of(request: Request, *, bytes_max: int) -> dict[str, Any]:
    """The object that was sent, its names in small letters, as Go matches them. Raises ``BadBody``."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > bytes_max:
                raise BadBody
        text = decoded(body).strip(" \t\r\n")
        value, end = scan_value(text, 0)
    except (ClientDisconnect, ValueError, StopIteration, RecursionError) as error:
        raise BadBody from error
    if end != len(text) or not isinstance(value, dict):
        raise BadBody
    return {name.lower(): item for name, item in value.items()}


def text_in(body: dict[str, Any], name: str) -> str:
    """Without blanks around it; empty if it is not there. Raises ``BadBody``."""
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise BadBody
    return "" if value is None else whole(value).strip()


def number_in(body: dict[str, Any], name: str) -> int:
    """0 if it is not there. Raises ``BadBody``."""
    value = body.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63):
        raise BadBody
    return value or 0


def answer(value: Any, *, status: int = 200, kind: str = JSON) -> Response:
    """``value`` as JSON. ``kind``: the media type of the answer."""
    return Response(encoded(value).encode("utf-8", "replace"), status_code=status, media_type=kind)


@contextlib.asynccontextmanager
async def caller_of(request: Request) -> AsyncIterator[Caller]:
    """The caller, who has left once the connection is closed."""
    caller = Caller()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        caller.leave()

    watching = asyncio.create_task(watch())
    try:
        yield caller
    finally:
        watching.cancel()

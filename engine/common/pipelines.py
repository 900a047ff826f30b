"""One pipeline: replies with types, and what it means that the server refused some of its commands."""

from collections.abc import Sequence
from typing import Any

from zonelab.engine.ports import Command, Connection, Indeterminate, Reply, ServerError


async def read(connection: Connection, commands: Sequence[Command]) -> list[Any]:
    """The replies to commands that change nothing. Raises the first error reply, ``ServerError``."""
    replies = await connection.execute(*commands) if commands else []
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
    return replies


async def write(connection: Connection, commands: Sequence[Command], *, name: str) -> list[Any]:
    """The replies to commands that change something.

    Raises ``ServerError`` if the server refused all of them, and ``Indeterminate`` if it refused some.
    """
    replies = await connection.execute(*commands) if commands else []
    refused = refusal(replies)
    if refused is None:
        return replies
    if all(isinstance(reply, ServerError) for reply in replies):
        raise refused
    raise Indeterminate(f"{name} is partly done: {refused}") from refused


def refusal(replies: Sequence[Reply]) -> ServerError | None:
    """The first error reply."""
    return next((reply for reply in replies if isinstance(reply, ServerError)), None)

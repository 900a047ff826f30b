"""What tests on real servers share: waiting for a condition, and clients that tell how a command ended."""

import asyncio
from collections.abc import Callable
from typing import Any

from engine.ports import Command, Connection, Indeterminate, Unavailable

PATIENCE_S = 60.0


async def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until ``condition()`` holds; fails, and says for what, if it never does."""
    async with asyncio.timeout(PATIENCE_S) as waiting:
        try:
            while not condition():  # noqa: ASYNC110 (conditions of other people's making have no event)
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            if waiting.expired():
                raise AssertionError(f"waited {PATIENCE_S:g} s in vain: {what}") from None
            raise


async def outcome(connection: Connection, *commands: Command) -> Any:
    """The replies, or ``(class, text)`` of the error."""
    try:
        return await connection.execute(*commands)
    except (Unavailable, Indeterminate) as error:
        return type(error), str(error)

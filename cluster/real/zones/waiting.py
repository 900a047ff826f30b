"""Waiting that survives cancellation: clean-up must finish even when its caller is being cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_completion(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run ``coroutine`` to its end even if the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(coroutine)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()  # Marks it as seen: the cancellation is what the caller gets to know.
        raise


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a blocking call in a thread. A cancelled caller still waits for its end: a thread cannot be taken back."""
    return await to_completion(asyncio.to_thread(function, *arguments))

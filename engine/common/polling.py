"""Waiting of a pop, whatever it reads and however it leases: it asks again and again, and blocks no connection."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from zonelab.engine.message import Delivery
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS

Candidate = TypeVar("Candidate")


async def pop_in_rounds(
    runtime: Runtime,
    count: int,
    *,
    wait_ms: int,
    poll_ms: int,
    due: Callable[[int], Awaitable[Sequence[Candidate]]],
    lease_up_to: Callable[[int, Sequence[Candidate]], Awaitable[list[Delivery]]],
) -> list[Delivery]:
    """Up to ``count`` deliveries: at once when so many are due, otherwise what is due after ``wait_ms``.

    Nothing is leased while waiting. If other consumers take all that was due, the wait goes on. ``due(count)`` reads up
    to so many candidates, ``poll_ms`` is the pause between two reads, ``lease_up_to(count, candidates)`` takes them.
    """
    deadline_ns = runtime.now_ns() + wait_ms * NS_PER_MS
    while True:
        last_round = runtime.now_ns() >= deadline_ns
        candidates = await due(count)
        if last_round or len(candidates) >= count:
            deliveries = await lease_up_to(count, candidates)
            if deliveries or last_round:
                return deliveries
        await runtime.sleep(max(0, min(poll_ms * NS_PER_MS, deadline_ns - runtime.now_ns())))


async def pop_when_ready(
    runtime: Runtime, take: Callable[[], Awaitable[list[Delivery]]], *, wait_ms: int, poll_ms: int
) -> list[Delivery]:
    """Return what ``take`` gets, as soon as that is anything; nothing when ``wait_ms`` are over.

    ``take`` is called at least once, and again after each pause of ``poll_ms``.
    """
    deadline_ns = runtime.now_ns() + wait_ms * NS_PER_MS
    while True:
        deliveries = await take()
        rest_ns = deadline_ns - runtime.now_ns()
        if deliveries or rest_ns <= 0:
            return deliveries
        await runtime.sleep(min(poll_ms * NS_PER_MS, rest_ns))

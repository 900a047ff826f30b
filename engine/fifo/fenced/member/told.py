"""Requests under a token, reported to the observer: begun, ended as ok, or as info if single zones may have done it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.fenced.register import Fenced
from zonelab.engine.fifo.fenced.views import Unadmitted
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.units import NS_PER_MS


@contextmanager
def told(
    context: MemberContext, kind: str, partition: Partition, each: Sequence[dict[str, Any]] = ({},), **columns: Any
) -> Iterator[dict[str, Any]]:
    """Report one request. ``each``: columns of its events. The body adds columns of the events that end it."""
    named = {**context.columns(partition), **columns}
    calls = [context.observer.begin(kind, **{**named, **more}) for more in each]
    answered: dict[str, Any] = {}
    try:
        yield answered
    except COMMAND_FAILURES as error:
        for call in calls:
            context.observer.end(call, outcome="info", status=_reason(error))
        raise
    for call in calls:
        context.observer.end(call, **{"outcome": "ok", **answered})


def until_ns(context: MemberContext, asked_ns: int) -> int:
    """Return the end of a lease that was requested at that time."""
    return asked_ns + context.times_ms.lease * NS_PER_MS


def _reason(error: Exception) -> str:
    if isinstance(error, Fenced):
        return "fenced"
    return "unadmitted" if isinstance(error, Unadmitted) else type(error).__name__

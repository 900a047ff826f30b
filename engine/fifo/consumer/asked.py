"""Tells a member's observer of each request to the zones: that it begins, and whether it ended as ok, fail or info."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import PortError, ServerError, Unavailable


@contextmanager
def asked(
    context: MemberContext, kind: str, partitions: Sequence[Partition], **columns: Any
) -> Iterator[dict[Partition, str]]:
    """Tell of one request for each of ``partitions``. The body notes those that were refused, with the reason."""
    calls = {each: context.observer.begin(kind, **context.columns(each), **columns) for each in partitions}
    refused: dict[Partition, str] = {}
    try:
        yield refused
    except (PortError, ServerError) as error:
        outcome = "fail" if isinstance(error, Unavailable | ServerError) else "info"
        for call in calls.values():
            context.observer.end(call, outcome=outcome, status=type(error).__name__)
        raise
    for partition, call in calls.items():
        if partition in refused:
            context.observer.end(call, outcome="fail", status=refused[partition])
        else:
            context.observer.end(call, outcome="ok")

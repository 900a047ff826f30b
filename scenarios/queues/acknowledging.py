"""Acknowledging a delivery, or extending its lease, whether a queue of the user's own takes the delivery or the id."""

import inspect
import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from zonelab.engine.message import Delivery
from zonelab.engine.queue import ExtendableQueue, Queue

_ID = re.compile(r"(.*_)?id")


async def acknowledge(queue: Queue, delivery: Delivery) -> bool:
    """``queue.ack``, with what it takes: a delivery, as ``zonelab.engine.queue`` has it, or the id of its message."""
    ack: Any = queue.ack
    return bool(await ack(delivery.message.id if _takes_id(getattr(ack, "__func__", ack)) else delivery))


async def extend_lease(queue: ExtendableQueue, delivery: Delivery, *, timeout_ms: int) -> bool:
    """``queue.set_unack_timeout``, with the delivery if that is what its first parameter is called or annotated."""
    extend: Any = queue.set_unack_timeout
    by_delivery = _takes_delivery(getattr(extend, "__func__", extend))
    return bool(await extend(delivery if by_delivery else delivery.message.id, timeout_ms=timeout_ms))


@cache
def _takes_delivery(extend: Callable[..., Any]) -> bool:
    parameter = _first_parameter(extend)
    return parameter.name == "delivery" or "Delivery" in inspect.formatannotation(parameter.annotation)


def _first_parameter(operation: Callable[..., Any]) -> inspect.Parameter:
    return next(one for one in inspect.signature(operation).parameters.values() if one.name != "self")


@cache
def _takes_id(ack: Callable[..., Any]) -> bool:
    """By the name of its parameter (``message_id``, ``id``), or its annotation ``str``."""
    parameter = _first_parameter(ack)
    written = inspect.formatannotation(parameter.annotation)
    named_id = _ID.fullmatch(parameter.name) is not None and "Delivery" not in written
    if not (named_id or written in ("str", "'str'")):
        return False
    warnings.warn(
        f"{ack.__qualname__} takes an id; a queue's ack takes the delivery: see docs/queue-contract.md",
        FutureWarning,
        stacklevel=3,
    )
    return True

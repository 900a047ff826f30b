"""Acknowledging a delivery, also to a queue whose ``ack`` takes the id of its message, as a user's own may."""

import inspect
import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from engine.message import Delivery
from engine.queue import Queue

_ID = re.compile(r"(.*_)?id")


async def acknowledge(queue: Queue, delivery: Delivery) -> bool:
    """``queue.ack``, with what it takes: a delivery, as ``engine.queue`` has it, or the id of its message."""
    ack: Any = queue.ack
    return bool(await ack(delivery.message.id if _takes_id(getattr(ack, "__func__", ack)) else delivery))


@cache
def _takes_id(ack: Callable[..., Any]) -> bool:
    """By the name of its parameter (``message_id``, ``id``), or its annotation ``str``."""
    parameter = next(one for one in inspect.signature(ack).parameters.values() if one.name != "self")
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

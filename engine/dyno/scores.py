"""Scores of the two sorted sets.

Source: https://github.com/Netflix/dyno-queues, ``RedisDynoQueue.push`` and ``peekIds``. A double near 1.7e12 resolves
2**-12, so steps of .01 stay distinct. Priority orders only messages that fall due in the same millisecond.
"""

import math

from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.message_json import decode


def due_score(due_ms: int, *, priority: int) -> float:
    """Score of a waiting message: due time in ms, and its priority 0..99 as the fraction .00...99."""
    return float(due_ms) + priority / 100.0


def eligible_until(now_ms: int) -> int:
    """Highest score, inclusive, that may be delivered at ``now_ms``.

    The extra millisecond lets in every priority of the current one; hence a delivery may come up to 1 ms early.
    """
    return now_ms + 1


def requeue_score(message_id: str, raw: bytes, lease_end: bytes) -> float | bytes:
    """Score of a message whose lease has ended: that end and its priority, which the original loses.

    ``lease_end`` is the score of the lease as the server wrote it. It is taken as it is if ``raw`` cannot be read.
    """
    try:
        priority = decode(raw, message_id=message_id).priority
    except PayloadError:
        return lease_end
    return due_score(math.floor(float(lease_end)), priority=priority)

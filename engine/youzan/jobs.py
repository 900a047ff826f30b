"""A job and how the pool stores it."""

import json
from dataclasses import asdict, dataclass

from zonelab.engine.common.job_queue import MS_PER_S, checked_seconds
from zonelab.engine.message import Message
from zonelab.engine.youzan.settings import TTR_S_MAX

DELAY_S_MAX = 2**31


@dataclass(frozen=True, kw_only=True, slots=True)
class YouzanJob:
    """``due_s``: second from which it may be delivered. ``ttr_s``: length of each of its leases.

    Stored as a JSON object of these fields. The original stores the same five with MessagePack.
    """

    id: str
    topic: str
    due_s: int
    ttr_s: int
    body: str

    def encode(self) -> str:
        return json.dumps(asdict(self))

    def message(self, *, now_s: int) -> Message:
        """The job as a message of the queue interface."""
        timeout_ms, lease_ms = max(0, self.due_s - now_s) * MS_PER_S, self.ttr_s * MS_PER_S
        return Message(id=self.id, payload=self.body, timeout_ms=timeout_ms, topic=self.topic, lease_ms=lease_ms)

    @classmethod
    def decode(cls, raw: bytes) -> "YouzanJob":
        return cls(**json.loads(raw))


def delay_s(timeout_ms: int) -> int:
    """Whole seconds, rounded up. Raises ``ValueError`` if the original would refuse so long a delay."""
    return checked_seconds("timeout_ms", timeout_ms, most=DELAY_S_MAX)


def ttr_s(lease_ms: int) -> int:
    """Whole seconds, rounded up. Raises ``ValueError`` for none, and for more than the original takes."""
    return checked_seconds("lease_ms", lease_ms, least=1, most=TTR_S_MAX)

"""A job and how the pool stores it."""

import json
from dataclasses import asdict, dataclass

from engine.youzan.settings import TTR_S_MAX

DELAY_S_MAX = 2**31


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
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

    @classmethod
    def decode(cls, raw: bytes) -> "Job":
        return cls(**json.loads(raw))


def delay_s(timeout_ms: int) -> int:
    """Whole seconds, rounded up. Raises ``ValueError`` if the original would refuse so long a delay."""
    seconds = max(0, -(-timeout_ms // 1_000))
    if seconds > DELAY_S_MAX:
        raise ValueError(f"timeout_ms must be at most {DELAY_S_MAX * 1_000}, got {timeout_ms}")
    return seconds


def ttr_s(lease_ms: int) -> int:
    """Whole seconds, rounded up. Raises ``ValueError`` for none, and for more than the original takes."""
    seconds = max(0, -(-lease_ms // 1_000))
    if not 1 <= seconds <= TTR_S_MAX:
        raise ValueError(f"lease_ms must be 1..{TTR_S_MAX * 1_000}, got {lease_ms}")
    return seconds

"""The record of a message, as every zone keeps it for itself."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

PRIORITY_WEIGHT = 10_000_000_000_000
"""A rank is priority times this plus the due time in ms: exact in a double until the year 2286."""


class RecordStatus(StrEnum):
    WAITING = "w"
    LEASED = "l"
    DONE = "d"
    DEAD = "x"


_STATUS = {status.value: status for status in RecordStatus}


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """``raw`` is what Redis holds; ``ends_ms`` is the end of the last lease, and the record's version."""

    raw: bytes
    status: RecordStatus
    shard: str
    tries: int
    ends_ms: int
    token: str

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        status, shard, _, _, tries, ends, token = raw.decode().split(" ")
        return cls(raw, _STATUS[status], shard, int(tries), int(ends), token)

    def moved(self, shard: str) -> "MessageRecord":
        """The same in another shard."""
        status, _, *rest = self.raw.decode().split(" ")
        return self.parse(" ".join([status, shard, *rest]).encode())

    @property
    def buried(self) -> bool:
        return self.status is RecordStatus.DONE


def rank(due_ms: int, *, priority: int) -> int:
    """Order of service among what is due: priority first, then due time."""
    return priority * PRIORITY_WEIGHT + due_ms

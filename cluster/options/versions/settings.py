"""Settings of versions: whether votes go by them, and how zones are compared in the background."""

from dataclasses import dataclass
from enum import StrEnum

DAY_NS = 86_400 * 1_000_000_000


class VoteBy(StrEnum):
    """The criterion between differing replies of a quorum."""

    VALUE = "value"  # Dynomite's rule: equal values, or whichever came first
    VERSION = "version"  # the newest version


@dataclass(frozen=True, kw_only=True)
class AntiEntropySettings:
    """A coordinator compares its zone with every other one each ``interval_ns``.

    A round looks at no more than ``entries`` records of each other zone and copies no more than ``copy_bytes`` of
    values at once. What has been removed is remembered for ``retention_ns``; a zone that is away for longer may bring
    it back.
    """

    interval_ns: int = 1_000_000_000
    entries: int = 1_000
    copy_bytes: int = 1 << 20
    retention_ns: int = 10 * DAY_NS

    def __post_init__(self) -> None:
        if min(self.interval_ns, self.entries, self.copy_bytes, self.retention_ns) < 1:
            raise ValueError(f"interval, entries, copy_bytes and retention must be at least 1, got {self}")

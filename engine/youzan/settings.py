"""Settings of the queue and its timers, checked when they are made."""

from dataclasses import dataclass

from zonelab.engine.common.job_queue import JobQueueSettings

TTR_S_MAX = 86_400
SCAN_MS = 100
COMPAT_SCAN_MS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class YouzanSettings(JobQueueSettings):
    """``scan_interval_ms``: time between two looks of a timer, 100, or 1 000 with ``compat``, if not given.

    ``lock_ms``: how long a timer that died keeps others from its bucket; None is a lock that never ends by itself, as
    the article has it. With ``compat`` as ouqiang/delay-queue v0.4, which knows no lock, with the defects that
    docs/youzan.md lists.
    """

    prefix: str = "youzan"
    scan_interval_ms: int | None = None
    lock_ms: int | None = 10_000

    def __post_init__(self) -> None:
        JobQueueSettings.__post_init__(self)
        if not 1 <= self.ttr_s <= TTR_S_MAX:
            raise ValueError(f"ttr_s must be 1..{TTR_S_MAX}, got {self.ttr_s!r}")
        self.check_positive("scan_interval_ms", "lock_ms")

    @property
    def scan_ms(self) -> int:
        if self.scan_interval_ms is not None:
            return self.scan_interval_ms
        return COMPAT_SCAN_MS if self.compat else SCAN_MS

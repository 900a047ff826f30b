"""Settings of the queue and its timers, checked when they are made."""

from dataclasses import dataclass

TTR_S_MAX = 86_400
SCAN_MS = 100
COMPAT_SCAN_MS = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class YouzanSettings:
    """``topics``: those an instance pops from, in strict order; a message goes to the first.

    ``ttr_s`` ("time to run"): length of a lease. ``buckets``: number of sorted sets, each with a timer of its own,
    which looks every ``scan_interval_ms`` (100, or 1 000 with ``compat``, if not given). ``lock_ms``: how long a timer
    that died keeps others from its bucket; None is a lock that never ends by itself, as the article has it.
    ``poll_interval_ms``: pause between two reads of a waiting pop. ``compat``: as ouqiang/delay-queue v0.4, which knows
    no lock, with the defects that docs/youzan.md lists.
    """

    prefix: str = "youzan"
    topics: tuple[str, ...] = ("jobs",)
    buckets: int = 3
    ttr_s: int = 60
    scan_interval_ms: int | None = None
    lock_ms: int | None = 10_000
    poll_interval_ms: int = 50
    compat: bool = False

    def __post_init__(self) -> None:
        if not self.prefix:
            raise ValueError(f"prefix must be a non-empty string, got {self.prefix!r}")
        if not self.topics or not all(self.topics) or len(set(self.topics)) != len(self.topics):
            raise ValueError(f"topics must be one or more distinct non-empty names, got {self.topics!r}")
        if not 1 <= self.ttr_s <= TTR_S_MAX:
            raise ValueError(f"ttr_s must be 1..{TTR_S_MAX}, got {self.ttr_s!r}")
        for name in ("buckets", "scan_interval_ms", "lock_ms", "poll_interval_ms"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")

    @property
    def scan_ms(self) -> int:
        if self.scan_interval_ms is not None:
            return self.scan_interval_ms
        return COMPAT_SCAN_MS if self.compat else SCAN_MS

"""Settings of the queue and its dispatchers, checked when they are made."""

from dataclasses import dataclass

from engine.gmq.keys import FIRST_LETTER

SECONDS_MAX = 2**31
TTR_BUCKETS_MAX = ord("Z") - FIRST_LETTER + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class GmqSettings:
    """``topics``: those an instance pops from, in strict order; a message goes to the first.

    ``ttr_s`` ("time to run"): length of a lease; with 0 a job is deleted when it is popped, at most once. ``buckets``,
    ``ttr_buckets``: number of sorted sets of delayed jobs and of jobs in flight, each with a timer of its own.
    ``poll_interval_ms``: pause between two reads of a waiting pop. ``compat``: as gmq v1.0, with the defects that
    docs/gmq.md lists.
    """

    prefix: str = "gmq"
    topics: tuple[str, ...] = ("jobs",)
    buckets: int = 3
    ttr_buckets: int = 3
    ttr_s: int = 60
    poll_interval_ms: int = 50
    compat: bool = False

    def __post_init__(self) -> None:
        if not self.prefix:
            raise ValueError(f"prefix must be a non-empty string, got {self.prefix!r}")
        if not self.topics or not all(self.topics) or len(set(self.topics)) != len(self.topics):
            raise ValueError(f"topics must be one or more distinct non-empty names, got {self.topics!r}")
        if not 0 <= self.ttr_s <= SECONDS_MAX:
            raise ValueError(f"ttr_s must be 0..{SECONDS_MAX}, got {self.ttr_s!r}")
        if not 1 <= self.ttr_buckets <= TTR_BUCKETS_MAX:
            raise ValueError(f"ttr_buckets must be 1..{TTR_BUCKETS_MAX}, got {self.ttr_buckets!r}")
        for name in ("buckets", "poll_interval_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")

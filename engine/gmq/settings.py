"""Settings of the queue and its dispatchers, checked when they are made."""

from dataclasses import dataclass

from zonelab.engine.common.job_queue import JobQueueSettings
from zonelab.engine.gmq.keys import FIRST_LETTER

SECONDS_MAX = 2**31
TTR_BUCKETS_MAX = ord("Z") - FIRST_LETTER + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class GmqSettings(JobQueueSettings):
    """With ``ttr_s`` 0 a job is deleted when it is popped, at most once. ``ttr_buckets``: of jobs in flight.

    With ``compat`` as gmq v1.0, with the defects that docs/gmq.md lists.
    """

    prefix: str = "gmq"
    ttr_buckets: int = 3

    def __post_init__(self) -> None:
        JobQueueSettings.__post_init__(self)
        if not 0 <= self.ttr_s <= SECONDS_MAX:
            raise ValueError(f"ttr_s must be 0..{SECONDS_MAX}, got {self.ttr_s!r}")
        if not 1 <= self.ttr_buckets <= TTR_BUCKETS_MAX:
            raise ValueError(f"ttr_buckets must be 1..{TTR_BUCKETS_MAX}, got {self.ttr_buckets!r}")

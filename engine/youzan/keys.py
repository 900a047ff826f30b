"""Names of the Redis keys. Source of those with ``compat``: https://github.com/ouqiang/delay-queue at v0.4."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class YouzanKeys:
    prefix: str
    compat: bool = False

    def job(self, job_id: str) -> str:
        """String: the job as JSON. With ``compat`` the key is the id itself, without prefix."""
        return job_id if self.compat else f"{self.prefix}:job:{job_id}"

    def bucket(self, number: int) -> str:
        """Sorted set: id of a delayed or reserved job → second when it is due, or its lease ends. From 1."""
        return f"dq_bucket_{number}" if self.compat else f"{self.prefix}:bucket:{number}"

    def ready(self, topic: str) -> str:
        """List: ids of the ready jobs of ``topic``."""
        return f"dq_queue_{topic}" if self.compat else f"{self.prefix}:ready:{topic}"

    def lock(self, number: int) -> str:
        """String: which timer scans the bucket."""
        return f"{self.bucket(number)}:lock"

"""Names of the Redis keys of gmq. Source: https://github.com/wuzhc/gmq at v1.0."""

from dataclasses import dataclass

FIRST_LETTER = ord("A")


@dataclass(frozen=True, kw_only=True, slots=True)
class GmqKeys:
    """The original's prefix is ``gmq``."""

    prefix: str = "gmq"

    @property
    def pool(self) -> str:
        return f"{self.prefix}:jobpool"

    def job(self, job_id: str) -> str:
        """Hash: the fields of ``Job``."""
        return f"{self.pool}:{job_id}"

    def delay_bucket(self, number: int) -> str:
        """Sorted set: id of a delayed job → second when it is due. From 0."""
        return f"{self.prefix}:bucket:{number}"

    def ttr_bucket(self, number: int) -> str:
        """Sorted set: id of a job in flight → second when its lease ends. From 0, which is the letter A."""
        return f"{self.prefix}:bucket:TTR:{chr(FIRST_LETTER + number)}"

    def ready(self, topic: str) -> str:
        """List: ids of the ready jobs of ``topic``; the one that has waited longest is the last."""
        return f"{self.prefix}:readyqueue:{topic}"

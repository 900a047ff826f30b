"""Names of the Redis keys of one queue.

Source: https://github.com/Netflix/dyno-queues, class ``RedisDynoQueue``.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueKeys:
    """Keys of the queue ``queue`` under ``prefix``: one payload hash for all shards, two sorted sets per shard."""

    prefix: str
    queue: str

    @property
    def messages(self) -> str:
        """Hash: message id → JSON."""
        return f"{self.prefix}.MESSAGE.{self.queue}"

    def queue_of(self, shard: str) -> str:
        """Sorted set ``QUEUE``: message id → due time and priority."""
        return f"{self.prefix}.QUEUE.{self.queue}.{shard}"

    def unack(self, shard: str) -> str:
        """Sorted set ``UNACK``: id of a leased message → end of its lease, in ms."""
        return f"{self.prefix}.UNACK.{self.queue}.{shard}"

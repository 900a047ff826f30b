"""Names of the Redis keys of one shard, and the bucket that a message id belongs to.

Source: https://github.com/Netflix/dyno-queues, ``v2/RedisPipelineQueue``, and the murmur3 of
https://github.com/Netflix/dyno (``Murmur3HashPartitioner``): x86, 32 bits, seed 0, unsigned.
"""

import mmh3

BUCKETS = 32
"""Payload hashes and lease sets of one shard."""


def bucket_of(message_id: str) -> int:
    """The bucket of ``message_id``, 0 to 31. Raises ``ValueError`` if the id cannot be written as UTF-8."""
    return mmh3.hash(message_id, 0, False) % BUCKETS  # noqa: FBT003 - seed and sign, positional for speed


class PipelinedKeys:
    """Keys of the shard ``shard`` of the queue ``queue`` under ``prefix``.

    All of them carry the hash tag ``{queue.shard}``, so a hash-partitioned server keeps a shard on one node.
    """

    __slots__ = ("leases", "payloads", "prefix", "queue", "shard", "tag", "waiting")

    def __init__(self, *, prefix: str, queue: str, shard: str) -> None:
        self.prefix = prefix
        self.queue = queue
        self.shard = shard
        self.tag = f"{{{queue}.{shard}}}"
        self.waiting = f"{prefix}.QUEUE.{self.tag}"
        """Sorted set: message id → due time and priority."""
        self.payloads = tuple(f"{prefix}.MSG.{self.tag}.{bucket}" for bucket in range(BUCKETS))
        """Hashes, by bucket: message id → JSON."""
        self.leases = tuple(f"{prefix}.UNACK.{self.tag}.{bucket}" for bucket in range(BUCKETS))
        """Sorted sets, by bucket: id of a leased message → end of its lease, in ms."""

    def payload_of(self, message_id: str) -> str:
        """The payload hash of ``message_id``."""
        return self.payloads[bucket_of(message_id)]

    def lease_of(self, message_id: str) -> str:
        """The lease set of ``message_id``."""
        return self.leases[bucket_of(message_id)]

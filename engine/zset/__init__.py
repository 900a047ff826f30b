"""The pattern most people run: one sorted set, read by ZRANGEBYSCORE, taken from by ZREM, no lease.

Read first: ``engine.zset.queue``, which is all of it, and the shortest example of ``engine.queue``.
"""

from engine.zset.queue import ZsetQueue, id_of

__all__ = ["ZsetQueue", "id_of"]

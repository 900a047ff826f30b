"""The pattern most people run: one sorted set, no lease. Read first: ``zonelab.engine.zset.queue``, all of it."""

from zonelab.engine.zset.queue import ZsetQueue, id_of

__all__ = ["ZsetQueue", "id_of"]

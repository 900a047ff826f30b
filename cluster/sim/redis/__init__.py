"""A model of the Redis server, held against a real one by the conformance tests."""

from cluster.sim.redis.model import RedisModel

__all__ = ["RedisModel"]

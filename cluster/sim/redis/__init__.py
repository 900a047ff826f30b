"""A model of the Redis server, held against a real one by the conformance tests."""

from cluster.sim.redis.model import Prepared, RedisModel

__all__ = ["Prepared", "RedisModel"]

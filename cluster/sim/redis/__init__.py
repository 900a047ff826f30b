"""A model of the Redis server, held against a real one by the conformance tests."""

from cluster.sim.redis.model import Pipeline, RedisModel

__all__ = ["Pipeline", "RedisModel"]

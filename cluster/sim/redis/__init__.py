"""A model of the Redis server, held against a real one by the conformance tests.

Read first: ``cluster.sim.redis.model``, then ``cluster.sim.redis.store`` (the key space). ``commands`` has a module a
type of data. Knows no simulation: time, randomness and whom to tell of writes are given to it.
"""

from cluster.sim.redis.model import Pipeline, RedisModel

__all__ = ["Pipeline", "RedisModel"]

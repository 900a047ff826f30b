"""A model of the Redis server, held against a real one by the conformance tests.

Read first: ``zonelab.cluster.sim.redis.model``, then ``zonelab.cluster.sim.redis.store`` (the key space). ``commands``
has a module a type of data. Knows no simulation: time, randomness and the listener to writes are given to it.
"""

from zonelab.cluster.sim.redis.model import Pipeline, RedisModel, prepare

__all__ = ["Pipeline", "RedisModel", "prepare"]

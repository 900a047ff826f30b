"""Netflix dyno-queues over the ports: the V1 queue (see docs/dyno-queues.md)."""

from engine.dyno.errors import (
    AckFailure,
    AckIndeterminate,
    AckRejected,
    AckUnavailable,
    PayloadError,
    PushFailure,
    PushIndeterminate,
    PushRejected,
    PushUnavailable,
)
from engine.dyno.sharding import IdHash, LocalOnly, RoundRobin, ShardingStrategy
from engine.dyno.v1.context import Counters
from engine.dyno.v1.keys import Keys
from engine.dyno.v1.queue import DynoQueue, ShardSize
from engine.dyno.v1.registry import DynoQueues
from engine.dyno.v1.settings import DynoSettings
from engine.dyno.v1.unack import UnackHandler, UnackResult

__all__ = [
    "AckFailure",
    "AckIndeterminate",
    "AckRejected",
    "AckUnavailable",
    "Counters",
    "DynoQueue",
    "DynoQueues",
    "DynoSettings",
    "IdHash",
    "Keys",
    "LocalOnly",
    "PayloadError",
    "PushFailure",
    "PushIndeterminate",
    "PushRejected",
    "PushUnavailable",
    "RoundRobin",
    "ShardSize",
    "ShardingStrategy",
    "UnackHandler",
    "UnackResult",
]

"""Netflix dyno-queues over the ports: the V1 queue (see docs/dyno-queues.md)."""

from engine.dyno.context import Counters
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
from engine.dyno.keys import Keys
from engine.dyno.queue import DynoQueue, ShardSize
from engine.dyno.registry import DynoQueues
from engine.dyno.settings import DynoSettings
from engine.dyno.sharding import IdHash, LocalOnly, RoundRobin, ShardingStrategy
from engine.dyno.unack import UnackHandler, UnackResult

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

"""Netflix dyno-queues over the ports, in three forms; the names exported here are those of V1.

``zonelab.engine.dyno.v1`` sends command by command what the original sends (see docs/dyno-queues.md),
``zonelab.engine.dyno.v2`` has its pipelines, and ``zonelab.engine.dyno.hardened`` is our own design, which keeps its
promises under faults. The modules beside them are shared: errors, sharding, the JSON of a message, scores, hosts.

Imports ``zonelab.engine.common`` and the ports; of the three, hardened may import V2 and V1, and V2 may import V1.
"""

from zonelab.engine.dyno.errors import (
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
from zonelab.engine.dyno.results import Counters, ShardSize, UnackResult
from zonelab.engine.dyno.sharding import IdHash, LocalOnly, RoundRobin, ShardingStrategy
from zonelab.engine.dyno.v1.keys import QueueKeys
from zonelab.engine.dyno.v1.queue import DynoQueue
from zonelab.engine.dyno.v1.registry import DynoQueues
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.dyno.v1.unack import UnackHandler

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
    "LocalOnly",
    "PayloadError",
    "PushFailure",
    "PushIndeterminate",
    "PushRejected",
    "PushUnavailable",
    "QueueKeys",
    "RoundRobin",
    "ShardSize",
    "ShardingStrategy",
    "UnackHandler",
    "UnackResult",
]

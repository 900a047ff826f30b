"""Netflix dyno-queues V2 over the ports: pipelines, payloads and leases in buckets (see docs/dyno-v2.md).

Read first: ``zonelab.engine.dyno.v2.queue`` for one shard and ``zonelab.engine.dyno.v2.multi`` for a queue over
several; ``zonelab.engine.dyno.v2.steps`` has the pipelines that all operations are made of.
"""

from zonelab.engine.dyno.errors import (
    BatchAckFailure,
    BatchAckIndeterminate,
    BatchAckRejected,
    BatchAckUnavailable,
    BatchPushFailure,
    BatchPushIndeterminate,
    BatchPushRejected,
    BatchPushUnavailable,
    UnsupportedOperation,
)
from zonelab.engine.dyno.v2.keys import BUCKETS, PipelinedKeys, bucket_of
from zonelab.engine.dyno.v2.queue import PipelinedQueue
from zonelab.engine.dyno.v2.settings import PipelinedSettings

__all__ = [
    "BUCKETS",
    "BatchAckFailure",
    "BatchAckIndeterminate",
    "BatchAckRejected",
    "BatchAckUnavailable",
    "BatchPushFailure",
    "BatchPushIndeterminate",
    "BatchPushRejected",
    "BatchPushUnavailable",
    "PipelinedKeys",
    "PipelinedQueue",
    "PipelinedSettings",
    "UnsupportedOperation",
    "bucket_of",
]

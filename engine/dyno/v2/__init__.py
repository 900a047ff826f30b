"""Netflix dyno-queues V2 over the ports: pipelines, payloads and leases in buckets (see docs/dyno-v2.md)."""

from engine.dyno.v2.errors import (
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
from engine.dyno.v2.keys import BUCKETS, PipelinedKeys, bucket_of
from engine.dyno.v2.queue import PipelinedQueue
from engine.dyno.v2.settings import PipelinedSettings

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

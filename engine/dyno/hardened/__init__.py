"""dyno-queues hardened: it keeps what the original promises under faults (see docs/hardened.md)."""

from engine.dyno.hardened.builder import HardenedOptions, ReplicatedHosts, build_hardened_queue
from engine.dyno.hardened.context import HardenedCounters
from engine.dyno.hardened.mechanisms import Hardening
from engine.dyno.hardened.queue import HardenedQueue
from engine.dyno.hardened.records.keys import HardenedKeys
from engine.dyno.hardened.settings import HardenedSettings

__all__ = [
    "HardenedCounters",
    "HardenedKeys",
    "HardenedOptions",
    "HardenedQueue",
    "HardenedSettings",
    "Hardening",
    "ReplicatedHosts",
    "build_hardened_queue",
]

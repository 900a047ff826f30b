"""Hardened mode: a queue that keeps what dyno-queues promises while a zone fails (see docs/hardened.md).

Read first: ``zonelab.engine.dyno.hardened.queue``, then ``zonelab.engine.dyno.hardened.pop``. ``records`` is what zones
store and the scripts that change it, ``leases`` how consumers get and keep messages, ``upkeep`` the work in the
background.
"""

from zonelab.engine.dyno.hardened.builder import HardenedOptions, ReplicatedHosts, build_hardened_queue
from zonelab.engine.dyno.hardened.context import HardenedCounters
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.queue import HardenedQueue
from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.dyno.hardened.settings import HardenedSettings

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

"""Zones on real servers: a process or a container per zone, with the same verbs (see docs/zones.md).

Read first: ``zonelab.cluster.real.zones.base`` (states and verbs), then ``zonelab.cluster.real.zones.zone_set``
(several that start and end together). Servers do not outlive the lab: ``zonelab.cluster.real.owner`` and
``zonelab.cluster.real.zones.last_resort`` see to it.
"""

from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.factory import KINDS, ZoneKind, zones
from zonelab.cluster.real.zones.process.process import ProcessZone
from zonelab.cluster.real.zones.settings import DockerZoneSettings, ProcessZoneSettings, ZoneSettings
from zonelab.cluster.real.zones.zone_set import ZoneSet

__all__ = [
    "KINDS",
    "DockerZoneSettings",
    "ProcessZone",
    "ProcessZoneSettings",
    "RealZone",
    "ZoneKind",
    "ZoneSet",
    "ZoneSettings",
    "zones",
]

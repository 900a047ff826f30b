"""Zones on real servers: a process or a container per zone, with the same verbs (see docs/zones.md).

Read first: ``cluster.real.zones.base`` (states and verbs), then ``cluster.real.zones.zone_set`` (several that start and
end together). Servers do not outlive the lab: ``cluster.real.owner`` and ``cluster.real.zones.last_resort`` see
to it.
"""

from cluster.real.zones.base import RealZone
from cluster.real.zones.factory import KINDS, ZoneKind, zones
from cluster.real.zones.process.process import ProcessZone
from cluster.real.zones.settings import DockerZoneSettings, ProcessZoneSettings, ZoneSettings
from cluster.real.zones.zone_set import ZoneSet

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

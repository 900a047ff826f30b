"""Zones on real servers: a process or a container per zone."""

from cluster.real.zones.base import RealZone
from cluster.real.zones.docker.container import DockerZone, remove_leftovers
from cluster.real.zones.docker.zone_image import BuiltImage, build_image
from cluster.real.zones.factory import KINDS, ZoneKind, zones
from cluster.real.zones.process.process import ProcessZone
from cluster.real.zones.settings import DockerZoneSettings, ProcessZoneSettings, ZoneSettings
from cluster.real.zones.zone_set import ZoneSet

__all__ = [
    "KINDS",
    "BuiltImage",
    "DockerZone",
    "DockerZoneSettings",
    "ProcessZone",
    "ProcessZoneSettings",
    "RealZone",
    "ZoneKind",
    "ZoneSet",
    "ZoneSettings",
    "build_image",
    "remove_leftovers",
    "zones",
]

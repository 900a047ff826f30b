"""Zones on real servers: a process or a container per zone."""

from cluster.real.zones.base import RealZone
from cluster.real.zones.process import ProcessZone
from cluster.real.zones.settings import ProcessZoneSettings, ZoneSettings

__all__ = ["ProcessZone", "ProcessZoneSettings", "RealZone", "ZoneSettings"]

"""Settings of zones on real servers."""

import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.real.zones.server_file import DEFAULT_SAVE_POINTS
from zonelab.cluster.zone import Persistence, ZoneError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneSettings:
    """Settings that process zones and container zones share."""

    persistence: Persistence = Persistence.NONE
    port: int | None = None
    """Port of 127.0.0.1; None picks a free one."""
    save_points: tuple[tuple[int, int], ...] = DEFAULT_SAVE_POINTS
    """When RDB persistence takes a snapshot: (seconds, changes) pairs."""
    events: EventFlags = field(default_factory=EventFlags)
    """Events of keys that the server publishes."""
    start_timeout_s: float = 30.0
    warm_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if self.port is not None and not 1 <= self.port <= 65_535:
            raise ZoneError(f"port: got {self.port!r}; accepted: 1 to 65535, or none for a free one")
        if self.start_timeout_s <= 0 or self.warm_timeout_s <= 0:
            shortest = min(self.start_timeout_s, self.warm_timeout_s)
            raise ZoneError(f"time-out: got {shortest!r} s; accepted: more than 0")
        if not self.save_points or any(seconds < 1 or changes < 1 for seconds, changes in self.save_points):
            raise ZoneError(f"save points: got {self.save_points!r}; accepted: (seconds, changes) of 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessZoneSettings(ZoneSettings):
    """``binary``: a path or a name on PATH of redis-server or valkey-server; None runs the packaged Valkey."""

    binary: str | Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerZoneSettings(ZoneSettings):
    """``image``: any image that runs a Redis or Valkey server; None is the one that ``zonelab image`` builds."""

    image: str | None = None
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))
    """Value of the label ``zonelab`` and part of the container's name; zones of one run share it."""

    def __post_init__(self) -> None:
        ZoneSettings.__post_init__(self)
        if not _NAME.fullmatch(self.run_id):
            raise ZoneError(f"run id: got {self.run_id!r}; accepted: 1 to 31 of a-z, 0-9 and '-', not '-' first")


def checked_name(name: str) -> str:
    """Zone names become parts of directory and container names."""
    if not _NAME.fullmatch(name):
        raise ZoneError(f"zone name: got {name!r}; accepted: 1 to 31 of a-z, 0-9 and '-', not '-' first")
    return name

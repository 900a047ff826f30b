"""The zones of one run, of the kind that the user chose."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.process.process import ProcessZone
from zonelab.cluster.real.zones.settings import DockerZoneSettings, ProcessZoneSettings
from zonelab.cluster.real.zones.zone_set import ZoneSet
from zonelab.cluster.zone import Persistence, ZoneError

ZoneKind = Literal["process", "docker"]
KINDS: tuple[ZoneKind, ...] = get_args(ZoneKind)


def zones(
    kind: ZoneKind,
    names: Sequence[str],
    *,
    persistence: Persistence = Persistence.NONE,
    events: str = "",
    binary: str | Path | None = None,
    image: str | None = None,
    run_id: str | None = None,
) -> ZoneSet:
    """One zone per name, not started yet: enter the set to start them.

    ``events``: the letters of ``notify-keyspace-events``. ``binary`` is for process zones; ``image`` and ``run_id`` (by
    default a new one) are for container zones.
    """
    flags = EventFlags.read(events)
    made: list[RealZone]
    if kind == "process":
        process = ProcessZoneSettings(persistence=persistence, events=flags, binary=binary)
        made = [ProcessZone(name, process) for name in names]
    elif kind == "docker":
        run = run_id or secrets.token_hex(4)
        container = DockerZoneSettings(persistence=persistence, events=flags, image=image, run_id=run)
        made = [_docker_zone(name, container) for name in names]
    else:
        raise ZoneError(f"zone kind: got {kind!r}; accepted: {', '.join(KINDS)}")
    return ZoneSet(made)


def _docker_zone(name: str, settings: DockerZoneSettings) -> RealZone:
    try:
        from zonelab.cluster.real.zones.docker.container import DockerZone
    except ModuleNotFoundError as error:
        raise ZoneError("container zones need the Docker SDK: pip install 'zonelab[docker]'") from error
    return DockerZone(name, settings)

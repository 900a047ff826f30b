"""Settings of ``zonelab up``, checked before anything is started."""

import shlex
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from zonelab.cluster.fields import DelayText, EventLetters, Section, parse_link
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US, BUSY_POLL_US_MAX
from zonelab.cluster.topology.described import topology_of
from zonelab.cluster.topology.key_hashes import KeyHash
from zonelab.cluster.topology.topology import ZONES_MAX, Topology, one_dc
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import Links, ReplicationOptions
from zonelab.cluster.zone import ClusterError, Persistence
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.reading import explained, read_yaml_file
from zonelab.scenarios.spec.topology import TopologySection

NAME = "session"
"""Takes the place of a scenario's name in the run directory."""

PORT_DEFAULT = 7401
PORT_MAX = 65_535

ZONES_DEFAULT = 3
DCS_MAX = 3
NODES_MAX = 32
"""Each is a server and a coordinator, so twice as many processes."""

ALL = "all"
"""Name of every link in faults, so that no place can have it."""

_OPTIONS = {"interval_ms": "anti-entropy", "kind": "on"}
"""Those of ``zonelab up`` that are called otherwise than the settings."""

_SECTIONS = ("links", "replication", "anti_entropy")

_Counts = dict[str, dict[str, int]]
"""By data centre its zones, and how many nodes each has."""


class SessionSettings(Section):
    """``port`` is that of the first zone's coordinator, the others follow; 0 takes any free ones.

    ``monitor_port``: of the live page and its metrics; 0 takes a free one.
    ``seed`` decides what lags and losses are drawn. ``runs``: absolute, where the run directory is made.
    ``busy_poll_us``: how long coordinators stay awake after each request.
    ``data_centres`` takes the place of ``dcs``, ``zones`` and ``nodes``. ``dc_lag``: of links between data centres.
    """

    zones: int = Field(default=ZONES_DEFAULT, ge=1, le=ZONES_MAX)
    dcs: int = Field(default=1, ge=1, le=DCS_MAX)
    nodes: int = Field(default=1, ge=1, le=NODES_MAX)
    data_centres: _Counts = Field(default_factory=dict)
    hash: KeyHash = KeyHash.MURMUR
    hash_tag: str | None = None
    kind: ZoneKind = ZoneKind.PROCESS
    level: Level = Level.DC_QUORUM
    links: Links = Links()
    dc_lag: DelayText | None = None
    port: int = Field(default=PORT_DEFAULT, ge=0)
    monitor_port: int = Field(default=0, ge=0, le=PORT_MAX)
    password: str | None = Field(default=None, min_length=1, repr=False)
    time_factor: float = Field(default=1.0, gt=0, le=1000)
    busy_poll_us: int = Field(default=BUSY_POLL_US, ge=0, le=BUSY_POLL_US_MAX)
    persistence: Persistence = Persistence.AOF_EVERYSEC
    notify_keyspace_events: EventLetters | None = None
    seed: int = Field(default=0, ge=0, le=SEED_MAX)
    replication: ReplicationOptions = ReplicationOptions()
    reload_scripts: bool = False
    runs: Path
    command: str = "zonelab up"

    @property
    def name(self) -> str:
        return NAME

    @model_validator(mode="after")
    def _fits_together(self) -> "SessionSettings":
        layout = self.layout
        if len(layout.nodes) > NODES_MAX:
            raise ValueError(f"{len(layout.nodes)} servers are too many; accepted: 1 to {NODES_MAX}")
        last = PORT_MAX + 1 - len(layout.nodes)
        if self.port > last:
            raise ValueError(
                f"--port: got {self.port}; accepted: 0 to {last}, since {len(layout.nodes)} servers take a port each"
            )
        named = [dc.name for dc in layout.dcs] + [rack.name for rack in layout.racks]
        named += [node.name for rack in layout.racks for node in rack.nodes if node.name != rack.name]
        if len(dict.fromkeys(named)) != len(named):
            raise ValueError(f"duplicate names {named}: data centres, zones and servers need different ones")
        if ALL in named:
            raise ValueError(f"name {ALL!r} is reserved: it means every link")
        if self.dc_lag is not None and len(layout.dcs) == 1:
            raise ValueError("--dc-lag is for several data centres, of which there is one")
        for link in self.links.overrides:
            ends = parse_link(link)
            if ends[0] == ends[1] or not set(ends) <= set(layout.nodes):
                raise ValueError(
                    f"--topology: links.overrides: got {link!r}; accepted: two of {', '.join(layout.nodes)}, as FROM>TO"
                )
        if self.hash_tag is not None and all(len(rack.nodes) == 1 for rack in layout.racks):
            raise ValueError(f"--hash-tag {self.hash_tag!r} is for zones of several servers; each has one here")
        if self.replication.strict and self.reload_scripts:
            raise ValueError("--reload-scripts is not accepted with --strict, as Dynomite does not do it")
        try:
            self.replication.fit(layout)
        except ClusterError as error:
            raise ValueError(str(error)) from error
        return self

    @cached_property
    def layout(self) -> Topology:
        """Return where every node is. Raises ``TopologyError``."""
        counts = self.data_centres or self._counted()
        if len(counts) == 1 and all(count == 1 for zones in counts.values() for count in zones.values()):
            return one_dc([zone for zones in counts.values() for zone in zones])
        dcs = {dc: {zone: _names(zone, count) for zone, count in zones.items()} for dc, zones in counts.items()}
        return topology_of(dcs, hash=self.hash, hash_tag=self.hash_tag)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the nodes: a, b, c; where zones have several: a1, a2, b1, b2."""
        return self.layout.nodes

    def port_of(self, node: str) -> int | None:
        """Return where the coordinator of ``node`` is to listen; None if anywhere."""
        return self.port + self.names.index(node) if self.port else None

    def _counted(self) -> _Counts:
        letters = [chr(ord("a") + number) for number in range(self.dcs * self.zones)]
        return {
            f"dc{number + 1}": dict.fromkeys(letters[number * self.zones : (number + 1) * self.zones], self.nodes)
            for number in range(self.dcs)
        }

    def recorded(self) -> dict[str, Any]:
        """Everything but the password, of which only whether there is one."""
        return {**self.model_dump(mode="json", exclude={"password"}), "password": self.password is not None}


def _names(zone: str, count: int) -> list[str]:
    return [zone] if count == 1 else [f"{zone}{number}" for number in range(1, count + 1)]


def checked_settings(**values: Any) -> SessionSettings:
    """Raises ``NotAccepted``."""
    try:
        return SessionSettings(**values)
    except ValidationError as error:
        raise NotAccepted("; ".join(_said(one) for one in error.errors(include_url=False))) from error


def _said(wrong: Any) -> str:
    said = str(wrong["msg"]).removeprefix("Value error, ")
    place = [str(part) for part in wrong["loc"] if part not in _SECTIONS]
    if not place:
        return said
    option = "-".join(_OPTIONS.get(part, part.replace("_", "-")) for part in place)
    given = "" if said.startswith("got ") else f"got {str(wrong['input'])!r}; "
    return f"--{option}: {given}{said}"


def counted(
    *, dcs: int | None, zones: int | None, nodes: int | None, hash_tag: str | None, file: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """Return what ``SessionSettings`` are to have of where the servers are, and the options that say so.

    None is what was not asked for. Raises ``NotAccepted``.
    """
    asked = {"dcs": dcs, "zones": zones, "nodes": nodes, "hash_tag": hash_tag}
    given = {name: value for name, value in asked.items() if value is not None}
    if file is None:
        given.setdefault("zones", ZONES_DEFAULT)
        return given, [f"{_option_of(name)} {shlex.quote(str(value))}" for name, value in given.items()]
    if given:
        raise NotAccepted(f"--topology excludes {', '.join(map(_option_of, given))}")
    return read_topology(file), [f"--topology {shlex.quote(str(file))}"]


def _option_of(name: str) -> str:
    return "--" + name.replace("_", "-")


def read_topology(path: Path) -> dict[str, Any]:
    """Return ``data_centres``, ``hash``, ``hash_tag`` and ``links`` of ``SessionSettings``. Raises ``NotAccepted``.

    The file may hold the section by itself, or have it under ``topology``, as a scenario has; ``links`` are beside it.
    """
    try:
        given = read_yaml_file(path)
    except NotAccepted as error:
        raise NotAccepted(f"--topology: {error}") from None
    links = given.pop("links", {}) if isinstance(given, dict) else {}
    section = given.get("topology", given) if isinstance(given, dict) else given
    if not isinstance(section, dict):
        raise NotAccepted(
            f"--topology: {path}: got {section!r}; accepted: data_centres, hash, hash_tag, as in scenarios"
        )
    read = _validated(TopologySection, section, path, "topology")
    counts = read.data_centres or {"dc1": dict.fromkeys(read.zones, 1)}
    placed = {"data_centres": counts, "hash": read.hash, "hash_tag": read.hash_tag}
    return {**placed, "links": _validated(Links, links, path, "links")}


_Section = TypeVar("_Section", bound=BaseModel)


def _validated(model: type[_Section], given: Any, path: Path, section: str) -> _Section:
    """``given`` as this section of a scenario. Raises ``NotAccepted`` in the words of scenario files."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong = [explained({**one, "loc": (section, *one["loc"])}) for one in error.errors(include_url=False)]
        said = "; ".join(f"{place.removeprefix('topology.')}: {text}" for place, text in dict.fromkeys(wrong))
        raise NotAccepted(f"--topology: {path}: {said}") from error

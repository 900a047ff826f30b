"""The configuration file of a gateway process: JSON, one object."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from zonelab.cluster.fields import DelayText, Section, parse_link
from zonelab.cluster.process.settings_file import read_settings
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US, BUSY_POLL_US_MAX
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.topology.described import Placement
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import Links, NetworkSettings, ReplicationOptions
from zonelab.cluster.zone import Address, ClusterError


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"got {text!r}; accepted: HOST:PORT")
    return text


_AddressText = Annotated[str, AfterValidator(_address)]

_NO_LIMITS = ("port", "busy_poll_us", "in_flight_begin")


class GatewayConfiguration(Section):
    """Everything a gateway process needs. Only ``zone`` and ``zones`` have no default.

    ``zones``: address of each zone's server. ``sockets``: socket files of those that have one on this machine; they are
    tried first. ``limits``: any number of ``PortSettings`` or ``CommandLimits``. ``busy_poll_us``: see
    ``PortSettings``. ``reload_scripts``: scripts that clients have sent are loaded into servers that come back. A
    password in this file is as safe as the file. ``replication`` is the same for all coordinators.

    With a ``topology``, ``zone`` and ``zones`` are nodes. ``remote_lag``: of links between data centres, by default
    that of ``links``. ``peers``: where coordinators listen to those of other data centres.
    """

    zone: str
    zones: dict[str, _AddressText] = Field(min_length=1)
    sockets: dict[str, Path] = Field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, lt=65536)
    level: Level = Level.DC_ONE
    seed: int = 0
    time_factor: float = Field(default=1.0, gt=0)
    links: Links = Links()
    replication: ReplicationOptions = ReplicationOptions()
    password: str | None = Field(default=None, min_length=1, repr=False)
    certificate: Path | None = None
    private_key: Path | None = None
    limits: dict[str, int] = Field(default_factory=dict)
    busy_poll_us: int = Field(default=BUSY_POLL_US, ge=0, le=BUSY_POLL_US_MAX)
    topology: Placement | None = None
    remote_lag: DelayText | None = None
    peers: dict[str, _AddressText] = Field(default_factory=dict)
    reload_scripts: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> "GatewayConfiguration":
        names = ", ".join(self.zones)
        if self.zone not in self.zones:
            raise ValueError(f"zone {self.zone!r} is not among the zones: {names}")
        if strange := [name for name in self.sockets if name not in self.zones]:
            raise ValueError(f"got sockets {strange}; accepted: sockets of zones {names}")
        for link in self.links.overrides:
            if any(end not in self.zones for end in parse_link(link)):
                raise ValueError(f"link {link!r} names no two of the zones: {names}")
        accepted = _limit_names(PortSettings) + _limit_names(CommandLimits)
        for name, value in self.limits.items():
            if name not in accepted or value < 1:
                raise ValueError(f"limit {name}: got {value}; accepted: 1 or more for {', '.join(accepted)}")
        if (self.certificate is None) is not (self.private_key is None):
            raise ValueError("TLS needs both certificate and private_key, got only one of them")
        if self.replication.strict and self.reload_scripts:
            raise ValueError("reload_scripts is not accepted with strict, as Dynomite does not do it")
        self._peers_fit()
        try:
            self.network()
        except ClusterError as error:
            raise ValueError(str(error)) from error
        return self

    def _peers_fit(self) -> None:
        known: list[str] = []
        if self.topology is not None:
            positions = self.topology.layout.positions
            if sorted(positions) != sorted(self.zones):
                raise ValueError(f"zones {list(self.zones)} are not the topology's nodes {list(positions)}")
            known = list(positions) if len(self.topology.data_centres) > 1 else []
        if any(name not in known for name in self.peers):
            raise ValueError(f"peers: got {list(self.peers)}; accepted: {', '.join(known) or 'none'}")
        if missing := [name for name in self._peers_needed() if name not in self.peers]:
            raise ValueError(f"peers {list(self.peers)} lack {', '.join(missing)}")
        if self.remote_lag is not None and not known:
            raise ValueError("remote_lag is for several data centres, of which there is one")

    def _peers_needed(self) -> list[str]:
        """This node, and all that are in another data centre."""
        if self.topology is None:
            return []
        apart = [far for one, far in self.topology.layout.remote_links() if one == self.zone]
        return [self.zone, *apart] if apart else []

    def addresses(self) -> dict[str, Address]:
        sockets = {name: str(path) for name, path in self.sockets.items()}
        return {name: replace(_parsed(text), socket=sockets.get(name)) for name, text in self.zones.items()}

    def peer_addresses(self) -> dict[str, Address]:
        return {name: _parsed(text) for name, text in self.peers.items()}

    def network(self) -> NetworkSettings:
        """Return the settings of the network of a zone's process. Raises ``ClusterError``."""
        links = self.links
        layout = None if self.topology is None else self.topology.layout
        if layout is not None and self.remote_lag is not None:
            remote = {f"{source}>{target}": self.remote_lag for source, target in layout.remote_links()}
            links = links.model_copy(update={"overrides": remote | links.overrides})
        return NetworkSettings.of(
            seed=self.seed,
            links=links,
            replication=self._replication(),
            time_factor=self.time_factor,
            topology=layout,
        )

    def _replication(self) -> ReplicationOptions:
        """Let the hints of a zone take as much memory as what waits to be sent to it, if the file does not say."""
        handoff = self.replication.hinted_handoff
        if handoff is None or "queue_bytes" in handoff.model_fields_set:
            return self.replication
        handoff = handoff.model_copy(update={"queue_bytes": self.port_settings().zone_backlog_bytes})
        return self.replication.model_copy(update={"hinted_handoff": handoff})

    def port_settings(self) -> PortSettings:
        """Return what the zone's port is opened with, and what it bounds."""
        of_commands = {name: value for name, value in self.limits.items() if name in _limit_names(CommandLimits)}
        of_port = {name: value for name, value in self.limits.items() if name not in of_commands}
        return PortSettings(
            host=self.host,
            port=self.port,
            password=self.password,
            certificate=self.certificate,
            private_key=self.private_key,
            busy_poll_us=self.busy_poll_us,
            reload_scripts=self.reload_scripts,
            commands=CommandLimits(**of_commands),
            **of_port,
        )


def read_configuration(path: Path) -> GatewayConfiguration:
    """Return the configuration in the file. Raises ``ClusterError`` with one line for each wrong value."""
    return read_settings(GatewayConfiguration, path, what="configuration")


def _parsed(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def _limit_names(settings: type[PortSettings] | type[CommandLimits]) -> list[str]:
    return [field.name for field in fields(settings) if field.type is int and field.name not in _NO_LIMITS]

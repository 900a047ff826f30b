"""The file that tells a gateway process what it is: JSON, one object."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.settings import DAY_NS, AntiEntropySettings, VoteBy
from zonelab.cluster.process.settings_file import read_settings
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US, BUSY_POLL_US_MAX
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.topology.described import Placement
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import Address, ClusterError


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"got {text!r}; accepted: HOST:PORT")
    return text


def _lag(text: str) -> str:
    parse_lag(text)
    return text


def _link(text: str) -> str:
    source, arrow, target = text.partition(">")
    if not (source and arrow and target):
        raise ValueError(f"got {text!r}; accepted: SOURCE>TARGET")
    return text


_AddressText = Annotated[str, AfterValidator(_address)]
_LagText = Annotated[str, AfterValidator(_lag)]
_LinkText = Annotated[str, AfterValidator(_link)]


_NO_LIMITS = ("port", "busy_poll_us", "in_flight_begin")


class GatewayConfiguration(BaseModel):
    """Everything a gateway process needs. Only ``zone`` and ``zones`` have no default.

    ``zones``: address of each zone's server. ``sockets``: socket files of those that have one on this machine; they are
    tried first. ``lags``: for single links, written ``a>b``. ``limits``: any number of ``PortSettings`` or
    ``CommandLimits``. ``busy_poll_us``: see ``PortSettings``. A password in this file is as safe as the file.

    With a ``topology``, ``zone`` and ``zones`` are nodes. ``remote_lag``: of links between data centres, by default
    ``lag``. ``peers``: where coordinators listen to those of other data centres.

    Options, the same for all coordinators: ``read_repair``; ``hinted_handoff``: so many writes are kept for each zone
    that cannot be reached, 0 keeps none; ``votes``; ``anti_entropy_ms``: so often zones are compared, 0 never, with
    what was removed remembered for ``retention_s``; ``strict``: what Dynomite does not do is refused;
    ``reload_scripts``: scripts that clients have sent are loaded into servers that come back.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: str
    zones: dict[str, _AddressText] = Field(min_length=1)
    sockets: dict[str, Path] = Field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, lt=65536)
    level: Level = Level.DC_ONE
    seed: int = 0
    time_factor: float = Field(default=1.0, gt=0)
    lag: _LagText = "0"
    lags: dict[_LinkText, _LagText] = Field(default_factory=dict)
    coherence_ms: float = Field(default=25.0, ge=0)
    loss: float = Field(default=0.0, ge=0, lt=1)
    password: str | None = Field(default=None, min_length=1, repr=False)
    certificate: Path | None = None
    private_key: Path | None = None
    limits: dict[str, int] = Field(default_factory=dict)
    busy_poll_us: int = Field(default=BUSY_POLL_US, ge=0, le=BUSY_POLL_US_MAX)
    topology: Placement | None = None
    remote_lag: _LagText | None = None
    peers: dict[str, _AddressText] = Field(default_factory=dict)
    read_repair: bool = False
    hinted_handoff: int = Field(default=0, ge=0)
    votes: VoteBy = VoteBy.VALUE
    anti_entropy_ms: int = Field(default=0, ge=0)
    retention_s: float = Field(default=10 * DAY_NS / 1e9, gt=0)
    strict: bool = False
    reload_scripts: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> "GatewayConfiguration":
        names = ", ".join(self.zones)
        if self.zone not in self.zones:
            raise ValueError(f"zone {self.zone!r} is not among the zones: {names}")
        if strange := [name for name in self.sockets if name not in self.zones]:
            raise ValueError(f"got sockets {strange}; accepted: sockets of zones {names}")
        for link in self.lags:
            if any(end not in self.zones for end in link.split(">", 1)):
                raise ValueError(f"link {link!r} names no two of the zones: {names}")
        accepted = _limit_names(PortSettings) + _limit_names(CommandLimits)
        for name, value in self.limits.items():
            if name not in accepted or value < 1:
                raise ValueError(f"limit {name}: got {value}; accepted: 1 or more for {', '.join(accepted)}")
        if (self.certificate is None) is not (self.private_key is None):
            raise ValueError("TLS needs both certificate and private_key, got only one of them")
        if self.strict and self.reload_scripts:
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
        """Return what the network of a zone's process is built from."""
        lags = {(ends[0], ends[1]): parse_lag(lag) for link, lag in self.lags.items() for ends in [link.split(">", 1)]}
        layout = None if self.topology is None else self.topology.layout
        if layout is not None and self.remote_lag is not None:
            remote = parse_lag(self.remote_lag)
            lags = dict.fromkeys(layout.remote_links(), remote) | lags
        return NetworkSettings(
            seed=self.seed,
            lag=parse_lag(self.lag),
            lags=lags,
            coherence_ns=round(self.coherence_ms * 1e6),
            loss=self.loss,
            timeouts=Timeouts(factor=self.time_factor),
            topology=layout,
            read_repair=self.read_repair,
            hinted_handoff=self._handoff(),
            votes=self.votes,
            anti_entropy=self._anti_entropy(),
            strict=self.strict,
        )

    def _handoff(self) -> HandoffSettings | None:
        """Hints of a zone may take as much memory as what waits to be sent to it."""
        if not self.hinted_handoff:
            return None
        return HandoffSettings(queue=self.hinted_handoff, queue_bytes=self.port_settings().zone_backlog_bytes)

    def _anti_entropy(self) -> AntiEntropySettings | None:
        if not self.anti_entropy_ms:
            return None
        retention_ns = round(self.retention_s * 1e9)
        return AntiEntropySettings(interval_ns=self.anti_entropy_ms * 1_000_000, retention_ns=retention_ns)

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
    """Raises ``ClusterError`` with one line for each thing that is wrong."""
    return read_settings(GatewayConfiguration, path, what="configuration")


def _parsed(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def _limit_names(settings: type[PortSettings] | type[CommandLimits]) -> list[str]:
    return [field.name for field in fields(settings) if field.type is int and field.name not in _NO_LIMITS]

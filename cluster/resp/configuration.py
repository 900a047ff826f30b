"""The file that tells a gateway process what it is: JSON, one object."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from cluster.lag import parse_lag
from cluster.levels import Level
from cluster.network import NetworkSettings
from cluster.resp.scanner import CommandLimits
from cluster.resp.server import PortSettings
from cluster.timeouts import Timeouts
from cluster.zone import Address, ClusterError


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{text!r} is not accepted; accepted: HOST:PORT")
    return text


def _lag(text: str) -> str:
    parse_lag(text)
    return text


def _link(text: str) -> str:
    source, arrow, target = text.partition(">")
    if not (source and arrow and target):
        raise ValueError(f"{text!r} is not accepted; accepted: SOURCE>TARGET")
    return text


_AddressText = Annotated[str, AfterValidator(_address)]
_LagText = Annotated[str, AfterValidator(_lag)]
_LinkText = Annotated[str, AfterValidator(_link)]


class GatewayConfiguration(BaseModel):
    """Everything a gateway process needs. Only ``zone`` and ``zones`` have no default.

    ``zones``: address of each zone's server. ``lags``: for single links, written ``a>b``. ``limits``: any number of
    ``PortSettings`` or ``CommandLimits``. A password in this file is as safe as the file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: str
    zones: dict[str, _AddressText] = Field(min_length=1)
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

    @model_validator(mode="after")
    def _fits_together(self) -> "GatewayConfiguration":
        names = ", ".join(self.zones)
        if self.zone not in self.zones:
            raise ValueError(f"zone {self.zone!r} is not among the zones: {names}")
        for link in self.lags:
            if any(end not in self.zones for end in link.split(">", 1)):
                raise ValueError(f"link {link!r} names no two of the zones: {names}")
        accepted = _limit_names(PortSettings) + _limit_names(CommandLimits)
        for name, value in self.limits.items():
            if name not in accepted or value < 1:
                raise ValueError(f"limit {name}={value} is not accepted; accepted: 1 or more for {', '.join(accepted)}")
        if (self.certificate is None) is not (self.private_key is None):
            raise ValueError("TLS needs both certificate and private_key, got only one of them")
        return self

    def addresses(self) -> dict[str, Address]:
        return {name: _parsed(text) for name, text in self.zones.items()}

    def network(self) -> NetworkSettings:
        lags = {(ends[0], ends[1]): parse_lag(lag) for link, lag in self.lags.items() for ends in [link.split(">", 1)]}
        return NetworkSettings(
            seed=self.seed,
            lag=parse_lag(self.lag),
            lags=lags,
            coherence_ns=round(self.coherence_ms * 1e6),
            loss=self.loss,
            timeouts=Timeouts(factor=self.time_factor),
        )

    def port_settings(self) -> PortSettings:
        of_commands = {name: value for name, value in self.limits.items() if name in _limit_names(CommandLimits)}
        of_port = {name: value for name, value in self.limits.items() if name not in of_commands}
        return PortSettings(
            host=self.host,
            port=self.port,
            password=self.password,
            certificate=self.certificate,
            private_key=self.private_key,
            commands=CommandLimits(**of_commands),
            **of_port,
        )


def read_configuration(path: Path) -> GatewayConfiguration:
    """Raises ``ClusterError`` with one line for each thing that is wrong."""
    try:
        return GatewayConfiguration.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ClusterError(f"configuration {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        wrong = "; ".join(_said(one) for one in error.errors())
        raise ClusterError(f"configuration {path}: {wrong}") from error


def _said(wrong: Any) -> str:
    where = ".".join(map(str, wrong["loc"]))
    return f"{where}: {wrong['msg']}" if where else str(wrong["msg"])


def _parsed(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def _limit_names(settings: type[PortSettings] | type[CommandLimits]) -> list[str]:
    return [field.name for field in fields(settings) if field.type is int and field.name != "port"]

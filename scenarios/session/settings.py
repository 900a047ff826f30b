"""What ``zonelab up`` was asked for, checked before anything is started."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cluster.lag import parse_lag
from cluster.levels import ZONES_MAX, Level
from cluster.zone import Persistence
from scenarios.session.requests import NotAccepted
from scenarios.spec import ZoneKind

NAME = "session"
"""Takes the place of a scenario's name in the run directory."""

PORT_DEFAULT = 7401


def _lag(text: str) -> str:
    parse_lag(text)
    return text


class SessionSettings(BaseModel):
    """``port`` is that of the first zone's coordinator, the others follow; 0 takes any free ones.

    ``seed`` decides what lags and losses are drawn. ``runs``: absolute, where the run directory is made.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    zones: int = Field(default=3, ge=1, le=ZONES_MAX)
    kind: ZoneKind = ZoneKind.PROCESS
    level: Level = Level.DC_QUORUM
    lag: Annotated[str, AfterValidator(_lag)] = "0"
    port: int = Field(default=PORT_DEFAULT, ge=0, le=65535 - ZONES_MAX)
    password: str | None = Field(default=None, min_length=1, repr=False)
    time_factor: float = Field(default=1.0, gt=0, le=1000)
    persistence: Persistence = Persistence.AOF_EVERYSEC
    seed: int = Field(default=0, ge=0)
    runs: Path
    command: str = "zonelab up"

    @property
    def name(self) -> str:
        return NAME

    @property
    def names(self) -> tuple[str, ...]:
        """Of the zones: a, b, c."""
        return tuple(chr(ord("a") + number) for number in range(self.zones))

    def port_of(self, zone: str) -> int | None:
        """Where the coordinator of ``zone`` is to listen; None if anywhere."""
        return self.port + self.names.index(zone) if self.port else None

    def told(self) -> dict[str, Any]:
        """Everything but the password, of which only whether there is one."""
        return {**self.model_dump(mode="json", exclude={"password"}), "password": self.password is not None}


def checked_settings(**values: Any) -> SessionSettings:
    """Raises ``NotAccepted``."""
    try:
        return SessionSettings(**values)
    except ValidationError as error:
        raise NotAccepted("; ".join(_said(one) for one in error.errors(include_url=False))) from error


def _said(wrong: Any) -> str:
    option = "--" + "-".join(str(part).replace("_", "-") for part in wrong["loc"])
    said = str(wrong["msg"]).removeprefix("Value error, ")
    return f"{option}: got {str(wrong['input'])!r}; {said}"

"""Addresses on which the service listens: ``HOST:PORT``, ``unix:PATH``, or ``off``."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

OFF = "off"
FORMS = "HOST:PORT, unix:PATH or off"
_UNIX = "unix:"
_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Listen:
    """``path`` is a socket file and takes the place of ``host`` and ``port``. Port 0 takes a free one."""

    host: str = ""
    port: int = 0
    path: Path | None = None

    @property
    def is_local(self) -> bool:
        """Return whether only programs on this machine reach it."""
        if self.path is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{_UNIX}{self.path}" if self.path is not None else f"{self.host}:{self.port}"


def parse_listen(text: str) -> Listen | None:
    """None for ``off``. Raises ``ValueError`` with what is accepted."""
    if text == OFF:
        return None
    if text.startswith(_UNIX) and len(text) > len(_UNIX):
        return Listen(path=Path(text.removeprefix(_UNIX)).absolute())
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise ValueError(FORMS)
    return Listen(host=host.strip("[]"), port=int(port))

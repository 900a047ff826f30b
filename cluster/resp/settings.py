"""Settings of a RESP port: how it listens, and what its clients may cost."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from zonelab.cluster.resp.busy_poll import BUSY_POLL_US, BUSY_POLL_US_MAX
from zonelab.cluster.resp.protocol.scanner import CommandLimits
from zonelab.cluster.zone import ClusterError


@dataclass(frozen=True, kw_only=True)
class PortSettings:
    """Settings of a port and bounds of what a client may cost.

    ``reply_bytes``: memory for the replies to one client that are under way, and for large ones of all clients.
    ``in_flight_max``: a client's commands under way; ``in_flight_begin``: those of all clients that have had no reply
    yet. ``held_bytes_max``: what is held for all clients, which is incomplete commands, commands that wait, queues of
    MULTI, names of channels and replies that they do not take. ``zone_backlog_bytes``: what waits to be sent to one
    zone. ``busy_poll_us``: how long after each request the process does not sleep; 0: it sleeps at once.
    ``reload_scripts``: scripts that clients have sent are loaded into servers that come back.
    """

    host: str = "127.0.0.1"
    port: int = 0
    password: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    private_key: Path | None = None
    clients_max: int = 10_000
    in_flight_max: int = 1024
    in_flight_begin: int = 4
    reply_bytes: int = 16 * 1024 * 1024
    held_bytes_max: int = 512 * 1024 * 1024
    zone_backlog_bytes: int = 256 * 1024 * 1024
    busy_poll_us: int = BUSY_POLL_US
    reload_scripts: bool = False
    commands: CommandLimits = field(default_factory=CommandLimits)

    def __post_init__(self) -> None:
        if (self.certificate is None) is not (self.private_key is None):
            raise ValueError("TLS needs both a certificate and a private key, got only one of them")
        for name in (
            "clients_max",
            "in_flight_max",
            "in_flight_begin",
            "reply_bytes",
            "held_bytes_max",
            "zone_backlog_bytes",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.busy_poll_us <= BUSY_POLL_US_MAX:
            raise ValueError(f"busy_poll_us must be 0 to {BUSY_POLL_US_MAX}, got {self.busy_poll_us}")

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context; None without TLS. Raises ``ClusterError`` if the files cannot be used."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError) as error:
            raise ClusterError(f"certificate {self.certificate} cannot be used: {error}") from error
        return context

"""Settings of the service: those of gmq's conf.ini, and zonelab's own options."""

from dataclasses import dataclass, field
from enum import StrEnum

from zonelab.app.gmq_service.addresses import Listen
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US

PREFIX = "gmq"
"""Prefix of all keys, as in the original."""


class ServiceMode(StrEnum):
    """``COMPAT``: as gmq v1.0, with its defects. ``HARDENED``: a kill loses nothing that was confirmed."""

    DEFAULT = "default"
    COMPAT = "compat"
    HARDENED = "hardened"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceSettings:
    """docs/gmq-service.md describes every option.

    ``max_active``: exchanges with the server under way; more wait. ``max_idle``: connections to it. ``command_ms``: how
    long one exchange may take. ``connect_s``: how long a start waits for the server. ``topics``: those that metrics
    show by name. ``topics_max``: in hardened mode, how many there may be. ``busy_poll_us``: how long after each request
    the process does not sleep. ``pop_ms``: how long a Pop waits. ``stop_s``: how long each step of a stop may take.
    """

    redis_host: str = "127.0.0.1"
    redis_port: int = 6_379
    max_idle: int = 3
    max_active: int = 3_000
    redis_password: str = field(default="", repr=False)
    redis_db: int = 0
    command_ms: int = 3_000
    connect_s: int = 5
    server_type: str = "rpc"
    log_targets: tuple[str, ...] = ("file", "console")
    log_file: str = "gmq.log"
    log_level: int = 5
    log_bytes_max: int = 50_000_000
    log_rotate: bool = True
    buckets: int = 3
    ttr_buckets: int = 3
    mode: ServiceMode = ServiceMode.DEFAULT
    rpc: Listen | None = Listen(host="127.0.0.1", port=9_503)  # noqa: RUF009 (frozen)
    api: Listen | None = Listen(host="127.0.0.1", port=9_277)  # noqa: RUF009
    web: Listen | None = Listen(host="127.0.0.1", port=8_000)  # noqa: RUF009
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    pid_file: str = "gmq.pid"
    clients_max: int = 2_000
    request_bytes_max: int = 4 * 1024 * 1024
    held_bytes_max: int = 64 * 1024 * 1024
    topics: tuple[str, ...] = ()
    topics_max: int = 1_000
    busy_poll_us: int = BUSY_POLL_US
    pop_ms: int = 2_000
    stop_s: int = 15

    @property
    def compat(self) -> bool:
        return self.mode is ServiceMode.COMPAT

"""Time-outs and reconnection delays: Dynomite's defaults, all scaled by one factor, so short runs keep the ratios."""

import math
from dataclasses import dataclass, replace

from zonelab.engine.units import NS_PER_MS


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Milliseconds before scaling. Sources: ``dyn_conf.c``, ``dyn_dnode_peer.c``, ``dyn_connection_pool.c``.

    The clock of a request starts when it is queued to its connection. On expiry the whole connection is closed
    and everything on it fails.
    """

    datastore_ms: int = 5_000
    peer_read_ms: int = 5_200
    peer_write_ms: int = 25_200
    remote_read_ms: int = 10_000
    remote_write_ms: int = 30_000
    """To another data centre."""
    reconnect_ms: tuple[int, ...] = (1_000, 2_000, 4_000, 8_000, 10_000)
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.factor < math.inf:
            raise ValueError(f"time-out factor must be above 0 and finite, got {self.factor}")
        if not self.reconnect_ms:
            raise ValueError("reconnect_ms must name at least one delay, got none")

    @property
    def datastore_ns(self) -> int:
        return self._scaled_ns(self.datastore_ms)

    def between_data_centres(self) -> "Timeouts":
        """The same, where peers are in another data centre."""
        return replace(self, peer_read_ms=self.remote_read_ms, peer_write_ms=self.remote_write_ms)

    def peer_ns(self, *, writes: bool) -> int:
        return self._scaled_ns(self.peer_write_ms if writes else self.peer_read_ms)

    def reconnect_ns(self, attempt: int) -> int:
        """The wait before reconnection attempt number ``attempt``, from 0; the last delay repeats."""
        return self._scaled_ns(self.reconnect_ms[min(attempt, len(self.reconnect_ms) - 1)])

    def _scaled_ns(self, duration_ms: int) -> int:
        return round(duration_ms * self.factor * NS_PER_MS)

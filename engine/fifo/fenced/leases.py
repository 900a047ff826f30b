"""When a lease that another session has is over, where nobody's clock is believed: it was not renewed for as long."""

from zonelab.engine.fifo.fenced.views import RegisterView
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS


class SeenLeases:
    """Leases as one session has seen them, zone by zone, and since when on its own monotonic clock."""

    def __init__(self, *, runtime: Runtime, lease_ms: int) -> None:
        self._runtime, self._lease_ns = runtime, lease_ms * NS_PER_MS
        self._seen: dict[tuple[Partition, str, str], tuple[str, int]] = {}

    def over(self, partition: Partition, name: str, zone: str, view: RegisterView) -> bool:
        """Return whether the lease in ``view`` of ``zone`` is free, or unchanged for a whole lease."""
        if not view.ends_ms:
            return True
        now_ns = self._runtime.now_ns()
        lease, since_ns = self._seen.get((partition, name, zone), ("", now_ns))
        if lease != view.lease:
            self._seen[partition, name, zone] = view.lease, now_ns
            return False
        return now_ns - since_ns > self._lease_ns

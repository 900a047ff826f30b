"""When a lease that another session has is over, where nobody's clock is believed: it was not renewed for as long."""

from zonelab.engine.fifo.fenced.views import RegisterView
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Runtime

NS_PER_MS = 1_000_000


class SeenLeases:
    """What one session has seen of leases, zone by zone, and since when: by its own time, which nobody sets."""

    def __init__(self, *, runtime: Runtime, lease_ms: int) -> None:
        self._runtime, self._lease_ns = runtime, lease_ms * NS_PER_MS
        self._seen: dict[tuple[Partition, str, str], tuple[str, int]] = {}

    def over(self, partition: Partition, name: str, zone: str, view: RegisterView) -> bool:
        """Whether what ``zone`` was just seen to have of a register is what it had a whole lease ago, or is free."""
        if not view.ends_ms:
            return True
        now_ns = self._runtime.now_ns()
        lease, since_ns = self._seen.get((partition, name, zone), ("", now_ns))
        if lease != view.lease:
            self._seen[partition, name, zone] = view.lease, now_ns
            return False
        return now_ns - since_ns > self._lease_ns

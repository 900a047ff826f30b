"""Where partitions are fenced nothing waits to be written: each result is at the zones before the next batch begins."""

from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.partition import Partition


class NoOffsets(Offsets):
    """Keeps no cursor."""

    def reach(self, partition: Partition, progress: Progress, *, only_up: bool = False) -> None:
        """A pull that finds nothing has nothing to tell."""

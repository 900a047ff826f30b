"""Names of the Redis keys. Those of one partition have one hash tag, so that they are kept on one node."""

from dataclasses import dataclass

from engine.fifo.partition import Partition


@dataclass(frozen=True, kw_only=True, slots=True)
class FifoKeys:
    prefix: str = "fifo"

    def log(self, partition: Partition) -> str:
        """Sorted set: a record, which begins with its offset → that offset."""
        return f"{self._of(partition)}:log"

    def meta(self, partition: Partition) -> str:
        """Hash: ``next``, the offset of the next record."""
        return f"{self._of(partition)}:meta"

    def producers(self, partition: Partition) -> str:
        """Hash: idempotent producer → the last sequence number that it put in, and its offset."""
        return f"{self._of(partition)}:producers"

    def cursors(self, partition: Partition) -> str:
        """Hash: group → the first offset that it has not finished."""
        return f"{self._of(partition)}:cursors"

    def _of(self, partition: Partition) -> str:
        return f"{self.prefix}:{{{partition.topic}:{partition.number}}}"

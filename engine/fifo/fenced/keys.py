"""Names of the Redis keys of a fenced partition; they have one hash tag."""

from collections.abc import Sequence
from dataclasses import dataclass

from zonelab.engine.fifo.partition import Partition

LOG_REGISTER = "log"
"""The register of whoever gives offsets."""

SEAL_REGISTER = "seal"
"""The register of whoever resizes the topic: a zone where it has a state takes no push."""

ROUTE_REGISTER = "route"
"""The register of a topic's route, in a partition of its own."""


def route_partition(topic: str, zones: Sequence[str]) -> Partition:
    """Return the partition in which the route of ``topic`` is kept, with marks and eras as any partition has."""
    return Partition(f"{topic}:route", zones[0], 0)


def group_register(group: str) -> str:
    """The register of whoever consumes for ``group``."""
    return f"group:{group}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FencedKeys:
    """The keys of fenced partitions. ``prefix``: what every name begins with."""

    prefix: str = "fifo"

    def meta(self, partition: Partition) -> str:
        """Hash: ``mark``, the process that was admitted; ``era``, a generation and what is unlike in each attempt."""
        return f"{self._of(partition)}:fenced"

    def registers(self, partition: Partition) -> str:
        """Hash: register → promised token, owner, its lease's end; token and number of the last write, state."""
        return f"{self._of(partition)}:registers"

    def log(self, partition: Partition) -> str:
        """Hash: offset → the token under which it was given, and the record."""
        return f"{self._of(partition)}:records"

    def inbox(self, partition: Partition) -> str:
        """Sorted set: record without offset → when it was sent, in ms of its producer's clock."""
        return f"{self._of(partition)}:inbox"

    def delayed(self, partition: Partition) -> str:
        """Sorted set: record without offset that is not due at once → when it is, in ms of its producer's clock."""
        return f"{self._of(partition)}:delayed"

    def aside(self, partition: Partition) -> str:
        """Hash: what a group put aside, and which offset → why."""
        return f"{self._of(partition)}:aside"

    def filled(self, partition: Partition) -> str:
        """Set: pages that a zone got that is not admitted yet."""
        return f"{self._of(partition)}:filled"

    def all(self, partition: Partition) -> list[str]:
        named = (self.meta, self.registers, self.log, self.inbox, self.aside, self.filled, self.delayed)
        return [name(partition) for name in named]

    def _of(self, partition: Partition) -> str:
        return f"{self.prefix}:{{{partition.topic}:{partition.tag}}}"

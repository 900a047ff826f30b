"""Names of the Redis keys. Those of one partition have one hash tag, so that they are kept on one node."""

from dataclasses import dataclass

from zonelab.engine.fifo.partition import Partition


@dataclass(frozen=True, kw_only=True, slots=True)
class FifoKeys:
    """The keys of partitions and groups. ``prefix``: what every name begins with."""

    prefix: str = "fifo"

    def log(self, partition: Partition) -> str:
        """Sorted set: a record, which begins with its offset → that offset."""
        return f"{self._of(partition)}:log"

    def meta(self, partition: Partition) -> str:
        """Hash: ``next``, the offset of the next record; ``sealed``: there will be none."""
        return f"{self._of(partition)}:meta"

    def delayed(self, partition: Partition) -> str:
        """Sorted set: a record that is not due yet, behind its place among those due then → when, in ms."""
        return f"{self._of(partition)}:delayed"

    def producers(self, partition: Partition) -> str:
        """Hash: idempotent producer → the last sequence number that it put in, and its offset."""
        return f"{self._of(partition)}:producers"

    def cursors(self, partition: Partition) -> str:
        """Hash: group → how far it is, as ``zonelab.engine.fifo.log.progress`` writes it."""
        return f"{self._of(partition)}:cursors"

    def groups(self, partition: Partition) -> str:
        """Hash: group → where it began, which counts until it has said how far it is."""
        return f"{self._of(partition)}:groups"

    def lock(self, partition: Partition, group: str) -> str:
        """Hash: ``owner`` of the partition in ``group``, ``renewed_ms`` on the clock of the zone."""
        return f"{self._of(partition)}:lock:{group}"

    def parked(self, partition: Partition, group: str) -> str:
        """Sorted set: a record that ``group`` put aside, as in the log → its offset."""
        return f"{self._of(partition)}:parked:{group}"

    def route(self, topic: str) -> str:
        """String: how many partitions ``topic`` has, as ``zonelab.engine.fifo.topics.route`` writes it."""
        return f"{self.prefix}:{{{topic}}}:route"

    def members(self, group: str) -> str:
        """Sorted set: member of ``group`` → when it was last heard of, in ms on the clock of the zone."""
        return f"{self.prefix}:{{{group}}}:members"

    def membership(self, group: str) -> str:
        """Hash: ``changes``, how often a member joined or left; ``scanned_ms``, when silent ones were last removed."""
        return f"{self.prefix}:{{{group}}}:membership"

    def dead_letters(self, group: str) -> str:
        """Sorted set: a message that ``group`` could not handle → from when it is listed, in ms on the zone's clock."""
        return f"{self.prefix}:{{{group}}}:dead"

    def dead_letter_count(self, group: str) -> str:
        return f"{self.prefix}:{{{group}}}:dead:count"

    def _of(self, partition: Partition) -> str:
        return f"{self.prefix}:{{{partition.topic}:{partition.tag}}}"

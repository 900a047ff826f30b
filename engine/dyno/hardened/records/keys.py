"""Names of the Redis keys of a hardened queue: those of V1, and five kinds more."""

from collections.abc import Sequence
from dataclasses import dataclass

from zonelab.engine.dyno.v1.keys import QueueKeys


@dataclass(frozen=True, kw_only=True, slots=True)
class HardenedKeys(QueueKeys):
    """Payloads, waiting and leased ids are where ``QueueKeys`` has them."""

    @property
    def records(self) -> str:
        """Hash: message id → record."""
        return f"{self.prefix}.STATE.{self.queue}"

    @property
    def tombstones(self) -> str:
        """Sorted set: acknowledged id → time of the ack, in ms."""
        return f"{self.prefix}.DONE.{self.queue}"

    @property
    def dead(self) -> str:
        """Sorted set: id of a dead letter → when it became one, in ms."""
        return f"{self.prefix}.DEAD.{self.queue}"

    @property
    def servers(self) -> str:
        """Hash: shard → zone that serves it, and until when."""
        return f"{self.prefix}.SERVE.{self.queue}"

    def ready(self, shard: str) -> str:
        """Sorted set: due id → its rank in the order of service."""
        return f"{self.prefix}.READY.{self.queue}.{shard}"

    def of_scripts(self, shards: Sequence[str]) -> tuple[str, ...]:
        """KEYS of every script on messages."""
        keys = [self.messages, self.records, self.tombstones, self.dead]
        for shard in shards:
            keys += [self.queue_of(shard), self.ready(shard), self.unack(shard)]
        return tuple(keys)

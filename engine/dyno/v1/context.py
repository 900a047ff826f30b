"""State that the parts of one queue object share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zonelab.engine.common.timings import QueueMetrics
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.results import Counters
from zonelab.engine.dyno.v1.commands import V1Commands
from zonelab.engine.dyno.v1.keys import QueueKeys
from zonelab.engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from zonelab.engine.dyno.v1.settings import DynoSettings
from zonelab.engine.ports import Clock, Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """``quorum`` carries writes and the point reads that safety depends on, ``local`` the range and size reads."""

    runtime: Runtime
    clock: Clock
    quorum: V1Commands
    local: V1Commands
    keys: QueueKeys
    settings: DynoSettings
    counters: Counters = field(default_factory=Counters)
    metrics: QueueMetrics | None = None

    @property
    def payload_reads(self) -> V1Commands:
        """Return the connection on which pops and the unack handler read payloads."""
        return self.quorum if self.settings.has(DynoMechanism.QUORUM_PAYLOAD_READ) else self.local

    def script(self, name: str) -> str:
        """The Lua script ``name``, with ``compat`` the one that has the original's defects."""
        return (ORIGINAL_SCRIPTS if self.settings.compat else SCRIPTS)[name]

    def keys_of(self, shards: Iterable[str]) -> list[str]:
        """Return the keys that a script over ``shards`` works on: the payloads, then each shard's waiting set and lease
        set.
        """
        keys = [self.keys.messages]
        for shard in shards:
            keys += [self.keys.queue_of(shard), self.keys.unack(shard)]
        return keys

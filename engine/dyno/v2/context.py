"""State that the parts of one shard's queue object share."""

from dataclasses import dataclass, field

from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.results import Counters
from zonelab.engine.dyno.v2.keys import PipelinedKeys
from zonelab.engine.dyno.v2.settings import PipelinedSettings
from zonelab.engine.ports import Clock, Connection, Runtime


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelinedContext:
    """Context of the parts of one queue.

    ``quorum`` is the connection for writes and the point reads that safety depends on, ``local`` that for range and
    size reads.
    """

    runtime: Runtime
    clock: Clock
    quorum: Connection
    local: Connection
    keys: PipelinedKeys
    settings: PipelinedSettings
    counters: Counters = field(default_factory=Counters)

    @property
    def ranges(self) -> Connection:
        """Return the connection for reading ranges, which asks one zone: three replicas rarely hold the same range, so
        a vote over their replies would fail.

        The original reads them with a quorum all the same. Source: https://github.com/Netflix/dyno-queues/pull/62.
        """
        return self.quorum if self.settings.compat else self.local

    @property
    def payload_reads(self) -> Connection:
        """Return the connection on which pops and the unack handler read payloads."""
        return self.quorum if self.settings.has(DynoMechanism.QUORUM_PAYLOAD_READ) else self.local

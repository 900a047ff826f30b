"""The work in the background of hardened gmq: compare the zones, list what nobody lists any more, forget what is over.

Nothing waits for it: a job becomes ready when somebody pops, and a lease ends by its time. So it may die at any
command, and as many may run as there are zones; each does all of the work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zonelab.engine.common.lifecycle import BackgroundQueue
from zonelab.engine.common.periodic import Periodic
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.upkeep.keeper import Keeper
from zonelab.engine.dyno.hardened.upkeep.replica_repair import ReplicaRepair


@dataclass(frozen=True, slots=True)
class _AllShards:
    shards: Sequence[str]


class HardenedDispatcher(BackgroundQueue):
    """``topics``: what the program holds of the queue of each topic, by its name."""

    def __init__(self, name: str, topics: Mapping[str, HardenedContext]) -> None:
        self.name = name
        self._keepers = {
            topic: Keeper(one, replica_repair=ReplicaRepair(one), served=_AllShards(one.settings.shards))
            for topic, one in topics.items()
        }
        self._rounds = [
            Periodic(
                self._keepers[topic].round,
                interval_ms=one.settings.keeper_interval_ms,
                runtime=one.runtime,
                name=f"{name}: keeper of {topic}",
                spread=True,
            )
            for topic, one in topics.items()
        ]

    @property
    def adopted(self) -> dict[str, list[str]]:
        """Topic → ids that no zone listed and this program listed again, the last ones at most."""
        return {topic: list(keeper.adopted) for topic, keeper in self._keepers.items()}

    @property
    def _periodics(self) -> Sequence[Periodic]:
        return self._rounds

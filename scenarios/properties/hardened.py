"""The hardened dyno queue as the queue under test."""

from itertools import count
from typing import ClassVar

from hypothesis.stateful import invariant

from engine.dyno.hardened import HardenedQueue, Hardening
from engine.dyno.sharding import LocalOnly
from engine.queue import Queue
from scenarios.properties.faults import DEATHS, Trouble
from scenarios.properties.machine import SAFE, QueueMachine
from scenarios.queues.hardened import hardened_queue
from scenarios.queues.under_test import Site


class HardenedQueueMachine(QueueMachine):
    """A hardened queue with a shard in every zone. ``without``: mechanisms that are switched off.

    Its work in the background does not run by itself: to look for ended leases is to compare the zones once. At most
    one zone or set of links is in trouble at a time, and one zone of a run is killed.
    """

    without: ClassVar[tuple[Hardening, ...]] = ()
    troubles = SAFE | {Trouble.KILL_KEEP, Trouble.KILL_WIPE, Trouble.KILL_WARM, Trouble.DROP}
    commands: ClassVar[dict[str, int]] = {"push": 1, "pop": 8, "ack": 1, "process_unacks": 30}

    def __init__(self) -> None:
        super().__init__()
        self._instances = count(1)
        self._killed = False

    def make_queue(self, site: Site) -> Queue:
        return hardened_queue(
            site,
            queue_class=_Driven,
            instance=next(self._instances),
            strategy=LocalOnly(site.zone),
            lease_ms=self.lease_ms,
            margin_ms=1,
            grace_ms=0,
            without=self.without,
        )

    def may(self, trouble: Trouble) -> bool:
        of_programs = trouble in (Trouble.CRASH, Trouble.STALL)
        alone = of_programs or self.lab is None or not len(self.lab.troubles)
        if trouble not in DEATHS:
            return super().may(trouble) and alone
        return super().may(trouble) and alone and not self._killed

    @invariant()
    def one_zone_was_killed_at_most(self) -> None:
        self._killed = self._killed or (self.lab is not None and bool(self.lab.troubles.dead_zones()))


class _Driven(HardenedQueue):
    """To look for ended leases is to compare the zones once."""

    async def process_unacks(self) -> None:
        await self.compare()

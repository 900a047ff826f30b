"""The Youzan queue as the queue under test: jobs of some topics, which consumers of every zone take."""

from collections.abc import Sequence
from itertools import count

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.job_queue import whole_seconds
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.queue import Queue
from zonelab.engine.youzan import YouzanKeys, YouzanQueue, YouzanSettings, YouzanTimers
from zonelab.scenarios.queues.listed_jobs import Bucket, ListedJobsUnderTest, job_places
from zonelab.scenarios.queues.places import Place
from zonelab.scenarios.queues.under_test import OF_A_RUN, QueueNames, Site, Wrap
from zonelab.scenarios.spec.queue_settings import QueueSettings, YouzanQueueSettings
from zonelab.scenarios.spec.scenario import Scenario

PREFIX = "youzan"
TIMERS = "timers"


class YouzanUnderTest(ListedJobsUnderTest):
    def __init__(self, testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN) -> None:
        queue = scenario.queue.of(YouzanQueueSettings)
        super().__init__(testbed, scenario, topics=queue.topics)
        self._settings = YouzanSettings(
            prefix=naming.prefix or PREFIX,
            topics=queue.topics,
            buckets=queue.buckets,
            ttr_s=whole_seconds(queue.unack_ms),
            scan_interval_ms=queue.scan_interval_ms,
            lock_ms=queue.lock_ms or queue.unack_ms,
            compat=queue.compat,
        )
        self._keys: YouzanKeys = YouzanKeys(prefix=self._settings.prefix, compat=queue.compat)
        self._program, self._programs = naming.program, count(1)

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """Timers in every zone; with ``compat`` in the first, since ouqiang's queue is one program."""
        return [(TIMERS, zone) for zone in (scenario.zones[:1] if scenario.queue.compat else scenario.zones)]

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        site = self._site(zone, wrap)
        return YouzanTimers(
            f"{self._program}{site.zone}-{next(self._programs)}",
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            local=site.local,
            settings=self._settings,
        )

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        """``name`` is that of a topic; the buckets are those of all topics."""
        settings = queue.of(YouzanQueueSettings)
        keys = YouzanKeys(prefix=prefix or PREFIX, compat=settings.compat)
        topics = settings.topics if name is None else (name,)
        return job_places(keys, topics, _buckets(keys, settings.buckets))

    def _instance(self, site: Site) -> Queue:
        return YouzanQueue(runtime=site.runtime, clock=site.clock, quorum=site.connection, settings=self._settings)

    def _buckets(self) -> Sequence[Bucket]:
        return _buckets(self._keys, self._settings.buckets)


def _buckets(keys: YouzanKeys, count: int) -> Sequence[Bucket]:
    """Delayed and leased jobs look alike there: all are ``queue``."""
    return [("queue", keys.bucket(number)) for number in range(1, count + 1)]

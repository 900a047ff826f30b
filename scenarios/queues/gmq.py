"""gmq as the queue under test: jobs of some topics, which consumers of every zone take."""

from collections.abc import Mapping, Sequence
from itertools import count

from zonelab.cluster.testbed import Testbed
from zonelab.engine.common.job_queue import whole_seconds
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.gmq import DispatchedCard, GmqDispatcher, GmqKeys, GmqQueue, GmqSettings, GoChannel
from zonelab.engine.queue import Queue
from zonelab.scenarios.queues.listed_jobs import Bucket, ListedJobsUnderTest, job_places
from zonelab.scenarios.queues.places import Place
from zonelab.scenarios.queues.under_test import OF_A_RUN, QueueNames, Site, Wrap
from zonelab.scenarios.spec.queue_settings import Dispatchers, GmqQueueSettings, QueueSettings
from zonelab.scenarios.spec.scenario import Scenario

PREFIX = "gmq"
DISPATCHER = "dispatcher"


class GmqUnderTest(ListedJobsUnderTest):
    def __init__(self, testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN) -> None:
        queue = scenario.queue.of(GmqQueueSettings)
        super().__init__(testbed, scenario, topics=queue.topics)
        self._settings = GmqSettings(
            prefix=naming.prefix or PREFIX,
            topics=queue.topics,
            buckets=queue.buckets,
            ttr_buckets=queue.ttr_buckets,
            ttr_s=whole_seconds(queue.unack_ms),
            compat=queue.compat,
        )
        self._keys: GmqKeys = GmqKeys(prefix=self._settings.prefix)
        self._program, self._programs = naming.program, count(1)
        self._cards: Mapping[str, GoChannel[DispatchedCard]] = {
            zone: GoChannel(testbed.runtime) for _, zone in self.services(scenario)
        }

    @staticmethod
    def services(scenario: Scenario) -> Sequence[tuple[str, str]]:
        """One dispatcher, in the first zone, whose programs of every zone hand it their cards; or one a zone."""
        return dispatchers_of(scenario, otherwise=Dispatchers.ONE)

    async def service(self, name: str, zone: str, wrap: Wrap) -> Startable:
        site = self._site(zone, wrap)
        return GmqDispatcher(
            f"{self._program}{zone}-{next(self._programs)}",
            runtime=site.runtime,
            clock=site.clock,
            quorum=site.connection,
            cards=self._cards[zone],
            settings=self._settings,
        )

    @staticmethod
    def places(
        queue: QueueSettings, zones: Sequence[str], *, name: str | None = None, prefix: str | None = None
    ) -> Sequence[Place]:
        """``name`` is that of a topic; the buckets are those of all topics."""
        settings = queue.of(GmqQueueSettings)
        keys = GmqKeys(prefix=prefix or PREFIX)
        topics = settings.topics if name is None else (name,)
        return job_places(keys, topics, _buckets(keys, settings.buckets, settings.ttr_buckets))

    def _instance(self, site: Site) -> Queue:
        cards = self._cards.get(site.zone) or next(iter(self._cards.values()))
        return GmqQueue(
            runtime=site.runtime, clock=site.clock, quorum=site.connection, cards=cards, settings=self._settings
        )

    def _buckets(self) -> Sequence[Bucket]:
        return _buckets(self._keys, self._settings.buckets, self._settings.ttr_buckets)


def _buckets(keys: GmqKeys, delayed: int, leased: int) -> Sequence[Bucket]:
    """Return ``delayed`` buckets of delayed jobs and ``leased`` buckets of leases."""
    waiting = [("queue", keys.delay_bucket(number)) for number in range(delayed)]
    return [*waiting, *(("unack", keys.ttr_bucket(number)) for number in range(leased))]


def dispatchers_of(scenario: Scenario, *, otherwise: Dispatchers) -> Sequence[tuple[str, str]]:
    """The dispatchers that ``queue.dispatchers`` asks for, or ``otherwise``."""
    one = (scenario.queue.of(GmqQueueSettings).dispatchers or otherwise) is Dispatchers.ONE
    return [(DISPATCHER, zone) for zone in (scenario.zones[:1] if one else scenario.zones)]

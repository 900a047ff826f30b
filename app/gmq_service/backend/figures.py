"""Figures of the process about itself, for the web monitor and for metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zonelab.app.gmq_service.traffic import Traffic
from zonelab.engine.gmq.buckets import Bucket
from zonelab.engine.gmq.dispatcher import GmqDispatcher
from zonelab.engine.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class BucketFigures:
    """``jobs``: as the dispatcher counts them. ``next_s``: Unix second of the next look."""

    key: str
    jobs: int
    next_s: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """``dispatcher`` is None where there is none; ``topics`` are those that metrics show by name."""

    traffic: Traffic
    gauges: Callable[[], dict[str, int]]
    is_connected: Callable[[], bool]
    dispatcher: GmqDispatcher | None
    epoch_ns: int
    topics: Sequence[str]

    @property
    def connected(self) -> bool:
        return self.is_connected()

    @property
    def dropped(self) -> int:
        return 0 if self.dispatcher is None else sum(one.dropped for one in self._all(self.dispatcher))

    def delay_buckets(self) -> list[BucketFigures]:
        return [] if self.dispatcher is None else [self._of(one) for one in self.dispatcher.delayed]

    def ttr_buckets(self) -> list[BucketFigures]:
        return [] if self.dispatcher is None else [self._of(one) for one in self.dispatcher.leased]

    def _of(self, bucket: Bucket) -> BucketFigures:
        return BucketFigures(bucket.key, bucket.jobs, (self.epoch_ns + bucket.next_ns) // NS_PER_S)

    @staticmethod
    def _all(dispatcher: GmqDispatcher) -> list[Bucket]:
        return [*dispatcher.delayed, *dispatcher.leased]

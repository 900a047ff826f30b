"""The figures of queues as Prometheus metrics.

They are made when somebody scrapes, in ``collect``, and only then. Names as in ``zonelab.engine.common.timings``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.registry import Collector

from zonelab.engine.common.timings import ABOUT, LABELS, Labels, QueueMetrics, Stat

MISSES = "queue_miss"


class Metrics(Collector):
    """The figures of any number of queues. Register it: ``prometheus_client.REGISTRY.register(metrics)``.

    ``namespace``: what the name of every metric begins with.
    """

    def __init__(self, *, namespace: str = "dyno_queue") -> None:
        self._namespace = namespace
        self._queues: list[QueueMetrics] = []

    def add(self, figures: QueueMetrics) -> QueueMetrics:
        """Show the figures of a queue object that begins, too."""
        self._queues.append(figures)
        return figures

    def collect(self) -> Iterator[SummaryMetricFamily | GaugeMetricFamily | CounterMetricFamily]:
        """A summary of every name, its least, greatest and mean value, the misses, and the totals that queues add.

        Objects of one queue and shard count together.
        """
        groups: dict[Labels, list[QueueMetrics]] = {}
        for queue in self._queues:
            groups.setdefault(queue.labels, []).append(queue)
        for name, about in ABOUT.items():
            stats = {labels: _together([queue.stats[name] for queue in queues]) for labels, queues in groups.items()}
            yield from _families(f"{self._namespace}_{name}", about, stats)
        misses = CounterMetricFamily(
            f"{self._namespace}_{MISSES}", "Candidates that could not be leased", labels=LABELS
        )
        for labels, queues in groups.items():
            misses.add_metric(labels, sum(queue.counters.misses for queue in queues))
        yield misses
        yield from _totals(groups, self._namespace)


def _together(stats: Sequence[Stat]) -> Stat:
    whole = Stat()
    used = [stat for stat in stats if stat.count]
    whole.count = sum(stat.count for stat in used)
    whole.total = sum(stat.total for stat in used)
    whole.min = min((stat.min for stat in used), default=0.0)
    whole.max = max((stat.max for stat in used), default=0.0)
    return whole


def _totals(groups: Mapping[Labels, Sequence[QueueMetrics]], namespace: str) -> Iterator[CounterMetricFamily]:
    families: dict[str, CounterMetricFamily] = {}
    for labels, queues in groups.items():
        sums: dict[str, int] = {}
        for total in (one for queue in queues for one in queue.totals):
            if total.name not in families:
                families[total.name] = CounterMetricFamily(f"{namespace}_{total.name}", total.about, labels=LABELS)
            sums[total.name] = sums.get(total.name, 0) + total.value()
        for name, value in sums.items():
            families[name].add_metric(labels, value)
    yield from families.values()


def _families(name: str, about: str, stats: dict[Labels, Stat]) -> Iterator[SummaryMetricFamily | GaugeMetricFamily]:
    summary = SummaryMetricFamily(name, about, labels=LABELS)
    gauges = {part: GaugeMetricFamily(f"{name}_{part}", f"{about}: {part}", labels=LABELS) for part in PARTS}
    for labels, stat in stats.items():
        summary.add_metric(labels, count_value=stat.count, sum_value=stat.total)
        for part, value in PARTS.items():
            gauges[part].add_metric(labels, value(stat))
    yield summary
    yield from gauges.values()


PARTS: dict[str, Callable[[Stat], float]] = {
    "min": lambda stat: stat.min,
    "max": lambda stat: stat.max,
    "mean": lambda stat: stat.total / stat.count if stat.count else 0.0,
}

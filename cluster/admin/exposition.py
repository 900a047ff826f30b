"""Figures as the text that Prometheus reads (https://prometheus.io/docs/concepts/data_model/)."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def exposed(families: Iterable[Metric]) -> bytes:
    """Only these: what a process measures of itself is not among them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return generate_latest(registry)

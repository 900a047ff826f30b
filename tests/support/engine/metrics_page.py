"""What Prometheus reads of the queues' metrics, for tests."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from zonelab.engine.common.prometheus import Metrics


class Page:
    def __init__(self, metrics: Metrics) -> None:
        registry = CollectorRegistry()
        registry.register(metrics)
        self.text = generate_latest(registry).decode()
        families = text_string_to_metric_families(self.text)
        self.samples = {
            (sample.name, sample.labels["queueName"], sample.labels["shard"]): sample
            for family in families
            for sample in family.samples
        }

    def value(self, name: str, *, queue: str, shard: str = "a") -> float:
        return self.samples[f"dyno_queue_{name}", queue, shard].value

    def classes(self) -> set[str]:
        return {sample.labels["class"] for sample in self.samples.values()}

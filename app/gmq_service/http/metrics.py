"""The figures of the service as metrics of Prometheus.

No label is of a client's choosing: topics are shown by name if the settings name them.
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from zonelab.app.gmq_service.backend.figures import Figures
from zonelab.cluster.admin.exposition import exposed
from zonelab.cluster.admin.metrics import cumulative
from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.pipelines import read
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.ports import Connection

_GAUGES = {
    "clients": "Clients of JSON-RPC that are connected.",
    "held_bytes": "Bytes held for them: incomplete requests, answers that they do not take.",
    "waiting_pops": "Pops that wait for a job.",
    "server_commands_under_way": "Exchanges with the server that are under way.",
    "server_commands_waiting": "Exchanges that wait for a free one of max_active.",
}


async def exposition(figures: Figures, connection: Connection, keys: GmqKeys) -> bytes:
    """All metrics as text. What the server holds is left out while it does not answer."""
    stored = await _stored(figures, connection, keys)
    return exposed([*_of_process(figures), *stored])


def _of_process(figures: Figures) -> Iterator[Metric]:
    traffic = figures.traffic
    requests = CounterMetricFamily("zonelab_gmq_requests", "Answers to clients.", labels=["method", "outcome"])
    for (method, outcome), count in sorted(traffic.requests.items()):
        requests.add_metric([method, outcome], count)
    yield requests
    latency = HistogramMetricFamily(
        "zonelab_gmq_request_seconds", "From a request's last byte to its answer, waiting included.", labels=["method"]
    )
    for method, histogram in sorted(traffic.latencies.items()):
        latency.add_metric([method], buckets=list(cumulative(histogram)), sum_value=histogram.sum_s)
    yield latency
    yield CounterMetricFamily("zonelab_gmq_clients_refused", "Clients that were too many.", value=traffic.refusals)
    closed = CounterMetricFamily("zonelab_gmq_clients_closed", "Clients that were closed.", labels=["reason"])
    for reason, count in sorted(traffic.closings.items()):
        closed.add_metric([reason], count)
    yield closed
    yield CounterMetricFamily("zonelab_gmq_jobs_dropped", "Jobs given up by the dispatcher.", value=figures.dropped)
    for name, value in figures.gauges().items():
        yield GaugeMetricFamily(f"zonelab_gmq_{name}", _GAUGES[name], value=value)
    yield GaugeMetricFamily(
        "zonelab_gmq_server_connected", "Whether the server is reached.", value=int(figures.connected)
    )


async def _stored(figures: Figures, connection: Connection, keys: GmqKeys) -> list[Metric]:
    buckets = [*figures.delay_buckets(), *figures.ttr_buckets()]
    names = [one.key for one in buckets]
    try:
        sizes = await read(connection, [("ZCARD", name) for name in names])
        ready = await read(connection, [("LLEN", keys.ready(topic)) for topic in figures.topics])
    except COMMAND_FAILURES:
        return []
    listed = GaugeMetricFamily("zonelab_gmq_bucket_jobs", "Jobs that a bucket lists.", labels=["bucket"])
    for name, size in zip(names, sizes, strict=True):
        listed.add_metric([name], size)
    waiting = GaugeMetricFamily("zonelab_gmq_ready_jobs", "Jobs that are ready.", labels=["topic"])
    for topic, size in zip(figures.topics, ready, strict=True):
        waiting.add_metric([topic], size)
    return [listed, waiting]

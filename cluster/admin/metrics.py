"""The figures of a coordinator as metrics of Prometheus."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from zonelab.cluster.admin.exposition import exposed
from zonelab.cluster.admin.latency import BUCKETS, PER_OCTAVE, Histogram, upper_bound_s

if TYPE_CHECKING:
    from zonelab.cluster.admin.view import GatewayView

_PORT_GAUGES = ("clients", "held_bytes")


def exposition(view: "GatewayView") -> bytes:
    """All metrics as text."""
    return exposed(_families(view))


def _families(view: "GatewayView") -> Iterator[Metric]:
    figures, zone = view.statistics(), view.zone
    yield from _of_port(figures["port"], zone)
    yield from _of_levels(figures["levels"], zone)
    yield _failures(figures["zone_failures"], zone)
    lacking = [((zone, other), unknown["times"]) for other, unknown in figures["unknown_scripts"].items()]
    yield _counter("zonelab_unknown_scripts", "NOSCRIPT where others had the script.", ["zone", "other"], lacking)
    done = [((zone, what), count) for what, count in figures["options"].items()]
    yield _counter("zonelab_options", "What options beyond the defaults have done.", ["zone", "what"], done)
    yield from _of_links(figures, zone)
    yield _latency(view.probe.histograms, zone)


def _of_port(counts: dict[str, int], zone: str) -> Iterator[Metric]:
    for name, value in counts.items():
        what = name.replace("_", " ")
        if name in _PORT_GAUGES:
            gauge = GaugeMetricFamily(f"zonelab_port_{name}", f"Now at the port: {what}.", labels=["zone"])
            gauge.add_metric([zone], value)
            yield gauge
        else:
            yield _counter(f"zonelab_port_{name}", f"At the port: {what}.", ["zone"], [((zone,), value)])


def _of_levels(levels: dict[str, dict[str, Any]], zone: str) -> Iterator[Metric]:
    decisions = [
        ((zone, level, decision), count)
        for level, counts in levels.items()
        for decision, count in counts["decisions"].items()
    ]
    yield _counter("zonelab_decisions", "Commands by how their vote ended.", ["zone", "level", "decision"], decisions)
    for name, what in (
        ("error_answers", "Commands answered with an error."),
        ("late_disagreements", "Replies that came after the decision and differed from the answer."),
    ):
        values = [((zone, level), counts[name]) for level, counts in levels.items()]
        yield _counter(f"zonelab_{name}", what, ["zone", "level"], values)


def _failures(failures: dict[str, dict[str, int]], zone: str) -> Metric:
    values = [((zone, other, text), count) for other, texts in failures.items() for text, count in texts.items()]
    return _counter("zonelab_zone_failures", "Batches that a zone did not answer.", ["zone", "other", "error"], values)


def _of_links(figures: dict[str, Any], zone: str) -> Iterator[Metric]:
    connected = GaugeMetricFamily("zonelab_connected", "Whether a zone's server is reached.", labels=["zone", "other"])
    for other, up in figures["connected"].items():
        connected.add_metric([zone, other], int(up))
    yield connected
    peers = GaugeMetricFamily("zonelab_peer", "Whether a coordinator elsewhere is reached.", labels=["zone", "other"])
    for other, up in figures["peers"].items():
        peers.add_metric([zone, other], int(up))
    yield peers
    remote = [((zone, what), count) for what, count in figures["remote"].items()]
    yield _counter("zonelab_remote", "Batches of writes for other data centres.", ["zone", "what"], remote)
    queued = GaugeMetricFamily("zonelab_link_in_flight", "Messages on their way.", labels=["zone", "link"])
    cut = GaugeMetricFamily("zonelab_link_cut", "Whether a link is cut.", labels=["zone", "link"])
    for link in figures["links"]:
        queued.add_metric([zone, link["link"]], link["in_flight"])
        cut.add_metric([zone, link["link"]], int(link["cut"] is not None))
    yield from (queued, cut)


def _latency(histograms: dict[tuple[str, str, str], Histogram], zone: str) -> Metric:
    family = HistogramMetricFamily(
        "zonelab_latency_seconds",
        "From a command's dispatch to its answer, estimated from a sample.",
        labels=["zone", "level", "kind", "outcome"],
    )
    for key, histogram in sorted(histograms.items()):
        family.add_metric([zone, *key], buckets=list(cumulative(histogram)), sum_value=histogram.sum_s)
    return family


def cumulative(histogram: Histogram) -> Iterator[tuple[str, int]]:
    """Its buckets, cumulative, one an octave."""
    below = 0
    for bucket, count in enumerate(histogram.counts):
        below += count
        if bucket == BUCKETS - 1:
            yield "+Inf", below
        elif bucket % PER_OCTAVE == 0:
            bound = upper_bound_s(bucket)
            assert math.isfinite(bound), bucket
            yield repr(round(bound, 9)), below


def _counter(
    name: str, what: str, labels: list[str], values: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, what, labels=labels)
    for key, value in values:
        family.add_metric(list(key), value)
    return family

"""The figures of a live page in the form that Prometheus reads; docs/metrics.md lists them.

Labels are bounded: zones, levels and kinds of faults by what the cluster is, queues by ``QUEUES_MAX``, topics and
shards, which clients may choose, by ``SHARDS_MAX`` of a queue: all further ones are counted together, as ``other``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from zonelab.app.monitor.watched_queue import added, earliest
from zonelab.cluster.admin.exposition import exposed

SHARDS_MAX = 30
PARTITIONS_MAX = 1_024
OTHER = "other"

_STATES = ("due", "delayed", "in_flight", "dead", "payloads")
_RATES = {
    "operations_per_s": ("commands_per_second", "Commands of late."),
    "errors_per_s": ("errors_per_second", "Commands of late that were answered with an error."),
    "divergent_per_s": ("divergent_per_second", "Votes of late in which zones gave different answers."),
}
_TOTALS = {
    "commands": "Commands since the coordinator began.",
    "errors": "Of them answered with an error.",
    "divergence": "Votes in which zones gave different answers.",
}


def exposition(shown: Mapping[str, Any]) -> bytes:
    """Return the metrics of a reading of a page, as text."""
    return exposed(_families(shown))


def _families(shown: Mapping[str, Any]) -> Iterator[Metric]:
    yield from _of_zones(shown.get("zones", ()))
    yield from _of_links(shown.get("links", ()))
    yield from _of_faults(shown.get("faults", ()))
    yield from _of_queues(shown.get("queues", ()))
    yield from _of_partitions(shown.get("partitions", ()))
    if "run" in shown:
        yield from _of_run(shown["run"])


def _of_zones(zones: Any) -> Iterator[Metric]:
    running = GaugeMetricFamily("zonelab_zone_running", "Whether it runs.", labels=["zone", "what"])
    read = GaugeMetricFamily(
        "zonelab_zone_read_timestamp_seconds", "When the zone's figures were read.", labels=["zone"]
    )
    latency = GaugeMetricFamily("zonelab_zone_latency_seconds", "Latency of late.", labels=["zone", "quantile"])
    clients = GaugeMetricFamily("zonelab_zone_clients", "Clients at the zone's port.", labels=["zone"])
    rates = {
        key: GaugeMetricFamily(f"zonelab_zone_{name}", what, labels=["zone"]) for key, (name, what) in _RATES.items()
    }
    totals = {key: CounterMetricFamily(f"zonelab_zone_{key}", what, labels=["zone"]) for key, what in _TOTALS.items()}
    for zone in zones:
        name, figures = zone["zone"], zone["statistics"] or {}
        for what in ("server", "coordinator"):
            running.add_metric([name, what], int(zone[what]["state"] == "running"))
        if zone["read_ms"] is not None:
            read.add_metric([name], zone["read_ms"] / 1e3)
        recent = figures.get("recent", {})
        for key, family in rates.items():
            _add(family, [name], recent.get(key))
        for key, counter in totals.items():
            _add(counter, [name], figures.get(key))
        _add(clients, [name], figures.get("clients"))
        for quantile, key in (("0.5", "p50_ms"), ("0.99", "p99_ms")):
            _add(latency, [name, quantile], recent.get(key), unit=1e-3)
    yield from (running, read, latency, clients, *rates.values(), *totals.values())


def _of_links(links: Any) -> Iterator[Metric]:
    queued = GaugeMetricFamily("zonelab_cluster_link_in_flight", "Messages on their way.", labels=["link"])
    cut = GaugeMetricFamily("zonelab_cluster_link_cut", "Whether a link is cut.", labels=["link"])
    for link in links:
        queued.add_metric([link["link"]], link["in_flight"])
        cut.add_metric([link["link"]], int(link["cut"] is not None))
    yield from (queued, cut)


def _of_faults(faults: Any) -> Iterator[Metric]:
    counts: dict[str, int] = {}
    for fault in faults:
        counts[fault["kind"]] = counts.get(fault["kind"], 0) + 1
    family = GaugeMetricFamily("zonelab_faults_in_force", "Faults in force.", labels=["kind"])
    for kind, number in counts.items():
        family.add_metric([kind], number)
    yield family


def _of_queues(queues: Any) -> Iterator[Metric]:
    labels = ["queue", "engine", "zone"]
    messages = GaugeMetricFamily("zonelab_queue_messages", "Messages that a zone holds.", labels=[*labels, "state"])
    read = GaugeMetricFamily("zonelab_queue_read_timestamp_seconds", "When a zone's queue was read.", labels=labels)
    missing = GaugeMetricFamily("zonelab_queue_ids_missing", "Ids that not every zone has.", labels=labels[:2])
    lasting = GaugeMetricFamily("zonelab_queue_ids_missing_for_long", "Of them a reading ago, too.", labels=labels[:2])
    places = [*labels, "holds", "shard"]
    entries = GaugeMetricFamily("zonelab_queue_entries", "Entries by shard or topic.", labels=places)
    ready = GaugeMetricFamily("zonelab_queue_due", "Of them due now, or leases that ended.", labels=places)
    following = GaugeMetricFamily(
        "zonelab_queue_next_timestamp_seconds", "When the first is due, or ends.", labels=places
    )
    for queue in queues:
        own = [queue["queue"], queue["engine"]]
        for zone in queue["zones"]:
            for state in _STATES:
                _add(messages, [*own, zone["zone"], state], zone.get(state))
            _add(read, [*own, zone["zone"]], zone["read_ms"], unit=1e-3)
        if queue["ids"] is not None:
            missing.add_metric(own, queue["ids"]["missing"])
            lasting.add_metric(own, queue["ids"]["for_long"])
        for place, number, due, next_ms in _by_shard(queue["shards"]):
            where = [*own, *place]
            entries.add_metric(where, number)
            _add(ready, where, due)
            _add(following, where, next_ms, unit=1e-3)
    yield from (messages, read, missing, lasting, entries, ready, following)


def _of_partitions(partitions: Any) -> Iterator[Metric]:
    where = ["group", "partition"]
    lag = GaugeMetricFamily("zonelab_partition_lag", "Messages that a group has not finished.", labels=where)
    blocked = GaugeMetricFamily(
        "zonelab_partition_blocked_seconds", "How long it stands still, by its cause.", labels=[*where, "cause"]
    )
    for one in partitions[:PARTITIONS_MAX]:
        own = [one["group"], one["partition"]]
        lag.add_metric(own, one["lag"])
        if one["blocked"] is not None:
            blocked.add_metric([*own, one["blocked"]], one["blocked_s"])
    yield from (lag, blocked)


def _by_shard(rows: Any) -> Iterator[tuple[list[str], int, int | None, float | None]]:
    """Server, what is held, and shard; entries, of them due, and the earliest time. Shards beyond the bound are one."""
    known = dict.fromkeys(row["shard"] for row in rows if row["shard"] is not None)
    shown = set(list(known)[:SHARDS_MAX])
    found: dict[tuple[str, str, str], tuple[int, int | None, float | None]] = {}
    for row in rows:
        shard = "all" if row["shard"] is None else row["shard"] if row["shard"] in shown else OTHER
        where = row["zone"], row["holds"], shard
        number, due, next_ms = found.get(where, (0, None, None))
        found[where] = number + row["entries"], added(due, row["due"]), earliest(next_ms, row["next_ms"])
    for where, (number, due, next_ms) in found.items():
        yield list(where), number, due, next_ms


def _of_run(run: Mapping[str, Any]) -> Iterator[Metric]:
    done = CounterMetricFamily("zonelab_run_operations", "Operations of the run.", labels=["operation", "outcome"])
    for one in run["operations"]:
        done.add_metric([one["f"], one["outcome"]], one["count"])
    yield done
    if run["messages"] is not None:
        counts = run["messages"]
        what = CounterMetricFamily("zonelab_run_messages", "Messages, and duplicates, so far.", labels=["what"])
        for name in ("confirmed", "delivered", "duplicates"):
            what.add_metric([name], counts[name])
        yield what
        yield GaugeMetricFamily("zonelab_run_overdue", "Messages 1 s past due that nobody has got.", counts["overdue"])


def _add(family: Any, labels: list[str], value: float | None, *, unit: float = 1.0) -> None:
    """Add ``value`` if it is known."""
    if value is not None:
        family.add_metric(labels, value * unit)

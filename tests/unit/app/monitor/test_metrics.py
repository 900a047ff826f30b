"""Goal: what Prometheus reads are the figures of the page, under labels that are bounded, and the dashboard asks for
names and labels that are there.

Method: readings as a session and a run have them.
"""

import json
import re

from prometheus_client.parser import text_string_to_metric_families
from support.project_files import ROOT

from zonelab.app.monitor.metrics import OTHER, SHARDS_MAX, exposition

DASHBOARD = ROOT / "docker" / "grafana-dashboard.json"
RECENT = {"operations_per_s": 12.5, "errors_per_s": 0.5, "divergent_per_s": 0, "p50_ms": 2, "p99_ms": 30}
STATISTICS = {"recent": RECENT, "commands": 100, "errors": 3, "divergence": 1, "clients": 4}
UP, DOWN = {"state": "running"}, {"state": "dead"}


def row(shard, **changes):
    return {"zone": "a", "holds": "queue", "shard": shard, "entries": 2, "due": 1, "next_ms": 5_000.0, **changes}


def reading(**changes):
    zones = [
        {"zone": "a", "server": UP, "coordinator": UP, "statistics": STATISTICS, "read_ms": 1_500},
        {"zone": "b", "server": UP, "coordinator": DOWN, "statistics": None, "read_ms": None},
    ]
    counts = {"zone": "a", "read_ms": 2_500, "due": 3, "delayed": 4, "in_flight": None, "dead": None, "payloads": 7}
    ids = {"ids": 7, "missing": 2, "for_long": 1, "read_ms": 2_500}
    queue = {"queue": "jobs", "engine": "dyno", "zones": [counts, {"zone": "b", "read_ms": None}], "ids": ids}
    queue["shards"] = changes.pop("shards", [row("a"), row(None, holds="payload", due=None, next_ms=None)])
    messages = {"confirmed": 9, "delivered": 8, "duplicates": 1, "overdue": 1, "overdue_ms": 4_000.0}
    run = {"operations": [{"f": "push", "outcome": "ok", "count": 9}], "messages": messages}
    links = [{"link": "a>b", "in_flight": 2, "cut": "drop"}]
    return {"zones": zones, "links": links, "faults": [{"kind": "kill"}] * 2, "queues": [queue], "run": run, **changes}


def samples(told):
    families = text_string_to_metric_families(exposition(told).decode())
    return {(one.name, *sorted(one.labels.items())): one.value for family in families for one in family.samples}


def test_a_partition_that_stands_still_is_told_with_its_cause():
    still = {"group": "g", "partition": "t/0", "lag": 4, "blocked": "poison", "blocked_s": 2.5}
    found = samples(reading(partitions=[still, {**still, "partition": "t/1", "lag": 0, "blocked": None}]))
    group, first, second = ("group", "g"), ("partition", "t/0"), ("partition", "t/1")
    assert found["zonelab_partition_lag", group, first] == 4
    assert found["zonelab_partition_lag", group, second] == 0
    blocked = {key: value for key, value in found.items() if key[0] == "zonelab_partition_blocked_seconds"}
    assert blocked == {("zonelab_partition_blocked_seconds", ("cause", "poison"), group, first): 2.5}


def test_figures_are_those_of_the_reading_and_what_is_not_known_is_not_told():
    found = samples(reading())
    zone = ("zone", "a")
    assert found["zonelab_zone_commands_per_second", zone] == 12.5
    assert found["zonelab_zone_commands_total", zone] == 100
    assert found["zonelab_zone_latency_seconds", ("quantile", "0.99"), zone] == 0.03
    assert found["zonelab_zone_read_timestamp_seconds", zone] == 1.5
    assert found["zonelab_zone_running", ("what", "coordinator"), ("zone", "b")] == 0
    assert ("zonelab_zone_commands_total", ("zone", "b")) not in found
    assert found["zonelab_cluster_link_cut", ("link", "a>b")] == 1
    assert found["zonelab_faults_in_force", ("kind", "kill")] == 2
    own = ("engine", "dyno"), ("queue", "jobs")
    assert found["zonelab_queue_messages", *own, ("state", "delayed"), zone] == 4
    assert ("zonelab_queue_messages", *own, ("state", "in_flight"), zone) not in found
    assert found["zonelab_queue_ids_missing", *own] == 2
    where = own[0], ("holds", "queue"), own[1], ("shard", "a"), zone
    assert (found["zonelab_queue_due", *where], found["zonelab_queue_next_timestamp_seconds", *where]) == (1, 5)
    assert found["zonelab_run_messages_total", ("what", "duplicates")] == 1
    assert found["zonelab_run_overdue",] == 1


def test_topics_that_clients_choose_do_not_make_labels_without_end():
    found = samples(reading(shards=[row(f"topic{number}") for number in range(10 * SHARDS_MAX)]))
    entries = {dict(key[1:])["shard"]: value for key, value in found.items() if key[0] == "zonelab_queue_entries"}
    assert len(entries) == SHARDS_MAX + 1
    assert entries[OTHER] == 2 * 9 * SHARDS_MAX


def asked_for(dashboard):
    """(name, label) of everything that the dashboard's questions and legends name."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            names = re.findall(r"\bzonelab_\w+", target["expr"])
            chosen = re.findall(r"(\w+)=~?\"", target["expr"]) + re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            grouped = re.findall(r"by \(([\w, ]+)\)", target["expr"])
            labels = {*chosen, *(label for group in grouped for label in group.split(", "))}
            yield from ((name, label) for name in names for label in (*sorted(labels), None))
    for variable in dashboard["templating"]["list"]:
        yield from re.findall(r"label_values\((\w+), (\w+)\)", variable["query"])


def unknown(dashboard):
    found = samples(reading())
    known = {(key[0], label) for key in found for label in (*dict(key[1:]), None)}
    return {each for each in asked_for(dashboard) if each not in known}


def test_the_dashboard_shows_what_is_exported_and_all_of_it():
    dashboard = json.loads(DASHBOARD.read_text())
    assert unknown(dashboard) == set()
    shown = {name for name, _ in asked_for(dashboard)}
    totals = {"zonelab_zone_commands_total", "zonelab_zone_errors_total", "zonelab_zone_divergence_total"}
    assert {key[0] for key in samples(reading())} - shown == totals | {"zonelab_zone_clients"}
    dashboard["panels"][0]["targets"][0] |= {"expr": "zonelab_zone_comands_per_second", "legendFormat": "{{zone}}"}
    assert ("zonelab_zone_comands_per_second", None) in unknown(dashboard)
    dashboard["panels"][0]["targets"][0] |= {"expr": "zonelab_zone_clients", "legendFormat": "{{node}}"}
    assert ("zonelab_zone_clients", "node") in unknown(dashboard)


def test_the_page_of_metrics_names_each_of_them():
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert {key[0] for key in samples(reading()) if f"`{key[0]}`" not in page} == set()

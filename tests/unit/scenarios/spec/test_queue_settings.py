"""Goal: the queue section is checked by the model of its engine, and files written before stay valid.

Method: scenario files read as a user's are; each error is the one line that the user sees.
"""

import pytest
import yaml
from support.scenarios.fault_stage import rows
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run_files.tables import FINAL_STATE_NAME, OPERATIONS_NAME
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.ordered.resizes import Practice, Resize, all_partitions
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario, scenario_of

LOAD = {"duration_s": 1, "rate_per_s": 10}
WRITTEN_OUT_BEFORE = {"sharding": "round_robin", "deliveries_max": None, "v1_producers": False}


def read(queue, *overrides, load=LOAD, tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump({"name": "own", "load": load, "queue": queue}), encoding="utf-8")
    return load_scenario(str(file), overrides=overrides)


@pytest.mark.parametrize(
    ("queue", "line"),
    [
        (
            {"engine": "gmk"},
            "queue.engine: got 'gmk' (did you mean gmq?); accepted: dyno, dyno-v2, gmq, youzan, zset, fifo",
        ),
        ({"engine": 5}, "queue.engine: got '5'; accepted: dyno, dyno-v2, gmq, youzan, zset, fifo"),
        (
            {"engine": "fifo", "mode": "rocketmq-5.1"},
            "queue.mode: got 'rocketmq-5.1' (did you mean rocketmq-5.3?); accepted: rocketmq-4.9, rocketmq-5.3, fenced",
        ),
        (
            {"engine": "fifo", "selector": "hashed"},
            "queue.selector: got 'hashed' (did you mean hash?); accepted: hash, random, consistent-hash",
        ),
        ({"engine": "fifo", "partitions": 0}, "queue.partitions: got 0; accepted: greater than or equal to 1"),
        (
            {"engine": "fifo", "unack_ms": 900, "renew_ms": 1_000},
            "queue.unack_ms: got 900; accepted: more than queue.renew_ms (1000), or it ends between two renewals",
        ),
        (5, "queue: got 5; accepted: a mapping"),
        (
            {"engine": "zset", "buckets": 3},
            "queue.buckets: unknown field, got 3; accepted fields: engine, mode, unack_ms, unack_interval_ms, compat, "
            "factory",
        ),
        (
            {"engine": "youzan", "sharding": "id_hash"},
            "queue.sharding: unknown field, got 'id_hash'; accepted fields: engine, mode, unack_ms, "
            "unack_interval_ms, compat, factory, topics, buckets, scan_interval_ms, lock_ms",
        ),
        ({"engine": "youzan", "unack_ms": 0}, "queue.unack_ms: got 0; accepted: greater than or equal to 1"),
        (
            {"engine": "youzan", "unack_ms": 86_400_001},
            "queue.unack_ms: got 86400001; accepted: less than or equal to 86400000",
        ),
        ({"engine": "gmq", "ttr_buckets": 27}, "queue.ttr_buckets: got 27; accepted: less than or equal to 26"),
        ({"engine": "gmq", "dispatchers": "two"}, "queue.dispatchers: got 'two'; accepted: one, each_zone"),
        (
            {"engine": "gmq", "topics": ["jobs", ""]},
            "queue.topics: got ['jobs', '']; accepted: one or more distinct non-empty names, e.g. [jobs, mails]",
        ),
    ],
)
def test_an_option_that_the_engine_does_not_take_is_refused_in_one_line(queue, line, tmp_path):
    with pytest.raises(ScenarioError) as refused:
        read(queue, tmp_path=tmp_path)
    assert refused.value.lines == (f"{tmp_path / 'own.yaml'}: {line}",)


def test_an_override_is_checked_by_the_model_of_the_engine_too(tmp_path):
    assert read({}, "queue.engine=gmq", "queue.buckets=8", tmp_path=tmp_path).queue.buckets == 8
    with pytest.raises(ScenarioError) as refused:
        read({"engine": "gmq"}, "queue.buckets=0", tmp_path=tmp_path)
    assert refused.value.lines == ("--set: queue.buckets: got 0; accepted: greater than or equal to 1",)


@pytest.mark.parametrize("engine", ["gmq", "youzan"])
@pytest.mark.parametrize(
    ("load", "path"),
    [
        ({"duration_s": 1, "rate_per_s": 1, "delay": "constant:3000000000s"}, "load.delay"),
        (
            {"duration_s": 1, "operations": [{"at_ms": 0, "zone": "a", "id": "1", "delay_ms": 3 * 10**12}]},
            "load.operations[0].delay_ms",
        ),
    ],
)
def test_a_delay_that_the_engine_cannot_count_is_refused(engine, load, path, tmp_path):
    with pytest.raises(ScenarioError) as refused:
        read({"engine": engine}, load=load, tmp_path=tmp_path)
    (line,) = refused.value.lines
    assert f": {path}: got " in line
    assert line.endswith(f"; accepted: at most 2147483648000 ms with queue.engine {engine}")
    assert read({"engine": "zset"}, load=load, tmp_path=tmp_path).queue.engine == "zset"


TOLD = {"at_ms": 0, "zone": "a", "id": "1"}


@pytest.mark.parametrize(
    ("queue", "load", "line"),
    [
        (
            {},
            {"topics": ["jobs"]},
            "load.topics: got ['jobs']; accepted: none with queue.engine dyno, which has no topics",
        ),
        ({"engine": "gmq"}, {"topics": ["mail"]}, "load.topics: got ['mail']; accepted: of queue.topics (jobs)"),
        (
            {"engine": "gmq"},
            {"topics": [""]},
            "load.topics: got ['']; accepted: one or more distinct non-empty names, e.g. [jobs, mails]",
        ),
        (
            {"engine": "youzan"},
            {"at_most_once": 0.5},
            "load.at_most_once: got 0.5; accepted: 0 with queue.engine youzan, default",
        ),
        (
            {"engine": "youzan"},
            {"operations": [{**TOLD, "topic": "mail"}]},
            "load.operations[0].topic: got 'mail'; accepted: of queue.topics (jobs)",
        ),
        (
            {"engine": "youzan"},
            {"operations": [{**TOLD, "lease_ms": 0}]},
            "load.operations[0].lease_ms: got 0; accepted: 1..86400000 with queue.engine youzan, default",
        ),
        (
            {"engine": "zset"},
            {"operations": [{**TOLD, "lease_ms": 9}]},
            "load.operations[0].lease_ms: got 9; accepted: nothing with queue.engine zset, default",
        ),
    ],
)
def test_topics_and_leases_of_messages_are_refused_where_the_queue_has_none(queue, load, line, tmp_path):
    rate = {} if "operations" in load else {"rate_per_s": 5}
    with pytest.raises(ScenarioError) as refused:
        read(queue, load={"duration_s": 1, **rate, **load}, tmp_path=tmp_path)
    assert refused.value.lines == (f"{tmp_path / 'own.yaml'}: {line}",)


def test_each_message_goes_to_its_topic_and_one_without_lease_is_settled_by_its_delivery():
    queue = {"engine": "gmq", "unack_ms": 3_000, "topics": ["mails", "jobs"]}
    operations = [{**TOLD, "id": "leased", "topic": "jobs", "poison": True}]
    operations += [{**TOLD, "at_ms": 100, "id": "once", "topic": "jobs", "lease_ms": 0, "poison": True}]
    one = {"topology": {"zones": ["a"]}, "queue": queue, "consumers": {"batch": 1}, "drain": {"bound_s": 12}}
    _, tables, verdict = run_in_memory(small(**one, load={"rate_per_s": 0, "operations": operations}))
    popped = [row for row in rows(tables, OPERATIONS_NAME) if (row["f"], row["type"]) == ("pop", "ok")]
    assert {row["shard"] for row in popped if row["message_id"]} == {"jobs"}
    delivered = [row["message_id"] for row in popped]
    assert delivered.count("once") == 1 < delivered.count("leased")
    assert [offender.message_id for offender in verdict.cases.get("stuck", ())] == ["leased"]
    assert verdict.counts[MessageClass.ABANDONED] == verdict.counts[MessageClass.LOST] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_written_out_before_stays_valid_and_what_is_written_reads_back(engine):
    old = {"name": "old", "load": LOAD, "queue": {"engine": engine, "unack_ms": 3_000, **WRITTEN_OUT_BEFORE}}
    scenario = scenario_of(old, source="old.yaml")
    assert scenario.queue.unack_ms == 3_000
    assert scenario_of(yaml.safe_load(dump_scenario(scenario)), source="again.yaml") == scenario


@pytest.mark.parametrize(
    ("queue", "services"),
    [
        ({"engine": "gmq"}, [("dispatcher", "a")]),
        ({"engine": "gmq", "dispatchers": "each_zone"}, [("dispatcher", zone) for zone in "abc"]),
        ({"engine": "gmq", "mode": "hardened"}, [("dispatcher", zone) for zone in "abc"]),
        ({"engine": "gmq", "mode": "hardened", "dispatchers": "one"}, [("dispatcher", "a")]),
    ],
)
def test_dispatchers_run_where_the_scenario_says(queue, services):
    assert list(small(queue=queue).services) == services


@pytest.mark.parametrize("engine", ["gmq", "youzan"])
def test_buckets_and_topics_are_those_of_the_scenario(engine):
    queue = {"engine": engine, "unack_ms": 3_000, "topics": ["mails", "jobs"], "buckets": 8}
    load = {"rate_per_s": 30, "delay": "constant:30s"}
    _, tables, verdict = run_in_memory(
        small(topology={"zones": ["a"]}, queue=queue, load=load, drain={"bound_s": 5}, consumers={"per_zone": 0})
    )
    rows = tables.tables[FINAL_STATE_NAME].batch().to_pylist()
    assert {row["shard"] for row in rows if row["place"] == "queue"} == {"mails"}
    assert verdict.counts[MessageClass.NOT_DUE] == verdict.totals.pushed > 20


@pytest.mark.parametrize(
    ("resizes", "most", "epochs"),
    [
        ([], 3, 1),
        ([("barrier", 2)], 2, 2),
        ([("barrier", 5)], 5, 2),
        ([("barrier", 5), ("barrier", 4)], 5, 3),
        ([("numbers", 6)], 6, 1),
        ([("numbers", 2)], 3, 1),
        ([("numbers", 6), ("barrier", 4)], 6, 4),
        ([("numbers", 4), ("barrier", 6)], 6, 4),
    ],
)
def test_a_topic_that_is_resized_may_have_the_partitions_of_every_epoch(
    resizes: list[tuple[str, int]], most: int, epochs: int
) -> None:
    """Three at first; after a barrier others are opened, and whether it is refused nobody knows beforehand."""
    told = [Resize(at_s=0.0, to=to, practice=Practice(practice)) for practice, to in resizes]
    found = all_partitions("jobs", 3, told, ("a", "b"))
    first = max([3, *(to for practice, to in resizes if practice == "numbers")])
    assert len({one.name for one in found}) == len(found) == first + (epochs - 1) * most
    assert {one.topic for one in found} == {"jobs"}

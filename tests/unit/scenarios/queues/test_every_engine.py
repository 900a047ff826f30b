"""Goal: whatever engine the catalogue lists can be run, judged and read, in each of its modes.

Method: short simulated runs on one zone, where no two replicas differ.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.run_files.tables import FINAL_STATE_NAME
from zonelab.scenarios.spec.engines import ENGINES

LEASE_MS = 3_000
IN_VAIN = (MessageClass.LOST, MessageClass.STUCK, MessageClass.ABANDONED, MessageClass.UNEXPECTED)

every_engine = pytest.mark.parametrize(
    ("engine", "mode"), [(name, mode) for name, engine in ENGINES.items() for mode in engine.modes]
)


def features_of(engine, mode):
    return ENGINES[engine].modes[mode].features


def scenario(engine, mode, **changes):
    chosen = {"compat": True} if mode == "compat" else {"mode": mode}
    return small(
        topology={"zones": ["a"]},
        queue={"engine": engine, "unack_ms": LEASE_MS, **chosen},
        **{"load": {"rate_per_s": 30, **({} if features_of(engine, mode).delays else {"delay": "0"})}, **changes},
    )


@every_engine
def test_all_that_is_pushed_is_delivered_where_nothing_fails(engine, mode):
    _, _, verdict = run_in_memory(scenario(engine, mode))
    assert verdict.totals.acknowledged == verdict.totals.delivered > 20
    assert {name: verdict.counts[name] for name in IN_VAIN if verdict.counts[name]} == {}


@every_engine
def test_what_nobody_took_is_listed_in_the_end(engine, mode):
    _, tables, verdict = run_in_memory(scenario(engine, mode, consumers={"per_zone": 0}))
    rows = tables.tables[FINAL_STATE_NAME].batch().to_pylist()
    listed = [row["message_id"] for row in rows if row["place"] == "queue" and row["serving"]]
    assert len(set(listed)) == len(listed) == verdict.counts[MessageClass.STUCK] == verdict.totals.pushed > 20


@every_engine
def test_what_is_due_after_the_end_is_not_due_and_nothing_is_wrong(engine, mode):
    if not features_of(engine, mode).delays:
        return
    operations = [{"at_ms": 0, "zone": "a", "id": "far", "delay_ms": 86_400_000}]
    load = {"rate_per_s": 0, "delay": "0", "operations": operations}
    _, _, verdict = run_in_memory(scenario(engine, mode, load=load, drain={"bound_s": 5}))
    counted = {name: count for name, count in verdict.counts.items() if count and name != MessageClass.PHANTOM}
    assert (counted, verdict.reasons) == ({MessageClass.NOT_DUE: 1}, ())


@every_engine
def test_whoever_promises_leases_delivers_again_what_killed_its_consumer_and_nobody_else(engine, mode):
    told = {"rate_per_s": 0, "operations": [{"at_ms": 0, "zone": "a", "id": "poison", "poison": True}]}
    _, _, verdict = run_in_memory(scenario(engine, mode, load=told, consumers={"batch": 1}, drain={"bound_s": 10}))
    assert verdict.totals.delivered == 1
    assert (verdict.counts[MessageClass.REDELIVERED] > 0) == features_of(engine, mode).leases
    assert (verdict.valid is True) == (not features_of(engine, mode).leases)  # or the poison is still there in the end

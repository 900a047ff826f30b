"""Goal: a table of results says of each figure which it is, with its unit, its interval and its place among the others.

Method: planted figures, each another number, and the whole of what is printed of them.
"""

from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.section import ConsistencySection, Counterexample, Share
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.section import OrderSection, Standstill
from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.summary.overload import Overload
from zonelab.analysis.summary.partitions import PartitionState
from zonelab.analysis.summary.result import Result
from zonelab.analysis.summary.run_summary import OperationSummary, Summary
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.terminal.engine_table import compared_table, engine_table
from zonelab.app.terminal.order_rows import partition_table
from zonelab.app.terminal.run_table import result_table
from zonelab.app.terminal.scenario_table import scenario_table
from zonelab.app.terminal.workload_table import access_table, counterexamples
from zonelab.engine.queue import Features
from zonelab.scenarios.spec.engines import Engine, ShippedEngine
from zonelab.scenarios.spec.reading import scenario_of


def latencies(value: float) -> dict[str, float]:
    return {"p50": value, "p99": 100 * value}


def summary(f: str, value: float, *, unavailability_s: float = 0.0) -> OperationSummary:
    return OperationSummary(
        f=f,
        zone="all",
        counts={},
        errors={},
        service_ms=latencies(value),
        response_ms={"count": 1, **latencies(2 * value)} if f == "push" else {"count": 0},
        p99_interval_ms=None,
        unavailability_s=unavailability_s,
    )


TOTALS = ("pushed", "acknowledged", "failed", "indeterminate", "delivered")


def checked(
    title: str, value: int, *, forbid: tuple[str, ...] = (), order: OrderSection | None = None, **parts: Any
) -> Result:
    section = QueueSection(
        forbid=forbid,
        totals=Totals(**{name: 10_000 * value + place for place, name in enumerate(TOTALS)}),
        counts={name: value and 1_000 + place for place, name in enumerate(MessageClass, start=1)},
        cases={},
        lateness_ms={"all": latencies(value)} if value else {},
        overlap_ms={"count": 1, "open": 0, "p50": 7.5, "p99": 250, "max": 1_000} if value else {},
        **parts,
    )
    ended = (summary("push", 5, unavailability_s=1.25), summary("ack", 6), summary("pop", 7, unavailability_s=60))
    figures = Summary(
        **{
            "run_id": "r",
            "scenario": "s",
            "level": "DC_ONE",
            "seed": 1,
            "status": "ended",
            "valid": True,
            "load_s": 1.0,
        },
        **{"totals": {}, "counts": {}, "duplicates": {}, "loss": {}, "lateness_ms": {}},
        operations=ended if value else (),
        overloaded=tuple(
            Overload(zone=zone, due=9, deliveries=9, looked_at_s=1) for zone in ("a", "c") if title == "broken"
        ),
    )
    return Result(
        title=title,
        directory=Path("r"),
        verdict=Verdict.of(section, *([] if order is None else [order])),
        summary=figures,
    )


def stood(cause: str, *, end_ns: int | None = None) -> Standstill:
    return Standstill(
        **{"group": "g", "partition": "t/0", "offset": 1_234, "begin_ns": 1_500_000_000, "end_ns": end_ns},
        **{"cause": cause, "messages": 5_000, "keys": 6},
    )


def ordered(*, forbid: tuple[str, ...]) -> OrderSection:
    return OrderSection(
        forbid=forbid,
        counts={name: 2_000 if name in ("I1", "I2") else 0 for name in Property},
        sorts={},
        opportunities={name: 0 if name == "I3" else 3_000 for name in Property},
        cases={},
        blocked=(stood("slow"), stood("hung"), stood("slow")),
        divergence=(),
    )


RESULTS = """\
two runs
                                  ┃        empty ┃                                                broken
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
messages pushed                   │            0 │                                                10,000
  acknowledged                    │            1 │                                                10,001
  failed                          │            2 │                                                10,002
  indeterminate                   │            3 │                                                10,003
messages delivered                │            4 │                                                10,004
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
lost                              │            0 │                                                 1,001
stuck                             │            0 │                                                 1,002
not due                           │            0 │                                                 1,003
unserved                          │            0 │                                                 1,004
abandoned                         │            0 │                                                 1,005
unexpected                        │            0 │                                                 1,008
early                             │            0 │                                                 1,012
late                              │            0 │                                            not judged
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
duplicated: redelivered (legal)   │            0 │                                                 1,009
duplicated: concurrent            │            0 │                                                 1,010
duplicated: resurrected           │            0 │                                                 1,011
zombie ack                        │            0 │                                                 1,014
overlapping work, messages        │            0 │                                            not judged
  for p50 / p99 / most, ms        │    – / – / – │                                     7.5 / 250 / 1,000
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
push p50 / p99, ms                │        – / – │                                            10 / 1,000
pop p50 / p99, ms (with its wait) │        – / – │                                               7 / 700
ack p50 / p99, ms                 │        – / – │                                               6 / 600
lateness p50 / p99, ms            │        – / – │                                               1 / 100
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
push unavailable, zone-seconds    │            – │                                                  1.25
pop unavailable, zone-seconds     │            – │                                                    60
ack unavailable, zone-seconds     │            – │                                                     0
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
overloaded zones                  │ no consumers │                                                   a c
──────────────────────────────────┼──────────────┼──────────────────────────────────────────────────────
verdict                           │        valid │                                               invalid
                                  │              │              with 1,002 stuck (10.0% of the messages)
                                  │              │            with 1,003 not due (10.0% of the messages)
                                  │              │          with 1,005 abandoned (10.1% of the messages)
                                  │              │          with 1,007 recovered (10.1% of the messages)
                                  │              │         with 1,008 unexpected (10.1% of the messages)
                                  │              │        with 1,009 redelivered (10.1 per 100 messages)
                                  │              │         with 1,010 concurrent (10.1 per 100 messages)
                                  │              │        with 1,011 resurrected (10.1 per 100 messages)
                                  │              │              with 1,012 early (10.1 per 100 messages)
                                  │              │               with 1,013 late (10.1 per 100 messages)
                                  │              │         with 1,014 zombie ack (10.1 per 100 messages)
                                  │              │            with 1,015 overlap (10.2% of the messages)
                                  │              │             with 1,016 orphan (10.2 per 100 messages)
                                  │              │            with 1,017 phantom (10.2 per 100 messages)
                                  │              │ with 1,018 priority inversion (10.2% of the messages)
                                  │              │        with 1,019 dead letter (10.2% of the messages)"""


def test_results_side_by_side_have_each_figure_in_its_row(shown: Any) -> None:
    broken = checked("broken", 1, forbid=(MessageClass.LOST,), not_judged=(MessageClass.LATE, MessageClass.OVERLAP))
    assert shown(result_table([checked("empty", 0), broken], title="two runs")) == RESULTS


ORDER = """\
──────────────────────────────────┼──────────────┼──────────────────────
I1 appended in order              │     no order │ broken 2,000 in 3,000
I2 one log                        │     no order │ broken 2,000 in 3,000
I3 no gaps                        │     no order │         not exercised
I4 begun in order                 │     no order │        holds in 3,000
I5 finished in order              │     no order │        holds in 3,000
I6 one at a time                  │     no order │        holds in 3,000
I7 redelivered in order           │     no order │        holds in 3,000
I8 tokens fence                   │     no order │        holds in 3,000
I9 cursor never falls             │     no order │        holds in 3,000
I10 one owner                     │     no order │        holds in 3,000
I11 attempts counted              │     no order │        holds in 3,000
I12 waiting bounded               │     no order │        holds in 3,000
I13 few duplicates                │     no order │        holds in 3,000
I14 effects in order              │     no order │        holds in 3,000
partitions stood still            │     no order │        2 slow, 1 hung
──────────────────────────────────┼──────────────┼──────────────────────
verdict                           │        valid │               invalid"""


def test_results_of_ordered_messages_tell_every_property_and_standstill(shown: Any) -> None:
    results = [checked("plain", 0), checked("ordered", 0, order=ordered(forbid=(Property("I1"),)))]
    table = result_table(results, title="two runs")
    assert shown(table).partition("no consumers │          no consumers\n")[2] == ORDER
    styles = {str(cells[0]): getattr(cells[2], "style", "") for cells in table.cells()}
    marked = styles["I1 appended in order"], styles["I2 one log"]
    assert marked == ("bold red", ""), "what is forbidden is marked"


PARTITIONS = """\
partitions
group ┃ partition ┃ owner ┃ token ┃ cursor ┃ end of log ┃   lag ┃ stood still
━━━━━━╇━━━━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
g     │ t/0       │ m     │ 1.3   │  1,000 │      3,500 │ 2,500 │ no
g     │ t/1       │ none  │ –     │      – │          7 │     7 │ hung: offset 1,234 from 1.50 s for 2,200 ms, 5,000 messages, 6 other keys behind; 2 more
g     │ t/2       │ n     │ 0.9   │      0 │          0 │     0 │ orphan: offset 1,234 from 1.50 s to the end, 5,000 messages, 6 other keys behind"""  # noqa: E501


def test_partitions_tell_their_longest_standstill(shown: Any) -> None:
    place: dict[str, Any] = {"group": "g", "lease_end_ns": None}
    states = [
        PartitionState(**place, partition="t/0", owner="m", token=(1, 3), cursor=1_000, log_end=3_500, standstills=()),
        PartitionState(
            **place,
            **{"partition": "t/1", "owner": None, "token": None, "cursor": None, "log_end": 7},
            standstills=(stood("hung", end_ns=3_700_000_000), stood("slow"), stood("slow")),
        ),
        PartitionState(
            **place, partition="t/2", owner="n", token=(0, 9), cursor=0, log_end=0, standstills=(stood("orphan"),)
        ),
    ]
    assert shown(partition_table(states, title="partitions")) == PARTITIONS


def accesses(title: str, *, valid: bool, **parts: Any) -> Result:
    verdict = Verdict.of(ConsistencySection(workload=WorkloadKind.REGISTER, cases={}, **parts))
    operations = (summary("read", 1.5), summary("write", 2.5)) if parts["operations"] else ()
    whole: dict[str, Any] = {
        "run_id": "r",
        "scenario": "s",
        "level": "DC_ONE",
        "seed": 1,
        "status": "ended",
        "valid": valid,
    }
    return Result(
        title=title,
        directory=Path("r"),
        verdict=verdict,
        summary=Summary(**whole, load_s=1, counts={}, operations=operations),
    )


ACCESSES = """\
accesses
                                        ┃                                             stale ┃      none
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━
read: ok / fail / info                  │                                     1,000 / 2 / 3 │ 0 / 0 / 0
  p50 / p99, ms                         │                                         1.5 / 150 │     – / –
write: ok / fail / info                 │                                         4 / 0 / 0 │ 0 / 0 / 0
  p50 / p99, ms                         │                                         2.5 / 250 │     – / –
────────────────────────────────────────┼───────────────────────────────────────────────────┼──────────
stale read                              │                                             1,500 │         0
lost write                              │                                                 0 │         0
divergent                               │                                             1,600 │         0
────────────────────────────────────────┼───────────────────────────────────────────────────┼──────────
stale reads, share (95 %)               │                    1,500 of 3,000: 48.2% to 51.8% │         –
stale reads behind, ms, p50 / p99       │                                      12.5 / 1,250 │     – / –
stale reads behind, versions, p50 / p99 │                                           1 / 100 │     – / –
────────────────────────────────────────┼───────────────────────────────────────────────────┼──────────
verdict                                 │                                           invalid │     valid
                                        │ with 1,600 divergent (158.6% of 1,009 operations) │"""


def test_accesses_tell_outcomes_anomalies_and_how_stale_reads_were(shown: Any) -> None:
    operations = {"read": {"ok": 1_000, "fail": 2, "info": 3}, "write": {"ok": 4}}
    none: dict[str, int] = dict.fromkeys(map(str, Anomaly), 0)
    counts = {**none, "stale_read": 1_500, "divergent": 1_600}
    stale = accesses(
        "stale",
        valid=False,
        **{"forbid": ("stale_read", "lost_write"), "operations": operations, "counts": counts},
        shares={"stale_reads": {"all": Share(hits=1_500, trials=3_000, low=0.482, high=0.518)}},
        staleness={"all": {"ms": latencies(12.5), "versions": latencies(1)}},
        counterexamples=(Counterexample(key="k", ops=(1, 2), timeline=("a --", "b  --")),),
    )
    nothing: dict[str, Any] = {"forbid": (), "operations": {}, "counts": none}
    table = access_table([stale, accesses("none", valid=True, **nothing)], title="accesses")
    assert shown(table) == ACCESSES
    styles = {str(cells[0]): getattr(cells[1], "style", "") for cells in table.cells()}
    assert (styles["stale read"], styles["lost write"], styles["divergent"]) == ("bold red", "", "")
    headline = "key k: no order of these operations is one that a register could have had"
    assert list(counterexamples(stale.verdict)) == ["", headline, "a --", "b  --"]


ENGINES = """\
engine ┃ modes           ┃ counts in ┃ early by at most ┃ leases ┃ priorities ┃ delays ┃ unique ids ┃ about
━━━━━━━╇━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━
one    │ default, compat │ 1 ms      │ 0 ms             │ yes    │ yes        │ yes    │ no         │ about one
two    │ default         │ 1 ms      │ 0 ms             │ yes    │ yes        │ yes    │ no         │ about two
two    │ hardened        │ 1,000 ms  │ 999 ms           │ no     │ yes        │ yes    │ yes        │ about two"""


COMPARED = """\
compared
engine ┃ mode     ┃ verdict ┃ forbidden, and found    ┃ redelivered ┃ late p50, ms ┃ p99, ms
━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━
one    │ default  │ invalid │ 1,001 lost, 1,002 stuck │       1,009 │            1 │     100
two    │ compat   │ valid   │ none                    │           0 │            – │       –
two    │ hardened │ –       │ –                       │           – │            – │       –"""


def test_engines_promise_by_mode_and_what_was_compared_is_told_in_a_row_each(shown: Any) -> None:
    plain, late = Features(), Features(time_unit_ms=1_000, early_ms_max=999, leases=False, unique_ids=True)
    engines = {
        "one": Engine("about one", {"default": ShippedEngine("m:A", plain), "compat": ShippedEngine("m:B", plain)}),
        "two": Engine("about two", {"default": ShippedEngine("m:A", plain), "hardened": ShippedEngine("m:B", late)}),
    }
    assert shown(engine_table(engines)) == ENGINES
    lost, stuck = MessageClass.LOST, MessageClass.STUCK
    rows = [
        ("one", "default", checked("x", 1, forbid=(lost, stuck))),
        ("two", "compat", checked("x", 0)),
        ("two", "hardened", None),
    ]
    assert shown(compared_table(rows, title="compared")) == COMPARED


def load(duration_s: float) -> dict[str, float]:
    return {"duration_s": duration_s, "rate_per_s": 1}


SCENARIOS = """\
scenario ┃ load ┃ faults         ┃ about
━━━━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━
some     │ 8 s  │ kill 1.5–3.5 s │ two lines
         │      │ pause 5–7 s    │
none     │ 30 s │ none           │"""


def test_scenarios_are_listed_with_their_faults(shown: Any) -> None:
    kill = {"kind": "kill", "zone": "a", "at_s": 1.5, "for_s": 2}
    faults = [kill, {**kill, "at_s": 5, "kind": "pause"}]
    some = scenario_of({"name": "some", "about": "two\nlines", "load": load(8), "faults": faults}, source="x")
    none = scenario_of({"name": "none", "load": load(30)}, source="x")
    assert shown(scenario_table([some, none])) == SCENARIOS

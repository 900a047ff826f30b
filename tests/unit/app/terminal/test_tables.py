"""Goal: a table of figures says of each which it is, with its unit, its interval and its place among the others.

Method: planted figures, each another number, and the whole of what is printed of them.
"""

from typing import Any

import pytest

from zonelab.analysis.pbs.estimates import PbsEstimate
from zonelab.analysis.pbs.models import MODELS
from zonelab.analysis.pbs.prediction import Prediction, RulePrediction
from zonelab.analysis.pbs.published import PublishedRow
from zonelab.analysis.pbs.reproduction import ReproducedRow, Reproduction
from zonelab.analysis.pbs.rules import LocalRead, PrimaryFirst, Quorum
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.spark.aggregates import (
    Aggregates,
    DeliveryFigures,
    OperationFigures,
    OrderFigures,
    SettingFigures,
)
from zonelab.analysis.spark.following.batches import Through
from zonelab.analysis.spark.following.follower import SoFar
from zonelab.app.terminal.aggregate_tables import message_table, operation_table
from zonelab.app.terminal.pbs_tables import prediction_table, reproduction_table
from zonelab.app.terminal.so_far import so_far_line, so_far_tables


def around(value: float) -> PbsEstimate:
    return PbsEstimate(value, value * 0.9, value * 1.1)


def row(rule: Any, value: float, *, first_passage: float | None) -> RulePrediction:
    return RulePrediction(
        rule=rule,
        write_ms={0.5: around(value), 0.99: around(9e9), 0.999: around(value + 2)},
        read_ms={
            0.5: PbsEstimate(value + 3, None, None),
            0.99: around(9e9),
            0.999: PbsEstimate(value + 4, value + 4, value + 4),
        },
        consistent={0: around(0.5), 12.5: around(0.75)},
        visible_after_ms=around(1234.5 * value),
        first_passage_ms=None if first_passage is None else around(first_passage),
    )


PREDICTION = """\
                  ┃  write p50 ┃ write p99.9 ┃ read p50 ┃ read p99.9 ┃ sees it at once ┃  12.5 ms later ┃              t ┃ first passage
━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━
R=1 W=1           │          1 │           3 │        4 │          5 │           50.0% │          75.0% │          1,234 │             –
                  │ 0.9 to 1.1 │  2.7 to 3.3 │  too few │            │  45.0% to 55.0% │ 67.5% to 82.5% │ 1,111 to 1,358 │
R=2 W=1           │          2 │           4 │        5 │          6 │           50.0% │          75.0% │          2,469 │             7
                  │ 1.8 to 2.2 │  3.6 to 4.4 │  too few │            │  45.0% to 55.0% │ 67.5% to 82.5% │ 2,222 to 2,716 │    6.3 to 7.7
──────────────────┼────────────┼─────────────┼──────────┼────────────┼─────────────────┼────────────────┼────────────────┼──────────────
DC_ONE, same zone │          3 │           5 │        6 │          7 │           50.0% │          75.0% │          3,704 │             –
                  │ 2.7 to 3.3 │  4.5 to 5.5 │  too few │            │  45.0% to 55.0% │ 67.5% to 82.5% │ 3,333 to 4,074 │
Elasticsearch     │          4 │           6 │        7 │          8 │           50.0% │          75.0% │          4,938 │             –
                  │ 3.6 to 4.4 │  5.4 to 6.6 │  too few │            │  45.0% to 55.0% │ 67.5% to 82.5% │ 4,444 to 5,432 │"""  # noqa: E501


@pytest.mark.parametrize("passage", [7.0, None])
def test_a_prediction_has_a_row_a_setting_and_the_other_stores_below(shown: Any, passage: float | None) -> None:
    rows = [row(Quorum(1, 1), 1.0, first_passage=None), row(Quorum(2, 1), 2.0, first_passage=passage)]
    rows += [row(LocalRead(elsewhere=False), 3.0, first_passage=None), row(PrimaryFirst(), 4.0, first_passage=None)]
    prediction = Prediction(model=MODELS["wan"], replicas=3, trials=10, seed=1, probability=0.9, rows=rows)
    table = prediction_table(prediction)
    whole = PREDICTION.splitlines()
    last = whole[0].rindex(" ┃")
    assert shown(table) == "\n".join(line if passage else line[:last].rstrip() for line in whole)


def reproduced(model: str, r: int, value: float) -> ReproducedRow:
    return ReproducedRow(
        model=model,
        quorum=Quorum(r, 1),
        published=PublishedRow(value, value + 1, value + 2),
        read_ms=around(value + 3),
        write_ms=around(value + 4),
        visible_after_ms=around(value + 5),
        first_passage_ms=around(value + 6) if r == 1 else None,
        stale_per_1000=around(value / 7),
    )


REPRODUCTION = """\
model ┃ quorum  ┃ read: paper ┃         ours ┃ write: paper ┃         ours ┃ t: paper ┃ first passage ┃        exact ┃  stale at t: ‰
━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━
lnkd  │ R=1 W=1 │          10 │           13 │           11 │           14 │       12 │            16 │           15 │          1.429
      │         │             │ 11.7 to 14.3 │              │ 12.6 to 15.4 │          │  14.4 to 17.6 │ 13.5 to 16.5 │ 1.286 to 1.571
lnkd  │ R=2 W=1 │          20 │           23 │           21 │           24 │       22 │             – │           25 │          2.857
      │         │             │ 20.7 to 25.3 │              │ 21.6 to 26.4 │          │               │ 22.5 to 27.5 │ 2.571 to 3.143
──────┼─────────┼─────────────┼──────────────┼──────────────┼──────────────┼──────────┼───────────────┼──────────────┼───────────────
wan   │ R=1 W=1 │          30 │           33 │           31 │           34 │       32 │            36 │           35 │          4.286
      │         │             │ 29.7 to 36.3 │              │ 30.6 to 37.4 │          │  32.4 to 39.6 │ 31.5 to 38.5 │ 3.857 to 4.714"""  # noqa: E501


def test_a_reproduction_names_a_model_once_and_parts_it_from_the_next(shown: Any) -> None:
    rows = [reproduced("lnkd", 1, 10), reproduced("lnkd", 2, 20), reproduced("wan", 1, 30)]
    assert shown(reproduction_table(Reproduction(trials=10, seed=1, rows=rows))) == REPRODUCTION


def delivery(**quantiles: float) -> DeliveryFigures:
    return DeliveryFigures(
        deliveries=9, first_deliveries=8, early=0, duplicates={}, duplicate_rate={}, lateness_ms=quantiles
    )


def setting(name: str, runs: int, value: int, order: dict[str, OrderFigures], **rest: Any) -> SettingFigures:
    return SettingFigures(
        setting=name,
        runs=runs,
        totals={"pushed": 1_000 * value, "delivered": value},
        counts={"lost": 2 * value, "stuck": 0},
        runs_with={"lost": runs, "stuck": 0},
        order=order,
        **{"delivery": None, **rest},
    )


def operation(f: str, zone: str, value: int) -> OperationFigures:
    latency_ms = {"p50": 1.25, "p90": 9.96, "p99": 100.4, **({"p999": 1_234.5} if value > 1 else {})}
    return OperationFigures(
        setting="DC_ONE",
        f=f,
        zone=zone,
        second=None,
        **{"invoke": 0, "ok": 1_000 * value, "fail": 2_000 * value, "info": 3_000 * value},
        errors={},
        latency_ms=latency_ms,
        delivery=None,
    )


ORDERED = {
    "I1": OrderFigures(cases=3, chances=4_000, runs_with=1, runs=1),
    "I2": OrderFigures(cases=0, chances=0, runs_with=0, runs=1),
}
SEVERAL = {
    "I2": OrderFigures(cases=5, chances=7_000, runs_with=2, runs=4),
    "I4": OrderFigures(cases=1, chances=0, runs_with=1, runs=4),
}
FIGURES = Aggregates(
    operations=(operation("push", "a", 1), operation("push", "b", 2), operation("pop", "a", 3)),
    settings=(setting("DC_ONE", 1, 1, ORDERED), setting("DC_QUORUM", 4, 2, SEVERAL), setting("none", 2, 3, {})),
    differs={},
    left_out={},
)


MESSAGES = """\
messages
                     ┃   DC_ONE (1 run) ┃                         DC_QUORUM (4 runs) ┃                 none (2 runs)
━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
pushed               │            1,000 │                                      2,000 │                         3,000
delivered            │                1 │                                          2 │                             3
─────────────────────┼──────────────────┼────────────────────────────────────────────┼──────────────────────────────
lost                 │                2 │              4 in 4 runs (39.8% to 100.0%) │ 6 in 2 runs (15.8% to 100.0%)
stuck                │                0 │                  0 in 0 runs (below 60.2%) │     0 in 0 runs (below 84.2%)
─────────────────────┼──────────────────┼────────────────────────────────────────────┼──────────────────────────────
I1 appended in order │ 3, 4,000 chances │                                          – │                             –
I2 one log           │    not exercised │ 5, 7,000 chances in 2 runs (6.8% to 93.2%) │                             –
I4 begun in order    │                – │     1, 0 chances in 1 run (0.63% to 80.6%) │                             –"""


OPERATIONS = """\
operations
setting ┃ operation ┃ zone ┃    ok ┃  fail ┃  info ┃ p50 ms ┃ p90 ms ┃ p99 ms ┃ p99.9 ms
━━━━━━━━╇━━━━━━━━━━━╇━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━━━
DC_ONE  │ push      │ a    │ 1,000 │ 2,000 │ 3,000 │   1.25 │   9.96 │    100 │        –
DC_ONE  │ push      │ b    │ 2,000 │ 4,000 │ 6,000 │   1.25 │   9.96 │    100 │    1,234
DC_ONE  │ pop       │ a    │ 3,000 │ 6,000 │ 9,000 │   1.25 │   9.96 │    100 │    1,234"""


def test_figures_of_many_runs_have_a_column_a_setting_and_a_row_an_operation_and_zone(shown: Any) -> None:
    assert shown(message_table(FIGURES)) == MESSAGES
    assert shown(operation_table(FIGURES)) == OPERATIONS


def so_far(*, classes_ns: int, status: str = "running", **quantiles: float) -> SoFar:
    figures = setting("DC_ONE", 1, 1_000, {}, delivery=delivery(**quantiles) if quantiles else None)
    return SoFar(
        name="here",
        status=status,
        through=Through(events=12_345, last_index=12_344, last_ns=61_000_000_000),
        aggregates=Aggregates(operations=FIGURES.operations, settings=(figures,), differs={}, left_out={}),
        classes_ns=classes_ns,
        faults=BANDS if status == "running" else (),
    )


BANDS = tuple(
    FaultBand(fault="f", kind=kind, target=at, begin_ns=0, end_ns=None, colour="", detail="")
    for kind, at in (("kill", "a"), ("cut", "b-c"))
)


def test_a_run_so_far_is_a_line_of_what_is_known_and_tables_of_it(shown: Any) -> None:
    known, early = so_far(classes_ns=59_000_000_000, p50=2.5, p99=1_500), so_far(classes_ns=0, status="ended")
    told = "12,345 events through 61 s; ok: push 3,000, pop 3,000; "
    late, faults = "lateness p50 / p99 2.5 / 1,500 ms; ", "in force: kill a, cut b-c; "
    assert so_far_line(known) == f"here: {told}{late}{faults}classes so far, through 59 s: lost 2,000"
    assert so_far_line(early) == f"here: {told[:-2]} (ended)"
    line, messages, operations = so_far_tables(known)
    assert (line, messages.title) == (so_far_line(known), "messages so far, through 59 s")
    assert shown(operations).splitlines()[1:] == OPERATIONS.splitlines()[1:]
    assert operations.title == "operations so far, through 61 s"
    _, only = so_far_tables(early)
    assert only.title == "operations so far, through 61 s"

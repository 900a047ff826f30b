"""Goal: the checkers and Spark's SQL, which share no code, find the same cases in any history. Method: Hypothesis draws
histories of queues that keep no rule, with gaps, and every case of every class and of the five properties of order that
Spark judges must be the same, down to its event.

Mistakes planted into the queries must be noticed by the same comparison.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from support.analysis.wild import wild_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.judgement import FIRST_CASES
from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.order import ORDER_NAME
from zonelab.analysis.spark.classes import CLASSES, TOTALS
from zonelab.analysis.spark.inputs import RunInput, find_runs
from zonelab.analysis.spark.order import appended, cursors, exclusion, sequence
from zonelab.analysis.spark.order.counts import create_order_views
from zonelab.analysis.spark.order.queries import PROPERTIES
from zonelab.analysis.spark.order.queries import VIEWS as ORDER_VIEWS
from zonelab.analysis.spark.queries import VIEWS
from zonelab.analysis.spark.session import INTERPRETED, spark_session
from zonelab.analysis.spark.views import create_views

pytestmark = pytest.mark.java

RUNS = 40

_COUNTED = ", ".join(f"'{name}', {name}" for name in (*TOTALS, *CLASSES))
QUESTIONS = {
    "cases": "SELECT run, class, message_id, index, delivery, zone FROM cases",
    "counts": f"SELECT run, stack({len(TOTALS) + len(CLASSES)}, {_COUNTED}) FROM run_counts",
    "overlaps": "SELECT run, message_id, overlap_ns FROM overlaps JOIN runs r USING (run)",
    "events": "SELECT run, f, type, count(*) FROM operations GROUP BY run, f, type",
}
CASE = "run, property, what, part, index"
ORDER_QUESTIONS = {
    "order cases": f"SELECT {CASE} FROM order_cases",
    "order chances": "SELECT run, property, chances FROM order_counts",
}
COMPILED = dict.fromkeys(INTERPRETED, "true") | {
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.zonelab.keptAsRows": "false",
}
"""The opposite: what a session has for millions of rows."""

EVERY_QUESTION = (*QUESTIONS, *ORDER_QUESTIONS)

Told = Mapping[str, Counter[tuple[object, ...]]]
"""Rows that answer each question."""

MISTAKES = {
    "a join that drops empty pops": (
        *("events", "operations", "FROM history GROUP BY"),
        "FROM history WHERE message_id IS NOT NULL GROUP BY",
    ),
    "attempts without an answer are left out": ("cases", "outcomes", " OR NOT answered", ""),
    "doubt about a lease excuses nobody": ("cases", "swept", " AND doubts = 0", ""),
    "the body of a refused push will do": ("cases", "contested", "('ok', 'info')", "('ok', 'info', 'fail')"),
    "a program that died works on": ("cases", "work", "least(w.ended_ns, d.death_ns)", "w.ended_ns"),
    "a program whose extension is refused works on": ("cases", "work", "type = 'fail'", "false"),
    "two programs at work are not enough": ("overlaps", "overlaps", "programs > 1", "programs > 2"),
    "who holds a lease is in his own way": ("cases", "swept", "- held AS others", "AS others"),
    "all priorities of a group are alike": ("cases", "inversions", "bit, higher", "higher"),
}
ORDER_MISTAKES = {
    "I1: judged by what was confirmed later": (appended, "order_following", "invoke_ns AS at_ns", "time_ns AS at_ns"),
    "I3: a message put aside counts as lost": (sequence, "order_seen", "outcome <> 'fail'", "false"),
    "I4: a batch is no call": (sequence, "order_begun_early", "f.start.time_ns", "f.start.time_ns + 1"),
    "I6: who crashed is still at work": (exclusion, "order_work", "('left', 'crashed')", "('left')"),
    "I9: a reset by hand is a fall": (cursors, "order_told", "status = 'reset'", "false"),
    "a minority of zones decides the log": (sequence, "order_log", "2 * holders > zones", "holders > 0"),
}


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    with spark_session(master="local[2]", brief=True, settings=INTERPRETED) as session:
        yield session


@contextmanager
def planned_with(session: SparkSession, plan: Mapping[str, str]) -> Iterator[None]:
    for name, value in plan.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)


def wild_runs(folder: Path, *, first: int) -> list[RunInput]:
    return list(find_runs(wild_run(folder / str(seed), seed=seed) for seed in range(first, first + RUNS)).runs)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunInput]:
    return wild_runs(tmp_path_factory.mktemp("wild"), first=0)


@pytest.fixture(scope="module")
def checked(runs: Sequence[RunInput]) -> Told:
    return told_by_the_checker(runs)


def told_by_the_checker(runs: Sequence[RunInput]) -> Told:
    told: Told = {question: Counter() for question in EVERY_QUESTION}
    for run in runs:
        name, verdict = run.place, check(run.directory.path)
        offenders = pq.read_table(run.directory.path / "offenders.parquet")
        cases = offenders.drop_columns("detail").to_pylist()
        told["overlaps"].update(_overlaps(name, offenders.to_pylist()))
        told["cases"].update((name, *case.values()) for case in cases)
        counts = {
            **{known: verdict.counts[known] for known in CLASSES},
            **{total: getattr(verdict.totals, total) for total in TOTALS},
        }
        told["counts"].update((name, *pair) for pair in counts.items())
        rows = (row for batch in run.directory.operations() for row in batch.to_pylist())
        events = Counter((f, kind) for _, f, kind in {(row["index"], row["f"], row["type"]) for row in rows})
        told["events"].update((name, *kind, count) for kind, count in events.items())
        if run.files(ORDER_NAME):
            _add_order(run, told)
    return told


def _overlaps(name: str, offenders: Iterable[Mapping[str, Any]]) -> Iterator[tuple[object, ...]]:
    """For how long two programs worked on a message, as its case tells it in words."""
    for one in offenders:
        if one["class"] == MessageClass.OVERLAP:
            (lasted_ms,) = re.findall(r"for ([\d,]+\.\d{3}) ms in all", one["detail"])
            yield name, one["message_id"], round(float(lasted_ms.replace(",", "")) * 1_000_000)


def _add_order(run: RunInput, told: Told) -> None:
    """Of a sort of cases the checker tells the first ones, and how many there are."""
    verdict = check_order(OrderRun.of(run.directory))
    for name in PROPERTIES:
        told["order chances"][run.place, name, verdict.opportunities[name]] += 1
        if sum(verdict.sorts[name].values()) <= FIRST_CASES:
            told["order cases"].update(
                (run.place, name, one.what, one.partition, -1 if one.index is None else one.index)
                for one in verdict.cases.get(name, ())
            )


def _with_all_cases(found: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Without the cases of properties of which a run has more than the checker tells."""
    many = Counter((run, name) for run, name, *_ in found.elements())
    return Counter({one: count for one, count in found.items() if many[one[0], one[1]] <= FIRST_CASES})


def told_by_spark(
    session: SparkSession,
    runs: Sequence[RunInput],
    questions: Collection[str] = EVERY_QUESTION,
    wrong: Mapping[str, str] = MappingProxyType({}),
) -> Told:
    having = [run for run in runs if run.files(ORDER_NAME)]
    if set(questions) & set(QUESTIONS):
        create_views(session, runs, ["any"] * len(runs), views={**VIEWS, **wrong})
    if set(questions) & set(ORDER_QUESTIONS):
        create_order_views(session, having, {**ORDER_VIEWS, **wrong})
    asked = {**QUESTIONS, **ORDER_QUESTIONS}
    try:
        rows = {question: session.sql(asked[question]).collect() for question in questions}
    finally:
        session.catalog.clearCache()
    told = {question: named(found, having if question in ORDER_QUESTIONS else runs) for question, found in rows.items()}
    if "order cases" in told:
        told["order cases"] = _with_all_cases(told["order cases"])
    return told


def named(found: Iterable[Sequence[Any]], runs: Sequence[RunInput]) -> Counter[tuple[object, ...]]:
    """Rows that begin with the number of a run, with the run itself."""
    return Counter((runs[number].place, *rest) for number, *rest in found)


@pytest.mark.parametrize("plan", [INTERPRETED, COMPILED], ids=["interpreted", "compiled"])
@given(first=st.integers(RUNS, 2**32))
@settings(max_examples=1, deadline=None, phases=[Phase.generate])
def test_both_find_the_same_cases_in_any_history(plan: Mapping[str, str], session: SparkSession, first: int) -> None:
    with tempfile.TemporaryDirectory() as folder, planned_with(session, plan):
        runs = wild_runs(Path(folder), first=first)
        checked, spark = told_by_the_checker(runs), told_by_spark(session, runs)
    for question in EVERY_QUESTION:
        assert (checked[question] - spark[question], spark[question] - checked[question]) == ({}, {}), question


def test_the_histories_hold_cases_of_every_class_and_classes_that_are_not_judged(
    runs: Sequence[RunInput], checked: Told
) -> None:
    found = Counter(case[1] for case in checked["cases"])
    assert {name: found[name] for name in MessageClass if found[name] < 3} == {}
    assert {len(run.directory.info.queue.not_judged) for run in runs} == {0, 1, 3}
    sorts = Counter((name, what) for _, name, what, *_ in checked["order cases"])
    assert len(sorts) == 12, sorts
    assert min(sorts.values()) >= 3, sorts


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_queries_is_noticed(
    mistake: str, session: SparkSession, runs: Sequence[RunInput], checked: Told
) -> None:
    question, view, text, wrong = MISTAKES[mistake]
    assert text in VIEWS[view]
    told = told_by_spark(session, runs, [question], {view: VIEWS[view].replace(text, wrong)})
    assert told[question] != checked[question]


@pytest.mark.parametrize("mistake", ORDER_MISTAKES)
def test_a_mistake_in_the_queries_of_order_is_noticed(
    mistake: str, session: SparkSession, runs: Sequence[RunInput], checked: Told
) -> None:
    part, view, text, wrong = ORDER_MISTAKES[mistake]
    assert text in ORDER_VIEWS[view]
    having = [run for run in runs if run.files(ORDER_NAME)]
    create_order_views(session, having, {**ORDER_VIEWS, view: ORDER_VIEWS[view].replace(text, wrong)})
    found = named(session.sql(f"SELECT {CASE} FROM ({part.CASES})").collect(), having)
    session.catalog.clearCache()
    names = {name for _, name, *_ in found}
    known = {one: count for one, count in checked["order cases"].items() if one[1] in names}
    assert _with_all_cases(found) != known

"""Goal: the checker and Spark's SQL, which share no code, find the same cases in any history. Method: Hypothesis draws
histories of queues that keep no rule, with gaps, and every case of every class must be the same, down to its event.

Mistakes planted into the queries must be noticed by the same comparison.
"""

import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from support.analysis.wild import wild_run

from analysis.checkers.queue.queue import check
from analysis.message_classes import MessageClass
from analysis.spark.classes import CLASSES, TOTALS
from analysis.spark.inputs import RunInput, find_runs
from analysis.spark.queries import VIEWS
from analysis.spark.session import INTERPRETED, spark_session
from analysis.spark.views import create_views

pytestmark = pytest.mark.java

RUNS = 40

_COUNTED = ", ".join(f"'{name}', {name}" for name in (*TOTALS, *CLASSES))
QUESTIONS = {
    "cases": "SELECT run, class, message_id, index, delivery, zone FROM cases",
    "counts": f"SELECT run, stack({len(TOTALS) + len(CLASSES)}, {_COUNTED}) FROM run_counts",
    "events": "SELECT run, f, type, count(*) FROM operations GROUP BY run, f, type",
}
COMPILED = dict.fromkeys(INTERPRETED, "true") | {
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.zonelab.keptAsRows": "false",
}
"""The opposite: what a session has for millions of rows."""

Told = Mapping[str, Counter[tuple[object, ...]]]
"""Rows that answer each question."""

MISTAKES = {
    "a join that drops empty pops": (
        *("events", "operations", "JOIN runs r ON r.run = h.run"),
        "JOIN runs r ON r.run = h.run AND h.message_id IS NOT NULL",
    ),
    "attempts without an answer are left out": ("cases", "outcomes", " OR NOT answered", ""),
    "doubt about a lease excuses nobody": ("cases", "swept", " AND doubts = 0", ""),
    "who holds a lease is in his own way": ("cases", "swept", "- held AS others", "AS others"),
    "all priorities of a group are alike": ("cases", "inversions", "bit, higher", "higher"),
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
    told: Told = {question: Counter() for question in QUESTIONS}
    for run in runs:
        name, verdict = run.place, check(run.directory.path)
        cases = pq.read_table(run.directory.path / "offenders.parquet").drop_columns("detail").to_pylist()
        told["cases"].update((name, *case.values()) for case in cases)
        counts = {**dict(verdict.counts), **{total: getattr(verdict.totals, total) for total in TOTALS}}
        told["counts"].update((name, *pair) for pair in counts.items())
        rows = (row for batch in run.directory.operations() for row in batch.to_pylist())
        events = Counter((f, kind) for _, f, kind in {(row["index"], row["f"], row["type"]) for row in rows})
        told["events"].update((name, *kind, count) for kind, count in events.items())
    return told


def told_by_spark(
    session: SparkSession,
    runs: Sequence[RunInput],
    questions: Collection[str] = tuple(QUESTIONS),
    views: Mapping[str, str] = VIEWS,
) -> Told:
    create_views(session, runs, ["any"] * len(runs), views=views)
    try:
        rows = {question: session.sql(QUESTIONS[question]).collect() for question in questions}
    finally:
        session.catalog.clearCache()
    return {question: Counter(tuple(row) for row in found) for question, found in rows.items()}


@pytest.mark.parametrize("plan", [INTERPRETED, COMPILED], ids=["interpreted", "compiled"])
@given(first=st.integers(RUNS, 2**32))
@settings(max_examples=1, deadline=None, phases=[Phase.generate])
def test_both_find_the_same_cases_in_any_history(plan: Mapping[str, str], session: SparkSession, first: int) -> None:
    with tempfile.TemporaryDirectory() as folder, planned_with(session, plan):
        runs = wild_runs(Path(folder), first=first)
        checked, spark = told_by_the_checker(runs), told_by_spark(session, runs)
    for question in QUESTIONS:
        assert (checked[question] - spark[question], spark[question] - checked[question]) == ({}, {}), question


def test_the_histories_hold_cases_of_every_class_and_classes_that_are_not_judged(
    runs: Sequence[RunInput], checked: Told
) -> None:
    found = Counter(case[1] for case in checked["cases"])
    assert {name: found[name] for name in MessageClass if found[name] < 3} == {}
    assert {len(run.directory.info.queue.not_judged) for run in runs} == {0, 1, 3}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_queries_is_noticed(
    mistake: str, session: SparkSession, runs: Sequence[RunInput], checked: Told
) -> None:
    question, view, text, wrong = MISTAKES[mistake]
    assert text in VIEWS[view]
    views = {**VIEWS, view: VIEWS[view].replace(text, wrong)}
    assert told_by_spark(session, runs, [question], views)[question] != checked[question]

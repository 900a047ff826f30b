"""Goal: simulated runs do what they did when the table was made. Method: one or two seeds of every sort of run.

``make hashes`` checks all seeds. Changes planted here show that none goes unnoticed, and that the first is named.
"""

import dataclasses
import json
from itertools import product

import pytest
from hashes import table
from hashes.table import (
    LEVELS,
    QUEUES,
    RUNS,
    SCENARIOS,
    TABLE,
    RecordedRun,
    Run,
    UnknownCommitError,
    differences,
    exported,
    main,
    parting,
    read_table,
)

SEEDS_OF_THE_TEST = {queue: (1, 2) if queue in ("dyno", "dyno-v2", "hardened") else (2,) for queue in QUEUES}
"""Ordered queues take several times as long as others, and under every fault least with seed 2."""

VICTIM = Run.called("no-faults/dyno/DC_ONE/4")
"""First scheduled, first served: an event more takes no random rank, so nothing but itself is changed."""

AT_NS = 500_000_000


def planted(monkeypatch, *, before=lambda cluster: None, after=lambda trial: None):
    """Changes every run: its cluster before the run, or its record after it."""
    true_attempt = table.attempt

    def attempt(scenario, *, keep_trace):
        def observe(cluster):
            before(cluster)
            return cluster

        trial = true_attempt(scenario, observe=observe, keep_trace=keep_trace)
        after(trial)
        return trial

    monkeypatch.setattr(table, "attempt", attempt)


def note_something(cluster):
    cluster.runtime.call_later(AT_NS, lambda: cluster.runtime.note("planted", "change"))


def change_row(name, number):
    def change(trial):
        rows = trial.tables.tables[name].rows
        rows[number] = ("planted", *rows[number][1:])

    return change


@pytest.mark.parametrize(("scenario", "queue", "level"), [*product(SCENARIOS, QUEUES, LEVELS)])
def test_runs_are_as_the_table_has_them(scenario, queue, level):
    runs = [Run(scenario=scenario, queue=queue, level=level, seed=seed) for seed in SEEDS_OF_THE_TEST[queue]]
    said = differences(runs, jobs=1)
    assert not said, "\n".join(said)


def test_the_table_has_every_run_in_order():
    _, lines = read_table(TABLE)
    assert list(lines) == [run.name for run in RUNS]


def test_a_planted_event_is_caught_and_named(monkeypatch, capsys):
    try:
        with exported(read_table(TABLE)[0]):
            pass
    except UnknownCommitError as error:
        pytest.skip(f"the commit of the table cannot be had here: {error}")
    planted(monkeypatch, before=note_something)
    assert main(["check", "--only", VICTIM.name, "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert "1 of 1 runs differ" in said
    assert "first differing event: note " in said
    assert f"now {AT_NS} planted change" in said


def test_without_the_commit_it_is_said_what_differs(monkeypatch, tmp_path):
    commit, _ = read_table(TABLE)
    unknown = tmp_path / "table.txt"
    unknown.write_text(TABLE.read_text(encoding="utf-8").replace(commit, "0" * 40), encoding="utf-8")
    planted(monkeypatch, before=note_something)
    first, run, last = differences([VICTIM], jobs=1, table=unknown)
    assert first == "1 of 1 runs differ from 000000000000: 1 in trace"
    assert run.startswith(f"  {VICTIM.name}: trace; ")
    assert last.startswith("the first differing event cannot be named, as 000000000000 cannot be run here: ")


@pytest.mark.parametrize(
    ("before", "named"),
    [
        (note_something, f"first differing event: note NUMBER: before TEXT, now {AT_NS} planted change"),
        (
            lambda cluster: cluster.runtime.spawn(cluster.runtime.sleep(AT_NS), name="planted"),
            "first differing event: note 0: before 0 spawn main, now 0 spawn planted",
        ),
        (
            lambda cluster: cluster.runtime.call_later(AT_NS, lambda: None),
            f"first differing event, not noted: at ns, event NUMBER: before TEXT, now {AT_NS}; the last note",
        ),
    ],
    ids=["a note", "a task", "an event without a note"],
)
def test_the_first_differing_event_is_named(monkeypatch, before, named):
    true = RecordedRun.of(VICTIM)
    planted(monkeypatch, before=before)
    first = parting(true, RecordedRun.of(VICTIM))[0]
    begin, _, rest = named.partition("NUMBER")
    assert first.startswith(begin)
    assert rest.partition("TEXT")[2] in first


def test_a_draw_too_many_is_caught_and_its_first_effect_named(monkeypatch):
    run = Run.called("no-faults/dyno/DC_ONE/1")
    true = RecordedRun.of(run)
    planted(monkeypatch, before=lambda cluster: cluster.runtime.random("order of simultaneous events").random())
    assert "trace" in sort_of_difference(run)
    assert parting(true, RecordedRun.of(run))[0].startswith("first differing event: note ")


@pytest.mark.parametrize("name", ["operations", "depth"])
def test_a_changed_row_of_the_history_is_caught_and_named(monkeypatch, name):
    true = RecordedRun.of(VICTIM)
    number = len(true.rows[name]) // 2
    planted(monkeypatch, after=change_row(name, number))
    assert sort_of_difference(VICTIM) == ("history",)
    (only,) = parting(true, RecordedRun.of(VICTIM))
    assert only.startswith(f"first differing row of {name}: row {number}: before [")
    assert ', now ["planted", ' in only


def test_a_changed_row_of_the_faults_is_caught_and_named(monkeypatch):
    run = next(run for run in RUNS if run.scenario == "every-fault" and RecordedRun.of(run).rows["faults"])
    true = RecordedRun.of(run)
    planted(monkeypatch, after=change_row("faults", 0))
    assert sort_of_difference(run) == ("faults",)
    (only,) = parting(true, RecordedRun.of(run))
    assert only.startswith("first differing row of faults: row 0: before [")


def sort_of_difference(run):
    return read_table(TABLE)[1][run.name].parted(table.Line.of(run))


def test_a_run_told_twice_is_the_same_and_is_told_as_json(capsys):
    assert main(["run", VICTIM.name]) == 0
    said = json.loads(capsys.readouterr().out)
    assert RecordedRun(**said) == RecordedRun.of(VICTIM)
    assert set(said) == {field.name for field in dataclasses.fields(RecordedRun)}


def test_a_name_that_no_run_has_is_refused(capsys):
    assert main(["check", "--only", "no-faults/dyno/DC_ONE/0"]) == 2
    assert "accepted: " in capsys.readouterr().err

"""Goal: a new verb over many runs takes four product files at most, as CONTRIBUTING says, and has what all such have.

Method: ``census``, which counts messages, planted in a copy of the product: its help, JSON, resumption and JUnit.
"""

import json

import pytest
from support.planted_tree import PlantedTree

WHAT_IT_DOES = '''"""``zonelab census``: how many messages each seed has."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zonelab.analysis.observation import Observation
from zonelab.app.terminal.junit import JUnitCase, Outcome, Suite
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import identity_of, load_scenario
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.study_report import StudyReport
from zonelab.studies.many_runs.task import RunTask
from zonelab.studies.many_runs.where import Where
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class Census(StudyReport):
    begun: dict[int, int]

    _TITLE = "Messages by seed"
    _PAGE = "docs/hunting.md"

    def tables(self, *, beside=None):
        columns = [Column("seed", lambda row: row[0]), Column("messages", lambda row: row[1], number=True)]
        return [ReportTable(columns=columns, rows=list(self.begun.items()))]

    def sentences(self):
        yield f"{sum(self.begun.values()):,} messages in all."

    def _results(self):
        return {"begun": self.begun}

    def suite(self):
        told = "" if self.complete else "interrupted"
        case = JUnitCase.of("zonelab.census", "every run was made", Outcome.ERROR, told)
        return Suite(verb="census", command=self.command, cases=[case])


def measured(scenario, seed: int) -> Observation:
    return attempt(scenario.model_copy(update={"seed": seed})).observation()


def run_census(source: str, *, seeds: range, where: Where, runs: Path, command: str) -> Census:
    scenario = load_scenario(source, overrides=["arm=sim", "load.duration_s=1"])
    experiment = Experiment(
        verb="census",
        name=scenario.name,
        measure=partial(measured, scenario),
        tasks=[RunTask(scenario.name, seed, seed) for seed in seeds],
        decided_by=[identity_of(scenario)],
    )

    def found(done, directory):
        return {"begun": {seed: one.begun for (_, seed), one in done.results.items()}}

    return Census.of(experiment, found, runs=runs, command=command, where=where)
'''

ITS_OPTIONS = '''@over_many_runs(runs=9, each="How many seeds to count.")
def census(scenario: Source, *, options: StudyOptions) -> None:
    """Count the messages of a scenario with many seeds."""
    from zonelab.app.verbs.census import run_census

    command = options.command(scenario)
    found = run_census(
        scenario, seeds=options.seeds, where=options.where, runs=options.directory, command=command
    )
    options.end(found, found.suite())


def shrink('''


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> PlantedTree:
    tree = PlantedTree(tmp_path_factory.mktemp("tree"))
    tree.add("app/verbs/census.py", WHAT_IT_DOES)
    tree.edit("app/cli/studies.py", ("def shrink(", ITS_OPTIONS))
    tree.edit("app/cli/app.py", ("studies.sweep, studies.shrink", "studies.sweep, studies.census, studies.shrink"))
    return tree


def test_it_takes_four_files_at_most(tree: PlantedTree) -> None:
    assert len(tree.touched) <= 4


def test_it_has_the_help_options_files_and_resumption_of_every_verb_over_many_runs(tree: PlantedTree) -> None:
    told = " ".join(tree.zonelab("census", "--help").stdout.split())
    assert "Count the messages of a scenario with many seeds." in told
    assert "How many seeds to count. [default: 9;" in told
    words = ("census", "steady", "--seed-from", "4", "--dir", "kept", "--json", "--runs")
    first = json.loads(tree.zonelab(*words, "2").stdout)
    assert (list(first["begun"]), first["known"]) == (["4", "5"], 0)
    assert first["command"] == "zonelab census steady --runs 2 --seed-from 4 --jobs 1 --dir kept"
    more = json.loads(tree.zonelab(*words, "3", "--junit", "census.xml").stdout)
    assert (more["known"], more["begun"]["4"]) == (2, first["begun"]["4"])
    assert '<testcase classname="zonelab.census" name="every run was made"' in (tree.folder / "census.xml").read_text()
    (results,) = (tree.folder / "kept").glob("steady/census-*/results.jsonl")
    assert json.loads((results.parent / "census.json").read_text()) == more
    assert len(results.read_text().splitlines()) == 1 + 3

"""Goal: the published guarantees are what they say, break by break. Method: counterexamples and cells are run again."""

import shutil

import pytest
from support.studies.counterexamples import FILES, broken_cells, class_in_name, held_cells, linked, renew, rerun

from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC
from zonelab.scenarios.fault_draws.fault_classes import EngineMode
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems

SAMPLE = slice(None, None, 3)
"""Of what the page says of each cell a part is run again; each counterexample is, whole."""

AGAIN = (
    "the program shows another run now: `python -m support.studies.counterexamples` in tests/, and read what changed"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_counterexample_violates_what_it_names_and_is_the_run_that_was_found(path):
    scenario, trial = rerun(path)
    assert problems(scenario) == []
    assert class_in_name(path) in trial.violated
    assert trial.violated == scenario.found.violated
    assert trial.run.trace_hash == scenario.found.trace_hash, AGAIN


def test_the_pages_link_to_every_counterexample_and_to_no_other():
    guarantees, control = linked("guarantees.md"), linked("hardened-control.md")
    assert len(guarantees) == len(set(guarantees)) > len(control) == len(set(control)) > 0
    assert set(guarantees) | set(control) == set(FILES)


@pytest.mark.parametrize(
    ("cell", "broken", "seed"), broken_cells()[SAMPLE], ids=lambda value: getattr(value, "name", None) or str(value)
)
def test_a_cell_that_the_page_calls_broken_breaks_as_it_says(cell, broken, seed):
    assert broken in attempt(cell.scenario(seed)).violated


@pytest.mark.parametrize("cell", held_cells()[SAMPLE], ids=lambda cell: cell.name)
def test_a_cell_that_the_page_says_has_held_holds_in_a_seed_that_the_page_had(cell):
    assert attempt(cell.scenario(2)).violated == ()


def test_the_page_has_a_word_on_every_cell_that_it_was_made_from():
    broken, held = {cell for cell, _, _ in broken_cells()}, set(held_cells())
    assert not broken & held
    told = {(cell.mode, cell.fault_class) for cell in broken | held}
    assert {mode for mode, _ in told} >= {EngineMode.DEFAULT, EngineMode.COMPAT}
    assert len(broken | held) == len(told) * len(LEVELS_OF_ONE_DC)


def test_a_counterexample_is_renewed_only_while_it_shows_its_violation(tmp_path):
    path = tmp_path / FILES[0].name
    shutil.copy(FILES[0], path)
    before = path.read_text()
    hash_before = load_scenario(str(path)).found.trace_hash
    path.write_text(before.replace(hash_before, "f" * 64))
    assert renew(path)
    assert load_scenario(str(path)).found.trace_hash == attempt(load_scenario(str(path))).run.trace_hash
    other = path.rename(tmp_path / path.name.replace(class_in_name(path), "early"))
    text = other.read_text()
    assert not renew(other)
    assert other.read_text() == text

"""Goal: the published counterexamples are what they say, event by event. Method: each is run again, in simulation."""

import shutil

import pytest
from support.counterexamples import FILES, class_in_name, linked, renew, rerun

from scenarios.load import load_scenario
from scenarios.rules import problems
from scenarios.trial import attempt

AGAIN = "the program shows another run now: `python -m support.counterexamples` in tests/, and read what changed"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_counterexample_violates_what_it_names_and_is_the_run_that_was_found(path):
    scenario, trial = rerun(path)
    assert problems(scenario) == []
    assert class_in_name(path) in trial.violated
    assert trial.violated == scenario.found.violated
    assert trial.run.trace_hash == scenario.found.trace_hash, AGAIN


def test_the_page_of_guarantees_links_to_every_counterexample_and_to_no_other():
    links = linked("guarantees.md")
    assert len(links) == len(set(links)) > 0
    assert set(links) == set(FILES)


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

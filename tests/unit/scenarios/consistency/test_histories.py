"""Goal: the published smallest histories are what they say, and as small as they can be.

Method: each is run again event by event, made again from its scenario, told again, and tried with each part left out.
"""

import pytest
from support.studies.histories import HISTORIES, PUBLISHED, made, published

from zonelab.scenarios.run.trial import attempt
from zonelab.studies.shrink.search import with_operations
from zonelab.studies.stories.story import story

AGAIN = "the program shows another run now: `python -m support.studies.histories` in tests/, and read what changed"

PARTS = {"stale-quorum-read": (2, 2), "two-writers": (2, 0), "eval-pops-differ": (3, 0), "error-but-applied": (1, 2)}
"""How many operations and faults each takes."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_history_is_the_run_that_was_found_and_shows_its_anomaly(name):
    scenario = published(name)
    trial = attempt(scenario)
    assert PUBLISHED[name] in trial.violated
    assert trial.violated == scenario.found.violated
    assert trial.run.trace_hash == scenario.found.trace_hash, AGAIN


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_history_is_what_shrinking_the_scenario_gives(name):
    unfound = {"found": None}
    assert published(name).model_copy(update=unfound) == made(name).scenario.model_copy(update=unfound), AGAIN
    assert not made(name).bounded


@pytest.mark.parametrize("name", PUBLISHED)
def test_nothing_can_be_left_out_of_a_published_history(name):
    scenario = published(name)
    operations, faults = scenario.workload.operations, scenario.faults
    assert (len(operations), len(faults)) == PARTS[name]
    parts = [with_operations(scenario, operations[:one] + operations[one + 1 :]) for one in range(len(operations))]
    parts += [scenario.model_copy(update={"faults": faults[:one] + faults[one + 1 :]}) for one in range(len(faults))]
    assert not any(PUBLISHED[name] in attempt(part).violated for part in parts)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_story_tells_the_run(name):
    told = (HISTORIES / f"{name}.md").read_text(encoding="utf-8")
    assert told == story(published(name), PUBLISHED[name]), AGAIN


def test_the_page_links_to_every_history_and_its_story():
    page = (HISTORIES.parent / "consistency.md").read_text(encoding="utf-8")
    assert {path.name for path in HISTORIES.iterdir()} == {
        f"{name}.{end}" for name in PUBLISHED for end in ("md", "yaml")
    }
    for path in HISTORIES.iterdir():
        assert f"(histories/{path.name})" in page

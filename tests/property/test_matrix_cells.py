"""Goal: a cell's run depends on its seed and cell alone. Method: drawn cells and seeds, run twice, and by the rules."""

from hypothesis import given, settings
from hypothesis import strategies as st

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT
from zonelab.analysis.observation import Observation
from zonelab.scenarios.fault_draws.fault_classes import EngineMode
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.studies.guarantees.matrix import CELLS, CellResult

cells = st.sampled_from(CELLS)
seeds = st.integers(0, 2**32)
violations = st.dictionaries(st.sampled_from(FORBIDDEN_DEFAULT), st.integers(1, 9))


@given(cells, seeds)
@settings(max_examples=100, deadline=None)
def test_a_cell_draws_the_same_lawful_scenario_every_time(cell, seed):
    scenario = cell.scenario(seed)
    assert scenario == cell.scenario(seed)
    assert problems(scenario) == []
    assert (scenario.level, scenario.queue.compat, scenario.seed) == (cell.level, cell.mode is EngineMode.COMPAT, seed)


@given(cell=cells, seed=seeds)
@settings(max_examples=5, deadline=None)
def test_a_run_of_a_cell_is_the_run_of_its_file(cell, seed, tmp_path_factory):
    scenario = cell.scenario(seed)
    path = tmp_path_factory.mktemp("cell") / "scenario.yaml"
    path.write_text(dump_scenario(scenario), encoding="utf-8")
    assert attempt(scenario).equals(attempt(load_scenario(str(path))))


@given(st.lists(violations, max_size=20))
def test_a_result_counts_every_seed_that_violates_a_class_once(found):
    result = CellResult()
    for seed, violated in enumerate(found):
        result.add(seed, Observation(violated=tuple(map(str, violated))))
    assert result.runs == len(found)
    for name in FORBIDDEN_DEFAULT:
        assert list(result.seeds(name)) == [seed for seed, violated in enumerate(found) if name in violated]
    assert result.broken == tuple(name for name in FORBIDDEN_DEFAULT if any(name in one for one in found))

"""Goal: the guarantee matrix shows what is known of the queue, whoever computes it. Method: few seeds of some cells."""

import json
from collections import Counter
from itertools import product

import pytest
from support.studies.in_memory import FACTS, fill

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.observation import Observation
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.engine.dyno.hardened.upkeep import replica_repair
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, classes_of, scenario_of_class
from zonelab.scenarios.fault_draws.loads import LOAD_S
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Load
from zonelab.studies.guarantees.matrix import (
    CELLS,
    Cell,
    CellResult,
    Failure,
    Matrix,
    chosen,
    counterexamples,
    matrix_from,
    matrix_of,
    share_bound,
)
from zonelab.studies.guarantees.matrix_report import MatrixReport, fill_matrix
from zonelab.studies.many_runs.state import RESULTS_NAME

UNRETRIED = {name: Load.model_fields[name].default for name in ("retries", "retry_after_ms")}


def cell(fault_class, *, level=Level.DC_QUORUM, mode=EngineMode.DEFAULT):
    return Cell(fault_class=fault_class, level=level, mode=mode)


def shown(seed, problem=None, **violated):
    return seed, Observation(violated=tuple(violated), counts=violated, problem=problem)


def result_of(one_cell, *, runs):
    return fill([one_cell], seeds=range(1, runs + 1)).cells[one_cell]


def test_only_prefetched_ids_turn_a_wipe_at_dc_one_into_losses():
    """The original leases ids that it read before the wipe, finds no payload, and its handler then drops them."""
    lossy = result_of(cell(FaultClass.ZONE_WIPED, level=Level.DC_ONE, mode=EngineMode.COMPAT), runs=4)
    default = result_of(cell(FaultClass.ZONE_WIPED, level=Level.DC_ONE), runs=4)
    assert lossy.seeds(MessageClass.LOST)
    assert not default.seeds(MessageClass.LOST)


def harmless(operation):
    return operation.model_copy(update={"poison": False})


@pytest.mark.parametrize("seed", [7, 54])
def test_the_load_of_a_seed_is_the_same_in_every_cell(seed):
    """But whether producers try again, which messages are poison, and how long the run waits for orphans."""
    loads = {one: one.scenario(seed).load for one in CELLS}
    plain = {**UNRETRIED, "duration_s": LOAD_S}
    told = [
        load.model_copy(update={**plain, "operations": tuple(map(harmless, load.operations))})
        for load in loads.values()
    ]
    assert len({load.model_dump_json() for load in told}) == 1
    for fault_class in classes_of("dyno"):
        assert len({loads[one].model_dump_json() for one in chosen(fault_classes=[fault_class])}) == 1
    assert {one.fault_class for one in CELLS if loads[one].retries} <= {FaultClass.ANY_OF_ONE_ZONE}
    assert {one.fault_class for one in CELLS if loads[one].poison} == {FaultClass.POISON}
    assert {one.fault_class for one in CELLS if loads[one].duration_s > LOAD_S} == {FaultClass.V1_PRODUCERS_CRASH}
    assert CELLS[0].scenario(7).load != CELLS[0].scenario(8).load


def test_any_fault_of_one_zone_is_drawn_from_every_class_that_the_page_names_before_it():
    """Each class of a zone or a link that hardened mode withstands, about as often as the others."""
    named = list(FaultClass)
    of_one_zone = [
        one
        for one in named[: named.index(FaultClass.ANY_OF_ONE_ZONE)]
        if one.startswith(("zone-", "cut-")) and one is not FaultClass.ZONE_UNSERVED
    ]

    def sort(faults):
        """What tells the classes apart: the kind, and of these how they end, or how long they last."""
        (fault,) = [one for one in faults if one.kind not in ("clock", "consumer_crash", "service_crash")][:1]
        if fault.kind == "pause":
            return "pause", "long" if fault.for_s >= 0.6 else "short"
        if fault.kind == "cut":
            return "cut", "one way" if fault.one_way else fault.mode
        return fault.kind, getattr(fault, "restart", None)

    seeds = range(1, 401)
    expected = {sort(cell(one).scenario(seed).faults) for one in of_one_zone for seed in range(1, 6)}
    drawn = Counter(sort(cell(FaultClass.ANY_OF_ONE_ZONE).scenario(seed).faults) for seed in seeds)
    assert set(drawn) == expected
    assert len(expected) == len(of_one_zone)
    assert min(drawn.values()) > 400 / len(expected) / 2


def test_in_half_of_the_seeds_of_any_fault_producers_try_again():
    loads = [cell(FaultClass.ANY_OF_ONE_ZONE).scenario(seed).load for seed in range(1, 201)]
    assert 80 <= sum(load.retries > 0 for load in loads) <= 120
    assert {load.retries for load in loads} == set(range(7))


@pytest.mark.parametrize("level", [Level.DC_QUORUM, Level.DC_SAFE_QUORUM])
def test_a_retried_push_that_zones_keep_in_different_shards_is_found_by_the_matrix(level, monkeypatch):
    """The planted bug is one that the engine had: nobody moved such a message to one shard, and nobody looked there."""
    scenario = cell(FaultClass.ANY_OF_ONE_ZONE, level=level, mode=EngineMode.HARDENED).scenario(54)
    assert scenario.load.retries > 0
    assert attempt(scenario).violated == ()
    monkeypatch.setattr(replica_repair, "_move", lambda there, *, zones: None)
    assert attempt(scenario).violated == (MessageClass.STUCK,)
    assert attempt(scenario.model_copy(update={"load": scenario.load.model_copy(update=UNRETRIED)})).violated == ()


@pytest.mark.parametrize("fault_class", FaultClass)
def test_scenarios_of_every_class_break_no_rule(fault_class):
    assert [problem for seed in range(50) for problem in problems(cell(fault_class).scenario(seed))] == []


def test_a_matrix_has_every_level_class_and_mode_once():
    assert len(CELLS) == len(set(CELLS)) == len(classes_of("dyno")) * len(LEVELS_OF_ONE_DC) * len(ENGINES["dyno"].modes)


def test_ctrl_c_keeps_what_there_is():
    def told(done, total):
        if done == 3:
            raise KeyboardInterrupt

    cells = [cell(FaultClass.NONE, level=level) for level in (Level.DC_ONE, Level.DC_QUORUM)]
    done = matrix_of(cells, range(1, 6)).run(progress=told)
    assert not done.complete
    assert [result.runs for result in matrix_from(cells, done).cells.values()] == [2, 1]


@pytest.mark.parametrize("runs", [1, 10, 100, 3_000])
def test_the_bound_of_a_cell_that_held_is_the_exact_one_behind_the_rule_of_three(runs):
    assert (1 - share_bound(runs)) ** runs == pytest.approx(0.05)
    if runs >= 100:
        assert share_bound(runs) == pytest.approx(3 / runs, rel=0.02)


def test_a_counterexample_repeats_event_by_event(tmp_path):
    wiped = cell(FaultClass.ZONE_WIPED, level=Level.DC_ONE, mode=EngineMode.COMPAT)
    found = fill([wiped], seeds=range(1, 2))
    written, problems = counterexamples(found, tmp_path / "files", shrink_runs=40)
    assert problems == []
    assert set(written) == {Failure(cell=wiped, message_class=name, seed=1) for name in found.cells[wiped].broken}
    for failure, path in written.items():
        scenario = load_scenario(str(path))
        assert scenario.arm == "sim"
        trial = attempt(scenario)
        assert failure.message_class in trial.violated
        assert trial.run.trace_hash == scenario.found.trace_hash
        original = scenario_of_class(FaultClass.ZONE_WIPED, level=Level.DC_ONE, mode=EngineMode.COMPAT, seed=1)
        assert len(scenario.load.operations) < len(original.load.operations)


@pytest.fixture
def told(tmp_path):
    result = CellResult()
    for one in (shown(1), shown(2, lost=1, stuck=2), shown(3, problem="no end state was recorded"), shown(4, lost=3)):
        result.add(*one)
    held = CellResult()
    held.add(*shown(1))
    silent = CellResult()
    silent.add(*shown(1, problem="the lab broke"))
    broken = cell(FaultClass.ZONE_WIPED, level=Level.DC_ONE)
    study = Matrix(cells={broken: result, cell(FaultClass.NONE): held, cell(FaultClass.LAG_HEAVY): silent})
    return MatrixReport(
        **{**FACTS, "complete": False, "problems": study.problems},
        study=study,
        files={Failure(cell=broken, message_class=MessageClass.LOST, seed=2): tmp_path / "files" / "lost.yaml"},
    )


def test_a_cell_counts_seeds_not_cases(told):
    document = json.loads(json.dumps(told.to_json()))
    classes = document["cells"][0]["classes"]
    assert list(classes) == [str(name) for name in FORBIDDEN_DEFAULT]
    assert (classes["lost"]["failing"], classes["lost"]["first_seed"]) == (2, 2)
    assert classes["lost"]["share"]["low"] < 0.5 < classes["lost"]["share"]["high"]
    assert classes["early"] == {"failing": 0, "share_below": share_bound(3)}  # a run without verdict shows nothing
    assert document["problems"][0] == "zone-wiped-DC_ONE-default, seed 3: no end state was recorded"


@pytest.mark.parametrize("fault_class", FaultClass)
def test_no_bound_is_told_for_what_some_runs_of_a_cell_do_not_judge(fault_class):
    one = cell(fault_class)
    result = CellResult()
    for seed in range(1, 9):
        result.add(*shown(seed))
    report = MatrixReport(**FACTS, study=Matrix(cells={one: result}))
    (told,) = report.to_json()["cells"]
    for seed in range(1, 9):
        assert set(told["classes"]) <= set(one.scenario(seed).checks.forbid)


def test_the_page_names_what_held_what_broke_and_that_it_was_interrupted(told, tmp_path):
    page = told.document(tmp_path / "page.md")
    assert "| zone-wiped | lost 66.7%, stuck 33.3% of 3 runs, 1 undecided |" in page
    assert "| none |  | held (below 95.0%; 1 run) |" in page
    assert "| lag-heavy |  | 1 undecided |" in page
    assert "| zone-wiped | DC_ONE | default | lost | 2 of 3 | 9.4% to 99.16% | 2 | [yaml](files/lost.yaml) |" in page
    assert "Interrupted: rows may have fewer seeds." in page


def test_the_first_failing_seed_is_named_and_no_other():
    result = CellResult()
    for one in (shown(3, stuck=1), shown(5, stuck=1, lost=1)):
        result.add(*one)
    found = Matrix(cells={cell(FaultClass.NONE): result})
    assert [(one.message_class, one.seed) for one in found.failures()] == [("lost", 5), ("stuck", 3)]


def test_cells_are_chosen_by_mode_level_and_class():
    found = chosen(
        modes=[EngineMode.HARDENED], levels=[Level.DC_ONE], fault_classes=[FaultClass.NONE, FaultClass.CUT_DROP]
    )
    assert {(one.mode, one.level) for one in found} == {(EngineMode.HARDENED, Level.DC_ONE)}
    assert [one.fault_class for one in found] == [FaultClass.NONE, FaultClass.CUT_DROP]
    assert chosen() == CELLS


def test_a_matrix_that_was_broken_off_goes_on_where_it_was(tmp_path):
    cells, path = [cell(FaultClass.ZONE_WIPED, level=Level.DC_ONE), cell(FaultClass.NONE)], tmp_path / RESULTS_NAME

    def told(done, total):
        if done == 3:
            raise KeyboardInterrupt

    experiment = matrix_of(cells, range(1, 4))
    with experiment.state(tmp_path) as state:
        assert not experiment.run(progress=told, state=state).complete
    path.write_bytes(path.read_bytes()[:-9])  # the last line was not written whole
    with experiment.state(tmp_path) as known:
        assert [(one.name, seed) in known.results for one, seed in product(cells, (1, 2))] == [True, False, True, False]
        again = experiment.run(state=known)
    assert (matrix_from(cells, again), again.known) == (fill(cells, seeds=range(1, 4)), 2)
    assert len(path.read_text().splitlines()) == 1 + 6


def test_only_runs_that_were_asked_for_count_as_made_before(tmp_path):
    def filled(one, *, runs):
        return fill_matrix([one], seeds=range(1, runs + 1), out=None, runs=tmp_path, shrink_runs=1).known

    one, other = cell(FaultClass.NONE, level=Level.DC_ONE), cell(FaultClass.NONE)
    assert [filled(one, runs=2), filled(other, runs=1), filled(one, runs=1), filled(one, runs=3)] == [0, 0, 1, 2]

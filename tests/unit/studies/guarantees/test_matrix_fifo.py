"""Goal: fenced partitions keep what they promise in drawn runs that once broke it; bugs that they had are still seen.

Method: runs of the matrix, and of the ablations, by seed.
"""

import pytest
from support.studies.in_memory import fill

from zonelab.analysis.checkers.order.properties import Blockage, Property
from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.settings import LeaseClock, Order
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.faults.clocks import ClockFault
from zonelab.scenarios.run.trial import attempt
from zonelab.studies.guarantees.ablation import AblationRun, conditions_of, each_off
from zonelab.studies.guarantees.ablation_report import run_ablations
from zonelab.studies.guarantees.matrix import chosen, matrix_from, matrix_of
from zonelab.studies.guarantees.mechanisms import Ablation


def drawn(seed, *, fault_class=FaultClass.ANY_OF_ONE_ZONE, level=Level.DC_QUORUM, mode=EngineMode.FENCED):
    return attempt(scenario_of_class(fault_class, level=level, mode=mode, seed=seed, engine="fifo"))


@pytest.mark.parametrize(
    ("seed", "why"),
    [
        (91, "a zone that missed a write took its state, without its records, from a renewal"),
        (110, "a producer sent a message again as another record"),
        (
            3998,
            "a zone that missed a write took its state, without its records, from a repair, and no owner gave offsets",
        ),
    ],
)
def test_a_seed_that_once_broke_fenced_partitions_holds(seed, why):
    assert drawn(seed).violated == (), why


@pytest.mark.parametrize("level", [Level.DC_QUORUM, Level.DC_SAFE_QUORUM])
def test_resizes_under_drawn_faults_break_nothing(level):
    """docs/fifo-proof.md has more such runs."""
    trials = [drawn(seed, fault_class=FaultClass.RESIZED, level=level) for seed in (2, 4, 5, 6)]
    assert [trial.violated for trial in trials] == [()] * 4


@pytest.mark.parametrize("seed", [2, 54, 56])
def test_delays_under_drawn_faults_break_nothing(seed):
    """In 54 and 56 a delayed message is pushed again, and is due as it was at first."""
    trial = drawn(seed, fault_class=FaultClass.DELAYED)
    assert trial.violated == ()
    assert trial.verdict.order.opportunities["I1"] > 0


def test_two_groups_and_trimmed_logs_under_drawn_faults_break_nothing():
    """In 1 the members of a group come late to the partitions of a resize, which the other group has handled."""
    trials = [drawn(seed, fault_class=FaultClass.GROUPED) for seed in (1, 2, 3)]
    assert [trial.violated for trial in trials] == [()] * 3


@pytest.mark.parametrize(
    ("lease_clock", "broken"), [(LeaseClock.MARGIN, (Property.ONE_OWNER,)), (LeaseClock.OBSERVATION, ())]
)
def test_with_clocks_that_differ_by_seconds_one_owner_takes_leases_by_observation(lease_clock, broken):
    scenario = scenario_of_class(
        FaultClass.CLOCKS_WRONG, level=Level.DC_QUORUM, mode=EngineMode.FENCED, seed=1, engine="fifo"
    )
    queue = scenario.queue.model_copy(update={"lease_clock": lease_clock})
    faults = tuple(
        each.model_copy(update={"offset_ms": 100 * each.offset_ms}) if isinstance(each, ClockFault) else each
        for each in scenario.faults
    )
    assert attempt(scenario.model_copy(update={"queue": queue, "faults": faults})).violated == broken


def test_a_matrix_tells_opportunities_and_standstills_also_from_its_state(tmp_path):
    cells = chosen(
        engine="fifo", modes=[EngineMode.FENCED], levels=[Level.DC_QUORUM], fault_classes=[FaultClass.ANY_OF_ONE_ZONE]
    )
    with matrix_of(cells, ()).state(tmp_path) as state:
        made = fill(cells, seeds=range(1, 7), state=state)
    with matrix_of(cells, ()).state(tmp_path) as state:
        known = matrix_of(cells, range(1, 7)).run(state=state)
    assert (known.known, matrix_from(cells, known)) == (6, made)
    (result,) = made.cells.values()
    assert all(result.order.opportunities[name] for name in ("I1", "I2", "I3", "I4", "I9", "I12", "I14"))
    assert result.order.seeds >= 1
    for row in result.order.rows():
        assert row[0] in set(Blockage)
    assert "opportunities: I1" in result.order.in_words()


@pytest.mark.parametrize(
    ("seed", "why"),
    [
        (69, "an effect that a sink fenced off, by one of another key under a newer generation, was told as done"),
        (7, "what a consumer finished above its cursor, and then died, was not told as acknowledged"),
    ],
)
def test_a_seed_that_once_broke_order_by_key_holds(seed, why):
    scenario = scenario_of_class(
        FaultClass.ANY_OF_ONE_ZONE, level=Level.DC_QUORUM, mode=EngineMode.FENCED, seed=seed, engine="fifo"
    )
    queue = scenario.queue.model_copy(update={"order": Order.KEY})
    assert attempt(scenario.model_copy(update={"queue": queue})).violated == (), why


FAILS = {
    Fencing.MAJORITY_DECISIONS: (6, "I8"),
    Fencing.ADOPTION: (9, "I9"),
    Fencing.ORDERED_WRITES: (2, "I8"),
    Fencing.ONE_WRITER: (8, "I2"),
    Fencing.PROVEN_ENTRIES: (2, "I2"),
    Fencing.ADMISSION: (1, "I9"),
    Fencing.STORED_ATTEMPTS: (3, "I11"),
    Fencing.DRAINED_RELEASE: (3, "I6"),
    Fencing.LEASE_MARGIN: (12, "I10"),
}
"""Mechanism → a seed, and the property that its run breaks without it."""


@pytest.mark.parametrize("mechanism", Fencing)
def test_each_mechanism_is_needed_under_the_faults_that_it_is_against(mechanism):
    """docs/fifo-proof.md counts more such runs."""
    ablation, (seed, broken) = Ablation.of(mechanism, engine="fifo"), FAILS[mechanism]
    assert ablation in each_off("fifo")
    chosen = conditions_of(ablation)
    run = AblationRun(ablation, chosen[seed % len(chosen)], seed)
    assert broken in run.measure().counts
    assert run.twin.measure().counts == {}


def calm_and_failing():
    return next(
        one
        for seed in range(1, 20)
        if (
            one := scenario_of_class(
                FaultClass.NONE, level=Level.DC_QUORUM, mode=EngineMode.FENCED, seed=seed, engine="fifo"
            )
        )
        and one.load.failing
    )


def test_failing_messages_are_drawn_and_their_attempts_counted():
    scenario = calm_and_failing()
    trial = attempt(scenario)
    assert trial.violated == ()
    assert trial.verdict.order.opportunities["I11"] >= sum(scenario.load.failing.values())


def test_attempts_counted_in_memory_break_nothing_while_nobody_dies():
    """The checker was not told of these failures, so each second attempt broke I11."""
    without = Ablation.of(Fencing.STORED_ATTEMPTS, engine="fifo")
    assert attempt(calm_and_failing(), make_queue=without.make_queue).violated == ()


def test_the_page_of_an_ablation_counts_the_properties_of_fenced_partitions(tmp_path):
    report = run_ablations(
        [Ablation.of(Fencing.STORED_ATTEMPTS, engine="fifo")],
        seeds=range(3, 4),
        out=tmp_path / "page.md",
        runs=tmp_path,
    )
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "- stored-attempts, 1 seed: worse in 1 and better in 0 comparisons" in page
    assert "unack-handler" not in page
    assert report.complete

"""Goal: a failing run of registers, sets, locks, counters or lists shrinks to the few operations that show its anomaly.

Method: connections with planted bugs, whose smallest histories are known; drawn and hunted runs of the library; every
result is run again, also with each of its operations and faults left out.
"""

import json
from pathlib import Path

import pytest
from support.studies.planted_accesses import PLANTED_ACCESSES, SCENARIO, attempt_with

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.accesses import VALUES_NAME
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.app.cli.main import run_cli
from zonelab.app.verbs.shrink import class_of
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.hunt.seeds import HuntTarget
from zonelab.studies.shrink.search import NotFailing, with_operations
from zonelab.studies.shrink.workload_run import explicit_accesses, forbidding, shrink_accesses
from zonelab.studies.stories.story import story


def planted(kind: str) -> Scenario:
    return Scenario.model_validate({**SCENARIO, "arm": "sim", "workload": {"kind": kind, "keys": 3}})


def parts(scenario: Scenario) -> list[Scenario]:
    """The scenario with each of its operations, and each of its faults, left out."""
    operations, faults = scenario.workload.operations, scenario.faults
    without = [operations[:one] + operations[one + 1 :] for one in range(len(operations))]
    spared = [faults[:one] + faults[one + 1 :] for one in range(len(faults))]
    return [with_operations(scenario, one) for one in without] + [
        scenario.model_copy(update={"faults": one}) for one in spared
    ]


@pytest.mark.parametrize("bug", PLANTED_ACCESSES)
def test_a_planted_bug_shrinks_to_the_operations_that_it_takes(bug: str) -> None:
    spoilt, anomaly, kind, operations = PLANTED_ACCESSES[bug]
    spoilt_attempt, before = attempt_with(spoilt), planted(kind)
    shrunk = shrink_accesses(before, anomaly, attempt=spoilt_attempt)
    after = shrunk.scenario
    assert len(explicit_accesses(before).workload.operations) > 30
    assert (len(after.workload.operations), after.faults, after.links.lag) == (operations, (), "0")
    assert (after.workload.clients_per_zone, after.workload.keys) == (1, 1)
    assert not shrunk.bounded
    assert problems(after) == []
    again = spoilt_attempt(after)
    assert anomaly in again.violated
    assert again.run.trace_hash == after.found.trace_hash
    assert anomaly not in attempt(after).violated


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("registers", ["load.duration_s=6.6", "load.rate_per_s=20"]),
        ("sets", ["load.duration_s=5.1", "load.rate_per_s=10"]),
        ("lock-race", ["workload.keys=40", "load.duration_s=1"]),
        ("counter-ids", ["load.duration_s=0.3"]),
    ],
)
def test_a_drawn_run_told_operation_by_operation_is_the_same_run(name: str, changes: list[str]) -> None:
    drawn = load_scenario(name, overrides=["arm=sim", *changes])
    told = explicit_accesses(drawn)
    assert problems(told) == []
    assert explicit_accesses(told) is told
    one, other = attempt(drawn), attempt(told)
    assert one.verdict.begun == other.verdict.begun == len(told.workload.operations) > 20
    assert one.tables.tables[VALUES_NAME].rows == other.tables.tables[VALUES_NAME].rows
    assert happened(one) == happened(other)
    # Operations in lockstep may be due after the end of a drawn load, which is then longer where they are told.
    assert (one.run.trace_hash == other.run.trace_hash) is (told.load.duration_s == drawn.load.duration_s)


def happened(trial: Trial) -> list[dict[str, object]]:
    """The events of the history; when an operation was meant to begin is left out: told ones begin when they did."""
    return [{**row, "intended_ns": None} for row in rows(trial.tables, OPERATIONS_NAME, OPERATIONS.names)]


DRAWN = {
    Anomaly.DIVERGENT: ("lockstep-writers", ["load.duration_s=0.2"], 2),
    Anomaly.DUPLICATE_NUMBER: ("counter-ids", ["load.duration_s=0.2"], 3),
    Anomaly.NO_OWNER: ("lock-race", ["load.duration_s=0.2"], 3),
    Anomaly.VANISHED: ("sets", ["level=DC_ONE", "load.duration_s=6", "load.rate_per_s=8"], 3),
}


@pytest.mark.parametrize("anomaly", DRAWN)
def test_what_the_cluster_itself_does_shrinks_until_nothing_can_be_left_out(anomaly: Anomaly) -> None:
    name, changes, operations_max = DRAWN[anomaly]
    assert_minimal(load_scenario(name, overrides=["arm=sim", *changes]), anomaly, operations_max=operations_max)


@pytest.mark.parametrize(("seed", "operations_max"), [(12, 2), (16, 3), (18, 5)])
def test_a_hunted_run_that_is_not_linearizable_shrinks_until_nothing_can_be_left_out(
    seed: int, operations_max: int
) -> None:
    hunted = HuntTarget(scenario=load_scenario("registers", overrides=["arm=sim"]), messages=100).run_of(seed)
    assert_minimal(hunted, Anomaly.NONLINEARIZABLE, operations_max=operations_max)


def assert_minimal(before: Scenario, anomaly: Anomaly, *, operations_max: int) -> None:
    shrunk = shrink_accesses(before, anomaly)
    after = shrunk.scenario
    assert not shrunk.bounded
    assert 0 < len(after.workload.operations) <= operations_max
    assert len(after.faults) <= 2
    assert after.links.lag.startswith(("0", "constant"))
    assert anomaly in attempt(after).violated
    assert not any(anomaly in attempt(part).violated for part in parts(after))
    assert shrink_accesses(after, anomaly).scenario.workload == after.workload


def test_an_anomaly_that_is_not_forbidden_is_forbidden_in_what_is_left() -> None:
    before = load_scenario("eval-pops-differ", overrides=["arm=sim", "workload.forbid=[divergent]"])
    after = shrink_accesses(before, Anomaly.LEFT_BEHIND).scenario
    assert after.workload.forbid == (Anomaly.DIVERGENT, Anomaly.LEFT_BEHIND)
    assert forbidding(after, Anomaly.LEFT_BEHIND) is after


def test_a_story_tells_what_clients_were_told_what_each_zone_answered_and_what_it_holds() -> None:
    after = shrink_accesses(
        load_scenario("error-but-applied", overrides=["arm=sim"]), Anomaly.APPLIED_IN_DOUBT
    ).scenario
    page = story(after, Anomaly.APPLIED_IN_DOUBT)
    moments = [
        "pause b begins",
        "write x …",
        "SET zonelab:register:0 x",
        "a to SET: OK",
        "write x: nobody knows (ERR Storage: Datastore refused connection)",
        "b, c to SET: ERR Storage: Datastore refused connection (may have been applied)",
        "At the end:",
    ]
    places = [page.index(moment) for moment in moments]
    assert places == sorted(places)
    for zone in "abc":
        assert f"- zone {zone} holds x" in page
    assert attempt(after).run.trace_hash in page
    assert len(page.splitlines()) < 40


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("lost", "got 'lost'; accepted for this scenario: nonlinearizable, "),
        ("odd", "got 'odd'; accepted for this scenario: nonlinearizable, "),
        (None, "the file tells of nothing"),
    ],
)
def test_a_class_that_the_clients_cannot_violate_is_refused(wanted: str | None, words: str) -> None:
    with pytest.raises(NotFailing, match=words):
        class_of(planted("set"), wanted)


def test_a_class_of_messages_is_taken_for_a_queue_and_an_anomaly_for_a_workload() -> None:
    queue = load_scenario("steady")
    assert class_of(queue, "lost") is MessageClass.LOST
    assert class_of(planted("set"), "lost_add") is Anomaly.LOST_ADD
    assert class_of(queue, "undecided") is MessageClass.UNDECIDED
    assert class_of(planted("set"), "undecided") is Anomaly.UNDECIDED
    with pytest.raises(NotFailing, match="got 'lost_add'; accepted for this scenario: lost, "):
        class_of(queue, "lost_add")


def test_the_command_line_hunts_shrinks_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def told(*arguments: str) -> dict[str, object]:
        assert run_cli([*arguments, "--json"]) == 1
        return json.loads(capsys.readouterr().out)

    hunted = told("hunt", "registers", "--runs", "6", "--messages", "100")
    assert (hunted["runs"], hunted["repeated"], hunted["broken"]) == (6, 1, {})
    path = hunted["groups"]["divergent"]["counterexample"]
    assert told("replay", path)["same"] is True
    shrunk = told("shrink", path, "--class", "divergent")
    assert (shrunk["class"], shrunk["bounded"]) == ("divergent", False)
    assert shrunk["operations"][1] <= 2
    assert "# divergent: " in Path(shrunk["story"]).read_text()
    assert told("replay", shrunk["scenario"])["same"] is True
    named = told("shrink", "two-writers", "--class", "divergent")
    assert named["scenario"] == "runs/two-writers/shrunk-divergent/shrunk.yaml"
    assert (named["operations"], named["faults"]) == ([5, 2], [0, 0])
    assert run_cli(["shrink", "two-writers"]) == 64
    assert run_cli(["shrink", "steady", "--class", "lost"]) == 64

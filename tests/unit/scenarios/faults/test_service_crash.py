"""Goal: a service of a queue is killed between two of its commands, or stopped in its own order, and replaced.
It stands still, and its commands are late, as those of other programs; hunts draw all of these.

Method: run the small queue of ``support.scenarios.moved_queue``, whose mover loses a message when it dies between
two certain commands, with the crash at every command of a stretch.
"""

from random import Random
from typing import Any

import pytest
from support.scenarios.fault_stage import rows
from support.scenarios.moved_queue import FACTORY
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.faults.programs import ServiceCrash
from zonelab.scenarios.run_files.tables import FAULTS_NAME, OPERATIONS_NAME
from zonelab.scenarios.spec.rules import problems

CRASH = {"kind": "service_crash", "zone": "a", "service": "mover", "at_s": 0.2, "for_s": 0.3}
MOVED: dict[str, Any] = {"queue": {"factory": FACTORY}, "topology": {"zones": ["a"]}, "level": "DC_ONE"}
LOAD = {"duration_s": 1, "rate_per_s": 60, "delay": "0"}
STRETCH = range(1, 13)
IN_HAND_NS = 100_000_000
"""Within it consumers have worked off what was ready when the mover ended."""


AT: dict[str, Any] = {name: CRASH[name] for name in ("zone", "service", "at_s", "for_s")}
PAUSE = {"kind": "program_pause", "program": "service", **AT}
CLOCK = {"kind": "clock", "offset_ms": -60_000, **AT}
DELAY = {"kind": "command_delay", "program": "service", "script": "writes", "late_ms": 300, **AT}


def lost_at(how: str, at_command: int | None) -> int:
    crash = {**CRASH, "how": how} | ({"at_command": at_command} if at_command else {})
    done, _, verdict = run_in_memory(small(**MOVED, load=LOAD, faults=[crash]))
    assert (done.record.error, done.record.drained) == (None, True)
    assert verdict.counts[MessageClass.STUCK] == 0
    return verdict.counts[MessageClass.LOST]


def test_killed_between_two_commands_it_loses_what_it_had_in_hand_and_stopped_at_the_same_instant_nothing() -> None:
    killed = {at_command: lost_at("kill", at_command) for at_command in STRETCH}
    assert set(killed.values()) == {0, 1}
    windows = [at_command for at_command, lost in killed.items() if lost]
    assert [lost_at("stop", at_command) for at_command in windows] == [0] * len(windows)


@pytest.mark.parametrize(
    "given",
    [{**CRASH, "how": "kill"}, {**CRASH, "how": "stop"}, PAUSE, DELAY, CLOCK],
    ids=["killed", "stopped", "standing still", "late", "behind"],
)
def test_nobody_moves_anything_until_the_fault_ends(given: dict[str, Any]) -> None:
    _, tables, verdict = run_in_memory(small(**MOVED, load=LOAD, faults=[given]))
    (fault,) = rows(tables, FAULTS_NAME)
    assert fault["fault"] == f"0:{given['kind']} mover-a"
    assert verdict.counts[MessageClass.LOST] <= (given.get("how") == "kill")
    acks = [row["invoke_ns"] for row in rows(tables, OPERATIONS_NAME) if (row["f"], row["type"]) == ("ack", "ok")]
    last_before_ns = fault["begin_ns"] + IN_HAND_NS
    assert not [time_ns for time_ns in acks if last_before_ns < time_ns < fault["end_ns"]]
    assert min(acks) < fault["begin_ns"]
    assert max(acks) > fault["end_ns"]


def test_one_that_does_not_come_to_its_command_lives_on() -> None:
    assert lost_at("kill", 100_000) == lost_at("stop", 100_000) == 0


@pytest.mark.parametrize(
    ("changes", "fault", "told"),
    [
        ({}, {}, "faults[0].kind: got 'service_crash'; accepted: any other kind: this queue has no services"),
        (MOVED, {"service": "x"}, "faults[0].service: got 'x'; accepted: a service of the queue (mover)"),
        (MOVED, {"zone": "q"}, "faults[0].zone: got 'q'; accepted: a zone of the topology (a)"),
        (MOVED, {"how": "hang"}, "faults[0].how: got 'hang'; accepted: kill, stop"),
    ],
)
def test_what_is_not_there_is_refused(changes: dict[str, Any], fault: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        small(**changes, faults=[{**CRASH, **fault}])
    assert told in str(refused.value)


@pytest.mark.parametrize("given", [PAUSE, DELAY])
@pytest.mark.parametrize(
    ("changes", "fault", "told"),
    [
        ({}, {}, "faults[0].service: got 'mover'; accepted: nothing: this queue has no services, which "),
        (MOVED, {"service": "x"}, "faults[0].service: got 'x'; accepted: a service of the queue (mover)"),
        (MOVED, {"service": None}, "faults[0].service: got None; accepted: a service of the queue (mover)"),
        (
            MOVED,
            {"program": "consumer"},
            "faults[0].service: got 'mover'; accepted: nothing, unless program is service",
        ),
    ],
)
def test_a_fault_of_a_service_that_is_not_there_is_refused(
    given: dict[str, Any], changes: dict[str, Any], fault: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        small(**changes, faults=[{**given, **fault}])
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "fault", "told"),
    [
        ({}, {}, "faults[0].service: got 'mover'; accepted: nothing: this queue has no services, which clock "),
        (MOVED, {"service": "x"}, "faults[0].service: got 'x'; accepted: a service of the queue (mover)"),
        (MOVED, {"consumer": 0}, "faults[0].service: got 'mover'; accepted: nothing beside consumer"),
    ],
)
def test_a_clock_of_a_service_that_is_not_there_is_refused(
    changes: dict[str, Any], fault: dict[str, Any], told: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        small(**changes, faults=[{**CLOCK, **fault}])
    assert told in str(refused.value)


def test_two_faults_of_one_service_are_not_drawn_together() -> None:
    with pytest.raises(ScenarioError) as refused:
        small(**MOVED, faults=[CRASH, PAUSE])
    assert "does not already hold service mover-a" in str(refused.value)


def test_hunts_draw_pauses_and_late_commands_of_services_where_consumers_crash_and_there_are_services() -> None:
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.2, "for_s": 0.3}
    runs = {
        name: [drawn(small(**changes, faults=[crash]), seed=seed, messages=10) for seed in range(40)]
        for name, changes in {"with": MOVED, "without": {}}.items()
    }
    targets = {name: {fault.target for run in drawn_runs for fault in run.faults} for name, drawn_runs in runs.items()}
    assert "mover-a" in targets["with"]
    assert not any(target.startswith("mover") for target in targets["without"])
    kinds = {fault.kind for run in runs["with"] for fault in run.faults if fault.target == "mover-a"}
    assert kinds == {"service_crash", "program_pause", "command_delay"}
    assert [problems(run) for run in runs["with"]] == [[]] * 40


def test_hunts_draw_it_for_a_queue_with_services_both_ways() -> None:
    base = small(**MOVED, faults=[CRASH])
    runs = [drawn(base, seed=seed, messages=10) for seed in range(40)]
    crashes = [fault for run in runs for fault in run.faults if isinstance(fault, ServiceCrash)]
    assert {fault.how for fault in crashes} == {"kill", "stop"}
    assert {None, 1, 2} <= {fault.at_command for fault in crashes}
    assert [problems(run) for run in runs] == [[]] * len(runs)
    assert crashes[0].drawn(base, Random(1)) == crashes[0].drawn(base, Random(1))


def test_a_stop_is_milder_than_a_kill() -> None:
    killed = small(**MOVED, faults=[{**CRASH, "at_command": 6}]).faults[0]
    assert list(killed.milder()) == [{"how": "stop"}, {"at_command": None}, {"at_command": 3}, {"at_command": 5}]
    assert set(CLASSES["service_crash"].extents(small(**MOVED))) == {"service", "at_command", "how"}

"""Goal: a hunt finds planted bugs, shows the same whoever runs it, survives Ctrl-C, and notices unequal repetitions.

Method: small scenarios hunted in this process, in several, and through the command line; the sound queue as control.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.own_queues.leased import HERE
from support.programs import HANGS_S
from support.scenarios.short_runs import scenario_file, zonelab_command
from support.scenarios.sim_runs import SMALL, small
from support.studies.planted import ALONE, CRASHES, PLANTED, RepairsNothing, ToldToRepair

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.proportions import proportion_interval
from zonelab.app.cli.main import run_cli
from zonelab.cluster.testbed import Testbed as Cluster
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.queues.catalogue import MakeQueue
from zonelab.scenarios.queues.dyno import DynoUnderTest
from zonelab.scenarios.queues.under_test import QueueUnderTest
from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.hunt.findings import run_hunt, sum_up
from zonelab.studies.hunt.seeds import SAME, TWICE, HuntTarget, hunt_seed
from zonelab.studies.many_runs.processes import Processes
from zonelab.studies.many_runs.state import RESULTS_NAME

SEEDS_MAX = 60
KILL = {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found_and_the_sound_queue_is_not_accused_of_it(bug: str) -> None:
    make_queue, guilty_of, changes = PLANTED[bug]
    target = HuntTarget(scenario=small(**changes), messages=40, make_queue=make_queue)
    found = next(seed for seed in range(1, SEEDS_MAX) if guilty_of in hunt_seed(target, seed).violated)
    sound = HuntTarget(scenario=target.scenario, messages=40)
    assert [seed for seed in range(1, found + 1) if guilty_of in hunt_seed(sound, seed).violated] == []


def test_a_queue_that_is_to_be_told_to_look_for_ended_leases_is_told_in_every_run_of_a_hunt() -> None:
    def violated(make_queue: MakeQueue) -> set[str]:
        target = HuntTarget(scenario=small(**ALONE, **CRASHES), messages=40, make_queue=make_queue)
        return {name for seed in range(1, 13) for name in hunt_seed(target, seed).violated}

    assert violated(ToldToRepair) == set()
    assert MessageClass.ABANDONED in violated(RepairsNothing)


@pytest.mark.parametrize(
    ("queue", "guilty_of"),
    [
        ("GrantsWhatHasEndedUnderTest", {MessageClass.CONCURRENT, MessageClass.RESURRECTED}),
        ("ForgetsExtensionsUnderTest", {MessageClass.CONCURRENT}),
        ("LeasedUnderTest", set()),
    ],
)
def test_a_hunt_of_a_queue_of_ones_own_extends_leases_in_time_and_late(
    queue: str, guilty_of: set[MessageClass]
) -> None:
    target = HuntTarget(scenario=small(topology={"zones": ["a"]}, queue={"factory": f"{HERE}:{queue}"}), messages=40)
    violated = {name for seed in range(1, 21) for name in hunt_seed(target, seed).violated}
    assert bool(violated) == bool(guilty_of)
    assert violated <= guilty_of


@pytest.mark.parametrize(("queue", "sound"), [("BadlyReapedUnderTest", False), ("ReapedUnderTest", True)])
def test_a_service_that_looks_and_ends_a_lease_in_two_commands_is_found(queue: str, sound: bool) -> None:
    """A third of the messages are acknowledged when their lease has just ended."""
    scenario = small(
        topology={"zones": ["a"]},
        queue={"factory": f"{HERE}:{queue}"},
        load={"duration_s": 2},
        consumers={"processing": "0.7*constant:2ms + 0.3*constant:480ms"},
        faults=[{"kind": "consumer_crash", "zone": "a", "at_s": 0.2, "for_s": 0.3}],
        drain={"bound_s": 20},
    )
    target = HuntTarget(scenario=scenario, messages=30)
    violated = {name for seed in range(1, 17) for name in hunt_seed(target, seed).violated}
    assert violated == (set() if sound else {MessageClass.RESURRECTED})


@pytest.mark.parametrize("zones", ["[a]", "[a, b]", "[x, y, z]"])
def test_faults_fit_themselves_to_the_zones_that_are_given_as_their_places_are_drawn(zones: str) -> None:
    override = f"topology.zones={zones}"
    for name, kind in (("consumer-crash", "consumer_crash"), ("zone-crash", "kill"), ("backlog", "consumer_crash")):
        with_zones = load_scenario(name, overrides=[override, "arm=sim"], draws_faults=True)
        assert problems(with_zones) == []
        assert kind in {fault.kind for fault in with_zones.faults}
        runs = [HuntTarget(scenario=with_zones, messages=10).run_of(seed) for seed in range(20)]
        assert {fault.zone for run in runs for fault in run.faults if fault.kind == kind} == set(with_zones.zones)
    assert problems(load_scenario("every-fault", overrides=[override], draws_faults=True)) == []


def test_a_run_whose_faults_are_not_drawn_does_not_move_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["run", "consumer-crash", "--on", "sim", "--set", "topology.zones=[a]"]) == 64
    assert "faults[0].zone: got 'b'; accepted: a zone of the topology (a)" in capsys.readouterr().err


def test_the_load_of_a_queue_whose_services_have_faults_lasts_until_leases_have_ended() -> None:
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.2, "for_s": 0.3}

    def lasting(load_s: float, factory: str) -> tuple[float, bool]:
        load = {"duration_s": load_s, "rate_per_s": 40}
        scenario = small(topology={"zones": ["a"]}, queue={"factory": f"{HERE}:{factory}"}, load=load, faults=[crash])
        drawn_load = HuntTarget(scenario=scenario, messages=20).run_of(1).load
        return drawn_load.duration_s, 5 <= len(drawn_load.operations or ()) <= 40

    assert lasting(4, "ReapedUnderTest") == (1.6, True)
    assert lasting(1, "ReapedUnderTest") == (1.0, True)
    assert lasting(4, "LeasedUnderTest") == (0.5, True)


def test_consumers_of_a_shipped_engine_extend_only_if_the_scenario_says_so() -> None:
    told = HuntTarget(scenario=small(consumers={"extend": 0.3}), messages=30)
    untold = HuntTarget(scenario=small(), messages=30)
    assert {target.run_of(seed).consumers.extend for target in (told,) for seed in range(9)} == {0.3}
    assert {untold.run_of(seed).consumers.extend for seed in range(9)} == {0.0}
    assert any(MessageClass.CONCURRENT in hunt_seed(told, seed).violated for seed in range(1, 21))


def test_producers_of_drawn_runs_try_again_as_often_as_those_of_the_scenario() -> None:
    target = HuntTarget(scenario=small(load={"retries": 4, "retry_after_ms": 30.0}), messages=30)
    assert {(run.load.retries, run.load.retry_after_ms) for run in map(target.run_of, range(20))} == {(4, 30.0)}


def test_two_processes_find_what_one_finds() -> None:
    target, seeds = HuntTarget(scenario=small(faults=[KILL]), messages=20), range(1, 13)
    hunted = {}
    for jobs in (1, 2):
        hunted[jobs] = target.experiment(seeds).run(workers=Processes(jobs))
    assert [seed for _, seed in hunted[1].results] == list(seeds)
    assert hunted[1] == hunted[2]


def test_a_hunt_goes_on_where_it_was_and_runs_a_seed_again_whose_line_was_cut(tmp_path: Path) -> None:
    target = HuntTarget(scenario=small(faults=[KILL]), messages=20)
    with target.experiment(()).state(tmp_path) as state:
        first = target.experiment(range(1, 5)).run(state=state)
    path = tmp_path / RESULTS_NAME
    path.write_bytes(path.read_bytes()[:-10])
    again: list[int] = []
    with target.experiment(()).state(tmp_path) as state:
        both = target.experiment(range(1, 7)).run(state=state, on_finished=lambda one: again.append(one.key[1]))
    assert again == [4, 5, 6]
    assert ({**both.results, **first.results}, both.known) == (both.results, 3)


def test_seeds_that_cannot_be_judged_are_no_evidence_and_the_exit_code_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a single expected message half of the runs push none, which is neither right nor wrong."""
    path = scenario_file(tmp_path, load={"duration_s": 1})
    monkeypatch.chdir(tmp_path)
    hunt_of_one = ["hunt", str(path), "--runs", "14", "--messages", "1"]
    assert run_cli([*hunt_of_one, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    judged = told["runs"] - told["unknown"]
    assert (told["failing"], told["runs"]) == (0, 14)
    assert 0 < judged < 14
    assert told["failure_rate"]["high"] == proportion_interval(0, judged).high
    assert run_cli(hunt_of_one) == 2
    assert f"{told['unknown']} runs had no verdict" in capsys.readouterr().out


CALLS: list[None] = []


class Moody(DynoUnderTest):
    """Every other run has one shard less."""

    def __init__(self, testbed: Cluster, scenario: Scenario) -> None:
        super().__init__(testbed, scenario)
        CALLS.append(None)
        if len(CALLS) % 2:
            self.shards = {zone: zone for zone in scenario.zones[:2]}

    async def consumer(self, zone, wrap):
        return await super().consumer("a", wrap)


def moody(testbed: Cluster, scenario: Scenario) -> QueueUnderTest:
    return Moody(testbed, scenario)


def test_a_run_that_is_not_the_same_twice_is_told_with_its_first_differing_event(tmp_path: Path) -> None:
    target = HuntTarget(scenario=small(), messages=10, make_queue=moody)
    hunted = target.experiment([1, 2]).run()
    first, second = hunted.results.values()
    assert (first.numbers[TWICE], SAME in first.numbers, TWICE in second.numbers) == (1, False, False)
    assert "in one run" in (first.problem or "")
    assert sum_up(target, hunted, tmp_path, command="").to_json()["broken"]["1"] == first.problem


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_prints_what_there_is_and_the_same_command_goes_on(tmp_path: Path, jobs: str) -> None:
    file = scenario_file(tmp_path, **{**SMALL, "name": "short"})
    command = ["hunt", str(file), "--messages", "20", "--jobs", jobs, "--json", "--runs"]
    hunting = subprocess.Popen(
        zonelab_command(*command, "100000"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline_s = time.monotonic() + HANGS_S
    while not any(len(path.read_bytes().splitlines()) > 1 for path in tmp_path.rglob(RESULTS_NAME)):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    hunting.send_signal(signal.SIGINT)
    out, err = hunting.communicate(timeout=HANGS_S)
    assert "Traceback" not in err
    told = json.loads(out)
    assert (hunting.returncode, told["complete"], told["failing"]) == (2, False, 0)
    assert told["runs"] >= 1
    resumed = json.loads(zonelab_here(*command, str(told["runs"] + 3), cwd=tmp_path).stdout)
    assert resumed["complete"]
    assert resumed["known"] >= 1
    assert resumed["runs"] == told["runs"] + 3


def test_the_progress_of_a_hunt_that_goes_on_counts_the_failures_from_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = HuntTarget(scenario=small(faults=[KILL]), messages=40)
    options = {"runs": tmp_path, "command": "zonelab hunt"}
    first = run_hunt(target, seeds=range(1, 7), **options)
    assert first.to_json()["failing"] > 0
    capsys.readouterr()
    both = run_hunt(target, seeds=range(1, 9), **options)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"small hunt: 8 of 8 runs, {both.to_json()['failing']} failed"
    both.print()
    told = capsys.readouterr().out
    assert "6 runs were reused from an earlier invocation." in told
    assert "zonelab shrink " in told


OF_FILES_THAT_HAVE_THEM = {"zone_outage", "flap", "consumer_slow", "disk_full"}
"""Kinds that a hunt draws from files that have them: ``every-fault`` has their parts, or what is like them."""


def test_a_hunt_draws_outages_flapping_links_slow_consumers_and_full_disks_of_a_file_that_has_them() -> None:
    given = [
        {"kind": "zone_outage", "zone": "b", "at_s": 0.5, "for_s": 0.4, "arrivals": "move"},
        {"kind": "flap", "link": "a:b", "down_s": 0.1, "up_s": 0.1, "at_s": 1.0, "for_s": 0.4},
        {"kind": "consumer_slow", "zone": "a", "at_s": 1.5, "for_s": 0.4},
        {"kind": "disk_full", "zone": "c", "at_s": 0.2, "for_s": 0.3},
    ]
    target = HuntTarget(scenario=load_scenario("every-fault", overrides=[f"faults={json.dumps(given)}"]), messages=20)
    runs = [target.run_of(seed) for seed in range(60)]
    assert [problems(run) for run in runs] == [[]] * len(runs)
    drawn = [fault for run in runs for fault in run.faults]
    assert {fault.kind for fault in drawn} >= OF_FILES_THAT_HAVE_THEM
    assert {fault.target for fault in drawn if fault.kind == "zone_outage"} == {"a", "b", "c"}


def test_a_hunt_draws_every_kind_of_fault_and_each_seed_leaves_some_out() -> None:
    scenario = load_scenario("every-fault")
    target = HuntTarget(scenario=scenario, messages=60)
    runs = [target.run_of(seed) for seed in range(300)]
    assert [problems(run) for run in runs] == [[]] * len(runs)
    kinds = [{fault.kind for fault in run.faults} for run in runs]
    assert {fault.kind for fault in scenario.faults} == {
        kind for kind, one in CLASSES.items() if not (one.of_services or one.of_groups or one.of_programs)
    } - OF_FILES_THAT_HAVE_THEM
    for kind in {fault.kind for fault in scenario.faults}:
        assert 20 < sum(kind in drawn for drawn in kinds) < 280, kind
    clocks = [fault for run in runs for fault in run.faults if fault.kind == "clock"]
    assert {fault.offset_ms > 0 for fault in clocks} == {True, False}
    assert len({fault.order for run in runs for fault in run.faults if fault.kind == "swizzle_clog"}) > 20
    assert len({run.simulation.tie_break for run in runs}) == 3
    assert len({run.links.lag for run in runs}) > 3
    assert {None, 1, 2, 3} <= {
        fault.at_command for run in runs for fault in run.faults if fault.kind == "consumer_crash"
    }
    assert target.run_of(3) == target.run_of(3)
    for run in runs[:30]:
        assert scenario_of(run.model_dump(mode="json", exclude_none=True), source="drawn") == run

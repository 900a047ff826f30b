"""Goal: every fault of the catalogue happens when and where it should, ends, and leaves the traces that it must.

Method: short runs on process zones; the fault table, the depth samples and the history are compared with the scenario.
"""

import json
from itertools import dropwhile
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from support.scenarios.moved_queue import FACTORY
from support.scenarios.short_runs import Ran, run_short

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.coordinators.coordinator import COORDINATOR_DOWN
from zonelab.scenarios.faults.catalogue import CLASSES

pytestmark = pytest.mark.real

LOAD = {"duration_s": 4, "rate_per_s": 25, "delay": "0"}
AT_S, FOR_S = 1.0, 1.5


def run_with(directory: Path, fault: dict[str, Any], **changes: Any) -> Ran:
    run = run_short(directory, load=LOAD, faults=[{**fault, "at_s": AT_S, "for_s": FOR_S}], **changes)
    assert (run.record.status, run.record.error) == ("complete", None)
    return run


def band(run: Ran) -> tuple[float, float]:
    """Begin and end of the only fault, in seconds from the start of the load."""
    (row,) = run.table("faults")
    begin_ns = run.json("run.json")["phases"]["load"][0]
    return (row["begin_ns"] - begin_ns) / 1e9, (row["end_ns"] - begin_ns) / 1e9


def outcomes(run: Ran, zone: str, f: str) -> set[str]:
    """How the operations ended that a fault of ``run_with`` must have met.

    Those that were invoked after its begin was noted and had ended when it was to end, however slow the machine was;
    from the first on that ended as the last of them did, since those before may have met it on its way.
    """
    begin_ns = run.json("run.json")["phases"]["load"][0]
    first, _ = band(run)
    ended = [row for row in run.table("operations") if (row["zone"], row["f"]) == (zone, f) and row["type"] != "invoke"]
    met = [
        row["type"]
        for row in sorted(ended, key=lambda row: row["invoke_ns"])
        if first < (row["invoke_ns"] - begin_ns) / 1e9 and (row["time_ns"] - begin_ns) / 1e9 < AT_S + FOR_S
    ]
    return set(dropwhile(lambda outcome: outcome != met[-1], met))


CATALOGUE = [
    ({"kind": "kill", "zone": "b", "at_s": 0.3, "for_s": 0.4}, "b"),
    ({"kind": "consumer_crash", "zone": "a", "at_s": 0.4, "for_s": 0.4}, "consumer-a-0"),
    ({"kind": "wipe", "zone": "c", "at_s": 1.2, "for_s": 0.3}, "c"),
    ({"kind": "pause", "zone": "a", "at_s": 2.0, "for_s": 0.3}, "a"),
    ({"kind": "lag", "lag": "constant:20ms", "link": "a>b", "at_s": 2.4, "for_s": 0.3}, "a>b"),
    ({"kind": "lag", "lag": "constant:20ms", "zone": "c", "at_s": 2.8, "for_s": 0.3}, "c"),
    ({"kind": "lag", "lag": "constant:20ms", "at_s": 3.2, "for_s": 0.3}, "all links"),
    ({"kind": "cut", "isolate": "b", "at_s": 3.6, "for_s": 0.3}, "b"),
    ({"kind": "cut", "halves": ["a"], "mode": "hold", "at_s": 4.0, "for_s": 0.3}, "a|rest"),
    ({"kind": "cut", "one_way": "a>b", "at_s": 4.4, "for_s": 0.3}, "a>b"),
    ({"kind": "clock", "zone": "a", "offset_ms": 50, "drift_ppm": 100, "at_s": 4.8, "for_s": 0.2}, "a"),
    ({"kind": "loss", "share": 0.01, "link": "a>b", "at_s": 5.1, "for_s": 0.2}, "a>b"),
    ({"kind": "duplicate", "share": 0.5, "after_ms": 5.0, "at_s": 5.4, "for_s": 0.2}, "all links"),
    ({"kind": "clog", "zone": "b", "at_s": 5.7, "for_s": 0.2}, "b"),
    ({"kind": "swizzle_clog", "at_s": 6.0, "for_s": 0.3}, "all links"),
    ({"kind": "producer_crash", "zone": "c", "at_s": 6.4, "for_s": 0.2}, "producer-c"),
    ({"kind": "coordinator_crash", "zone": "c", "at_s": 6.7, "for_s": 0.2}, "c"),
    ({"kind": "memory", "zone": "a", "at_s": 6.75, "for_s": 0.2}, "a"),
    ({"kind": "disk_full", "zone": "c", "at_s": 6.72, "for_s": 0.22}, "c"),
    ({"kind": "slow", "zone": "b", "factor": 10, "at_s": 6.75, "for_s": 0.2}, "b"),
]


def test_every_fault_is_recorded_with_its_name_its_times_and_its_colour(tmp_path: Path) -> None:
    faults = [fault for fault, _ in CATALOGUE]
    run = run_short(tmp_path, load={"duration_s": 7}, persistence="aof-everysec", faults=faults)
    assert (run.record.status, run.record.error) == ("complete", None)
    recorded = sorted(run.table("faults"), key=lambda row: int(row["fault"].partition(":")[0]))  # some end at once
    rows = {row["fault"]: row for row in recorded}
    assert list(rows) == [f"{index}:{fault['kind']} {target}" for index, (fault, target) in enumerate(CATALOGUE)]
    begin_ns = run.json("run.json")["phases"]["load"][0]
    for row, (fault, target) in zip(rows.values(), CATALOGUE, strict=True):
        assert (row["kind"], row["target"], row["colour"]) == (fault["kind"], target, CLASSES[fault["kind"]].colour)
        assert json.loads(row["detail"]).items() >= fault.items()
        assert fault["at_s"] <= (row["begin_ns"] - begin_ns) / 1e9
        assert fault["at_s"] + fault["for_s"] <= (row["end_ns"] - begin_ns) / 1e9


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_service_ends_and_another_takes_its_place(tmp_path: Path, how: str) -> None:
    crash = {"kind": "service_crash", "zone": "a", "service": "mover", "at_command": 2, "how": how}
    run = run_with(tmp_path, crash, queue={"factory": FACTORY}, topology={"zones": ["a"]}, level="DC_ONE")
    assert (run.record.status, run.record.error, run.record.drained) == ("complete", None, True)
    begin_ns = run.json("run.json")["phases"]["load"][0]
    operations = run.table("operations")
    acks = [(row["time_ns"] - begin_ns) / 1e9 for row in operations if (row["f"], row["type"]) == ("ack", "ok")]
    assert min(acks) < band(run)[0]
    assert max(acks) > band(run)[1]


KILLED: dict[str, Any] = {"level": "DC_QUORUM", "persistence": "aof-everysec"}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_with(tmp_path_factory.mktemp("killed"), {"kind": "kill", "zone": "b"}, **KILLED)


def test_a_killed_zone_serves_nobody_and_what_was_pushed_meanwhile_is_stuck_when_it_returns(killed: Ran) -> None:
    assert outcomes(killed, "b", "pop") == {"fail"}
    assert outcomes(killed, "a", "pop") == {"ok"}
    assert outcomes(killed, "a", "push") == outcomes(killed, "b", "push") == {"ok"}
    verdict = killed.check()
    assert verdict.valid is False
    assert verdict.counts[MessageClass.STUCK] > 0
    assert {name for name in verdict.forbid if verdict.counts[name]} == {"stuck"}


def test_a_zone_that_restarts_warm_has_what_it_missed(tmp_path: Path, killed: Ran) -> None:
    warm = run_with(tmp_path, {"kind": "kill", "zone": "b", "restart": "warm"}, **KILLED)
    assert warm.check().counts[MessageClass.STUCK] < killed.check().counts[MessageClass.STUCK]


def test_the_depth_of_a_paused_zone_is_unknown_and_known_again_afterwards(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "pause", "zone": "b"})
    begin_ns = run.json("run.json")["phases"]["load"][0]
    first, last = band(run)
    samples = [((row["time_ns"] - begin_ns) / 1e9, row) for row in run.table("depth")]
    inside = [row["waiting"] for time_s, row in samples if row["zone"] == "b" and first < time_s < AT_S + FOR_S]
    assert set(dropwhile(lambda waiting: waiting is not None, inside)) == {None}
    assert samples[-1][0] > last
    known = {row["zone"] for time_s, row in samples if first < time_s < AT_S + FOR_S and row["waiting"] is not None}
    assert known >= {"a", "c"}
    assert [row for time_s, row in samples if row["zone"] == "b" and time_s > last + 1][-1]["waiting"] is not None


def test_a_slow_zone_makes_its_own_clients_wait_and_serves_them_all(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "slow", "zone": "b", "factor": 20}, level="DC_ONE")
    assert outcomes(run, "b", "push") == {"ok"}
    begin_ns, (first, _) = run.json("run.json")["phases"]["load"][0], band(run)
    took_ms: dict[str, list[float]] = {"a": [], "b": []}
    for row in run.table("operations"):
        met = row["type"] != "invoke" and first < (row["invoke_ns"] - begin_ns) / 1e9 < AT_S + FOR_S
        if met and row["f"] == "push" and row["zone"] in took_ms:
            took_ms[row["zone"]].append((row["time_ns"] - row["invoke_ns"]) / 1e6)
    # Two commands, each of which meets a server that stands still for 95 ms of each 100: less if it is stopped late.
    # What a busy machine adds, it adds to both zones.
    assert median(took_ms["b"]) > median(took_ms["a"]) + 30
    assert run.check().valid is True


def test_a_zone_without_memory_confirms_no_push_at_dc_one_until_it_has_some(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "memory", "zone": "b"}, level="DC_ONE")
    assert outcomes(run, "b", "push") == {"info"}  # the other zones have it
    assert outcomes(run, "a", "push") == {"ok"}
    begin_ns, last_s = run.json("run.json")["phases"]["load"][0], band(run)[1]
    operations = run.table("operations")
    pushes = [row for row in operations if (row["zone"], row["f"]) == ("b", "push") and row["type"] != "invoke"]
    assert {row["type"] for row in pushes if (row["invoke_ns"] - begin_ns) / 1e9 > last_s} == {"ok"}


@pytest.mark.parametrize("persistence", ["aof-everysec", "aof-always"])
def test_a_zone_whose_disk_is_full_confirms_no_push_at_dc_one_until_there_is_room(
    tmp_path: Path, persistence: str
) -> None:
    run = run_with(tmp_path, {"kind": "disk_full", "zone": "b"}, level="DC_ONE", persistence=persistence)
    assert run.record.error is None
    assert "ok" not in outcomes(run, "b", "push")
    assert outcomes(run, "a", "push") == {"ok"}
    begin_ns, last_s = run.json("run.json")["phases"]["load"][0], band(run)[1]
    operations = run.table("operations")
    pushes = [row for row in operations if (row["zone"], row["f"]) == ("b", "push") and row["type"] != "invoke"]
    later = [row for row in pushes if (row["invoke_ns"] - begin_ns) / 1e9 > last_s]
    assert later[-1]["type"] == "ok"  # after a server that has ended coordinators connect again with their back-off


def test_a_cut_off_zone_cannot_confirm_at_a_quorum_level_but_can_at_dc_one(tmp_path: Path) -> None:
    cut = {"kind": "cut", "isolate": "b"}
    assert outcomes(run_with(tmp_path, cut, level="DC_QUORUM"), "b", "push") == {"info"}
    assert outcomes(run_with(tmp_path, cut, level="DC_ONE"), "b", "push") == {"ok"}


def test_a_one_way_cut_reaches_one_coordinator_only(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "cut", "one_way": "a>b"}, level="DC_QUORUM")
    failures = {zone: told["zone_failures"] for zone, told in run.json("run.json")["coordinators"].items()}
    assert "b" in failures["a"]
    assert failures["c"] == {}


def test_a_lag_slows_the_quorum_of_the_zone_that_has_it_and_ends_with_the_fault(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "lag", "lag": "constant:100ms", "zone": "b"}, level="DC_QUORUM")
    begin_ns = run.json("run.json")["phases"]["load"][0]
    first, last = band(run)
    latency_ms: dict[bool, list[float]] = {True: [], False: []}
    for row in run.table("operations"):
        if (row["zone"], row["f"], row["type"]) == ("b", "push", "ok"):
            invoked_s = (row["invoke_ns"] - begin_ns) / 1e9
            if first < invoked_s < last - 0.5 or invoked_s < first - 0.3:
                latency_ms[invoked_s > first].append((row["time_ns"] - row["invoke_ns"]) / 1e6)
    # Two quorum writes per push, each of which now waits for one way there and one back.
    assert min(latency_ms[True]) >= 400
    assert min(latency_ms[False]) < 400


def held_by(run: Ran, *processes: str) -> set[str]:
    """Messages that consumers had got and did not begin to acknowledge."""
    rows = [row for row in run.table("operations") if row["process"] in processes and row["message_id"]]
    got = {row["message_id"] for row in rows if (row["f"], row["type"]) == ("pop", "ok")}
    return got - {row["message_id"] for row in rows if row["f"] == "ack"}


def test_crashed_consumers_are_followed_by_others_and_nothing_is_abandoned(tmp_path: Path) -> None:
    held: set[str] = set()
    for attempt in ("first", "second", "third"):  # on a machine that stood still they may hold nothing as they die
        (folder := tmp_path / attempt).mkdir()
        run = run_with(
            folder,
            {"kind": "consumer_crash", "zone": "b", "consumer": "all"},
            consumers={"per_zone": 2, "processing": "constant:100ms"},
            queue={"unack_ms": 3000, "unack_interval_ms": 200},
        )
        if held := held_by(run, "consumer-b-0", "consumer-b-1"):
            break
    processes = {row["process"] for row in run.table("operations")}
    assert {name for name in processes if name.startswith("consumer-b")} == {
        "consumer-b-0",
        "consumer-b-1",
        "consumer-b-0.2",
        "consumer-b-1.2",
    }
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert verdict.counts[MessageClass.REDELIVERED] >= len(held) > 0


def test_a_coordinator_that_crashed_refuses_its_clients_and_no_others(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "coordinator_crash", "zone": "b"}, level="DC_QUORUM")
    assert outcomes(run, "b", "push") == outcomes(run, "b", "pop") == {"fail"}
    assert outcomes(run, "a", "push") == {"ok"}
    errors = {row["error"] for row in run.table("operations") if row["zone"] == "b" and row["error"]}
    assert COORDINATOR_DOWN in errors


def test_with_a_client_policy_its_programs_go_on_through_other_zones(tmp_path: Path) -> None:
    policy = {"failover": True, "retries": 1, "connections": 1}
    run = run_with(tmp_path, {"kind": "coordinator_crash", "zone": "b"}, level="DC_QUORUM", clients=policy)
    assert outcomes(run, "b", "push") == {"ok"}
    told = run.json("run.json")["clients"]
    assert told["producer-b"]["fail_overs"] == 1
    assert told["producer-b"]["elsewhere"] > 0
    assert not any(told["producer-a"].values())


def test_a_producer_that_crashed_pushes_nothing_and_another_takes_its_place(tmp_path: Path) -> None:
    run = run_with(tmp_path, {"kind": "producer_crash", "zone": "b"})
    assert outcomes(run, "b", "push") <= {"info"}, "but for the push in which it ended, if it had begun one"
    pushed = {row["process"] for row in run.table("operations") if row["f"] == "push"}
    assert pushed == {"producer-a", "producer-b", "producer-b.2", "producer-c"}


def test_a_clock_that_is_ahead_delivers_before_the_time(tmp_path: Path) -> None:
    load = {"duration_s": 4, "rate_per_s": 25, "delay": "constant:3s"}
    fault = {"kind": "clock", "zone": "b", "offset_ms": 2_900, "at_s": 0.5, "for_s": 3.4}
    run = run_short(tmp_path, load=load, faults=[fault])
    assert (run.record.status, run.record.error) == ("complete", None)
    assert run.check().counts[MessageClass.EARLY] > 0  # a busy machine is late, but not by so much

"""Goal: every fault does to the cluster what its name says, and undoes it; what it breaks is seen, and nothing else is.

Method: the actions of one fault on a simulated cluster, begun and ended by hand; then short runs in virtual time beside
the same run without the fault, or with a milder one.
"""

import json
from functools import partial
from typing import Any

import pytest
from support.scenarios.fault_stage import LOAD, MS, ZONES, Stage, latencies_ms, ran, rows, violated
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.coordinators.coordinator import COORDINATOR_DIED, COORDINATOR_DOWN
from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import ZoneState
from zonelab.scenarios.clients.recorder import PRODUCER_CRASHED
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.run_files.tables import FAULTS_NAME

BACKLOG = {**LOAD, "delay": "constant:700ms"}
ALONE = {"topology": {"zones": ["a"]}, "level": "DC_ONE"}
CATALOGUE: list[tuple[dict[str, Any], str]] = [
    ({"kind": "power_failure", "zone": "b", "torn": True, "for_s": 0.05}, "b"),
    ({"kind": "slow", "zone": "c", "factor": 20.0}, "c"),
    ({"kind": "clock", "zone": "a", "offset_ms": -50, "drift_ppm": 200}, "a"),
    ({"kind": "clock_freeze", "zone": "b"}, "b"),
    ({"kind": "loss", "link": "a>b", "share": 0.2}, "a>b"),
    ({"kind": "duplicate", "share": 0.2, "after_ms": 3}, "all links"),
    ({"kind": "memory", "zone": "a"}, "a"),
    ({"kind": "disk_full", "zone": "a"}, "a"),
    ({"kind": "clog", "zone": "c"}, "c"),
    ({"kind": "swizzle_clog", "order": 3}, "all links"),
    ({"kind": "producer_crash", "zone": "b", "at_command": 4}, "producer-b"),
    ({"kind": "coordinator_crash", "zone": "b"}, "b"),
]


def test_every_fault_of_a_run_is_recorded_with_its_name_its_times_and_its_colour() -> None:
    faults = [{"for_s": 0.1, "at_s": round(0.18 * index, 2), **fault} for index, (fault, _) in enumerate(CATALOGUE)]
    done, tables, _ = run_in_memory(small(load={**LOAD, "duration_s": 2.2}, persistence="aof-no", faults=faults))
    assert (done.record.status, done.record.error) == ("complete", None)
    begin_ns = done.record.phases["load"][0]
    for index, (row, fault, (_, target)) in enumerate(zip(rows(tables, FAULTS_NAME), faults, CATALOGUE, strict=True)):
        assert (row["fault"], row["kind"]) == (f"{index}:{fault['kind']} {target}", fault["kind"])
        assert row["colour"] == CLASSES[fault["kind"]].colour
        assert json.loads(row["detail"]).items() >= fault.items()
        assert row["begin_ns"] - begin_ns == pytest.approx(fault["at_s"] * 1e9)
        assert row["end_ns"] - begin_ns >= (fault["at_s"] + fault["for_s"]) * 1e9 - 1


def test_every_kind_has_a_colour_of_its_own() -> None:
    assert len({one.colour for one in CLASSES.values()}) == len(CLASSES)


def test_a_fault_that_begins_when_another_ends_waits_until_the_server_is_back() -> None:
    pair = [
        {"kind": "kill", "zone": "a", "at_s": 0.2, "for_s": 0.1},
        {"kind": "kill", "zone": "a", "at_s": 0.3, "for_s": 0.1},
    ]
    for seed in range(5):
        done, tables, _ = run_in_memory(small(seed=seed, faults=pair))
        assert (done.record.status, done.record.error) == ("complete", None)
        first, second = rows(tables, FAULTS_NAME)
        assert first["end_ns"] <= second["begin_ns"] < second["end_ns"]


class TestDiskFull:
    WORDS = "MISCONF Errors writing to the AOF file: No space left on device"

    def run_with(self, **changes: Any) -> tuple[list[dict[str, Any]], Verdict]:
        full = {"kind": "disk_full", "zone": "b", "at_s": 0.5, "for_s": 1}
        return ran(load={"duration_s": 2.5, "rate_per_s": 60}, level="DC_ONE", faults=[full], **changes)

    def outcomes(self, operations: list[dict[str, Any]], zone: str, from_s: float, to_s: float) -> set[str]:
        begin_ns = min(row["intended_ns"] for row in operations if row["intended_ns"] is not None)
        pushes = [row for row in operations if (row["f"], row["zone"]) == ("push", zone) and row["type"] != "invoke"]
        return {row["type"] for row in pushes if from_s < (row["invoke_ns"] - begin_ns) / 1e9 < to_s}

    def test_one_write_is_confirmed_and_the_next_refused_until_there_is_room(self) -> None:
        stage = Stage(kind="disk_full", zone="a")
        ask = partial(self.ask, stage)
        stage.begin()
        assert stage.cluster.zones["a"].state is ZoneState.RUNNING
        assert ask("SET", "k", "v") == b"OK"
        assert [str(ask("SET", "k", "w")), ask("GET", "k")] == [self.WORDS, b"v"]
        stage.end()
        assert [ask("SET", "k", "w"), ask("GET", "k")] == [b"OK", b"w"]

    def test_its_producer_confirms_nothing_and_others_do(self) -> None:
        operations, _ = self.run_with(persistence="aof-everysec")
        assert self.outcomes(operations, "b", 0.7, 1.4) == {"info"}  # the other zones have it
        assert self.outcomes(operations, "a", 0.7, 1.4) == self.outcomes(operations, "b", 1.7, 2.5) == {"ok"}

    def test_a_server_that_flushes_each_write_ends_and_is_started_again(self) -> None:
        stage = Stage(kind="disk_full", zone="a", persistence="aof-always")
        stage.write("b")
        stage.begin()
        stage.write("b")
        stage.pass_ms(100)
        assert stage.cluster.zones["a"].state is ZoneState.DEAD
        stage.end()
        assert stage.cluster.zones["a"].state is ZoneState.RUNNING
        operations, _ = self.run_with(persistence="aof-always")
        assert "ok" not in self.outcomes(operations, "b", 0.7, 1.4)
        assert self.outcomes(operations, "a", 0.7, 1.4) == {"ok"}

    def test_servers_without_files_cannot_have_it(self) -> None:
        with pytest.raises(ScenarioError, match=r"persistence: got 'none'; accepted: any that writes files"):
            small(persistence="none", faults=[{"kind": "disk_full", "zone": "b", "at_s": 0.5, "for_s": 1}])

    @staticmethod
    def ask(stage: Stage, *command: str) -> Any:
        return stage.runtime.run_until_complete(stage.cluster.direct("a").execute(command))[0]


class TestPowerFailure:
    @pytest.mark.parametrize(("torn", "left"), [(False, {None}), (True, {None, b"v"})])
    def test_the_zone_is_dead_and_comes_back_without_what_was_not_flushed(self, torn: bool, left: set[Any]) -> None:
        stage = Stage(kind="power_failure", zone="a", torn=torn)
        zone = stage.cluster.zones["a"]
        stage.write()
        stage.begin()
        assert zone.state is ZoneState.DEAD
        stage.end()
        assert zone.state is ZoneState.RUNNING
        stage.pass_ms(1_000)
        there, elsewhere = (
            stage.runtime.run_until_complete(stage.cluster.direct(name).execute(("GET", "k"))) for name in "ab"
        )
        assert set(there) <= left
        assert elsewhere == [b"v"]

    def test_without_flushes_acknowledged_messages_are_lost_and_with_one_for_each_write_none(self) -> None:
        fault = {"zone": "a", "at_s": 1, "for_s": 0.05}

        def lost(kind: str, persistence: str) -> int:
            _, verdict = ran(persistence=persistence, load=BACKLOG, faults=[{**fault, "kind": kind}], **ALONE)
            return verdict.counts[MessageClass.LOST]

        assert lost("power_failure", "aof-no") > 10
        assert lost("power_failure", "aof-always") == 0
        assert lost("kill", "aof-no") == 0

    def test_a_torn_file_keeps_a_part_and_what_was_acknowledged_comes_back(self) -> None:
        fault = {"kind": "power_failure", "torn": True, "zone": "a", "at_s": 1, "for_s": 0.05}
        _, verdict = ran(persistence="aof-no", load=BACKLOG, faults=[fault], **ALONE)
        assert violated(verdict) == {MessageClass.LOST, MessageClass.RESURRECTED}


class TestSlow:
    def test_a_command_takes_so_many_times_as_long_and_then_as_long_as_before(self) -> None:
        stage = Stage(kind="slow", zone="a", factor=400.0)

        def write_ms() -> float:
            begin_ns = stage.runtime.now_ns()
            stage.write()
            return (stage.runtime.now_ns() - begin_ns) / MS

        before_ms = write_ms()
        stage.begin()
        assert write_ms() - before_ms == pytest.approx(399 * 0.005)
        stage.end()
        assert write_ms() == before_ms

    def test_the_clients_of_the_slow_zone_wait(self) -> None:
        fault = {"kind": "slow", "zone": "b", "factor": 400.0, "at_s": 0, "for_s": 1.9}
        slow, verdict = ran(load=LOAD, level="DC_ONE", faults=[fault])
        assert violated(verdict) == set()
        assert latencies_ms(slow, "push", "b")[len(latencies_ms(slow, "push", "b")) // 2] > 4
        assert latencies_ms(slow, "push", "a")[len(latencies_ms(slow, "push", "a")) // 2] < 1


class TestClock:
    def test_it_jumps_drifts_and_is_right_again(self) -> None:
        stage = Stage(kind="clock", zone="a", offset_ms=-70, drift_ppm=1_000)
        clock = stage.cluster.clock("a")
        stage.begin()
        assert clock.offset_ns == -70 * MS
        stage.pass_ms(1_000)
        assert clock.offset_ns == -69 * MS
        assert stage.cluster.clock("b").offset_ns == 0
        stage.end()
        stage.pass_ms(1_000)
        assert clock.offset_ns == 0

    def test_frozen_it_stands_still_and_then_jumps_to_true_time(self) -> None:
        stage = Stage(kind="clock_freeze", zone="a")
        clock, true_clock = stage.cluster.clock("a"), stage.cluster.clock("b")
        stage.pass_ms(100)
        stage.begin()
        frozen_ns = true_clock.now_ns()
        for _ in range(3):
            stage.pass_ms(333)
            assert clock.now_ns() == frozen_ns
        assert true_clock.now_ns() == frozen_ns + 999 * MS
        stage.end()
        stage.pass_ms(1)
        assert clock.now_ns() == true_clock.now_ns()

    @pytest.mark.parametrize("wrong", [{"offset_ms": 1_000}, {"offset_ms": 300, "drift_ppm": 400_000}])
    def test_a_clock_that_jumps_ahead_ends_leases_that_hold(self, wrong: dict[str, int]) -> None:
        work = {"processing": "constant:300ms", "per_zone": 10, "batch": 1}
        fault = {"kind": "clock", "zone": "b", "at_s": 0.5, "for_s": 1, **wrong}
        _, right = ran(load={"duration_s": 2, "rate_per_s": 15}, consumers=work)
        _, verdict = ran(load={"duration_s": 2, "rate_per_s": 15}, consumers=work, faults=[fault])
        assert violated(right) == set()
        assert verdict.counts[MessageClass.CONCURRENT] > 0

    @pytest.mark.parametrize(
        "wrong", [{"offset_ms": 1_000}, {"offset_ms": -300}, {"drift_ppm": 500_000}, {"kind": "clock_freeze"}]
    )
    def test_delays_are_cut_short_by_consumers_that_are_ahead_and_producers_that_are_behind(
        self, wrong: dict[str, Any]
    ) -> None:
        fault = {"kind": "clock", "zone": "b", "at_s": 0.5, "for_s": 1, **wrong}
        _, verdict = ran(load={**LOAD, "delay": "constant:300ms"}, faults=[fault])
        assert verdict.counts[MessageClass.EARLY] > 5

    def test_the_history_tells_true_times(self) -> None:
        fault = {"kind": "clock", "zone": "b", "at_s": 0.3, "for_s": 1.5, "offset_ms": 60_000}
        operations, _ = ran(load=LOAD, level="DC_ONE", faults=[fault])
        epoch_ms = 1_700_000_000_000
        leases = [row for row in operations if row["f"] == "pop" and row["lease_end_ms"]]
        assert len(leases) > 100
        for row in leases:
            begin_ms, end_ms = row["invoke_ns"] / MS + epoch_ms, row["time_ns"] / MS + epoch_ms
            assert begin_ms - 1 <= row["lease_start_ms"] <= row["leased_ms"] <= end_ms + 1
            assert row["lease_end_ms"] - row["leased_ms"] <= 400


class TestProducerCrash:
    def test_open_pushes_are_unknown_and_nobody_pushes_until_another_takes_its_place(self) -> None:
        fault = {"kind": "producer_crash", "zone": "b", "at_s": 0.5, "for_s": 0.5}
        lag = {"lag": "constant:30ms"}
        operations, verdict = ran(load={"duration_s": 2, "rate_per_s": {"b": 40}}, links=lag, faults=[fault])
        begun = [row for row in operations if row["f"] == "push" and row["type"] == "invoke" and row["zone"] == "b"]
        unknown = [row for row in operations if row["f"] == "push" and row["error"] == PRODUCER_CRASHED]
        assert {row["process"] for row in begun} == {"producer-b", "producer-b.2"}
        last_ns = max(row["time_ns"] for row in begun if row["process"] == "producer-b")
        first_ns = min(row["time_ns"] for row in begun if row["process"] == "producer-b.2")
        assert 400 * MS < first_ns - last_ns < 700 * MS
        assert unknown
        assert {(row["zone"], row["type"]) for row in unknown} == {("b", "info")}
        assert violated(verdict) == set()

    def test_before_its_second_command_it_leaves_a_payload_that_no_zone_lists(self) -> None:
        fault = {"kind": "producer_crash", "zone": "b", "at_s": 0.5, "for_s": 0.5, "at_command": 2}
        operations, verdict = ran(load={"duration_s": 2, "rate_per_s": {"b": 10}}, faults=[fault])
        assert sum(row["error"] == PRODUCER_CRASHED for row in operations) == 1
        assert verdict.counts[MessageClass.ORPHAN] == 3  # one in every zone
        assert violated(verdict) == set()

    def test_a_producer_that_does_not_come_to_the_command_of_its_crash_lives_on(self) -> None:
        fault = {"kind": "producer_crash", "zone": "b", "at_s": 0.5, "for_s": 0.5, "at_command": 10_000}
        operations, _ = ran(load=LOAD, faults=[fault])
        assert {row["process"] for row in operations if row["f"] == "push" and row["zone"] == "b"} == {"producer-b"}
        assert not any(row["error"] == PRODUCER_CRASHED for row in operations)


class TestCoordinatorCrash:
    def test_its_links_are_reset_and_it_serves_again_once_it_is_replaced(self) -> None:
        stage = Stage(kind="coordinator_crash", zone="b")
        stage.begin()
        assert stage.cut_links() == ["a>b", "b>a", "b>c", "c>b"]
        assert {link.cut_mode for link in stage.cluster.links.values() if link.cut_mode} == {Cut.DROP}
        assert [name for name, each in stage.cluster.coordinators.items() if each.connected] == []
        stage.write("a")
        stage.end()
        assert stage.cut_links() == []
        stage.pass_ms(2_000)
        assert [name for name, each in stage.cluster.coordinators.items() if each.connected] == list(ZONES)
        stage.write("b")

    @pytest.mark.parametrize("level", ["DC_QUORUM", "DC_SAFE_QUORUM"])
    def test_what_was_sent_is_unknown_and_then_nobody_is_served(self, level: str) -> None:
        fault = {"kind": "coordinator_crash", "zone": "b", "at_s": 0.5, "for_s": 0.5}
        operations, _ = ran(load=LOAD, links={"lag": "constant:20ms"}, level=level, faults=[fault])
        told = [row for row in operations if row["error"] in (COORDINATOR_DIED, COORDINATOR_DOWN)]
        found = {(row["f"], row["type"], row["error"]) for row in told}
        assert {row["zone"] for row in told} == {"b"}
        assert ("push", "info", COORDINATOR_DIED) in found
        assert ("push", "fail", COORDINATOR_DOWN) in found
        assert ("push", "fail", COORDINATOR_DIED) not in found

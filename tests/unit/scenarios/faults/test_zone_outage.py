"""Goal: all of a zone fails at once and comes back; links flap; a slow consumer works slowly; and nothing else happens.

Method: one fault on a simulated cluster, begun and ended by hand; short runs in virtual time with and without it.
"""

from typing import Any

import pytest
from support.scenarios.fault_stage import LOAD, Stage, latencies_ms, ran, violated
from support.scenarios.sim_runs import small

from zonelab.scenarios.clients.recorder import PRODUCER_CRASHED
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.faults import outages

OUT = {"kind": "zone_outage", "zone": "b", "at_s": 0.5, "for_s": 0.8}
HARDENED = {"mode": "hardened", "unack_ms": 400, "unack_interval_ms": 100}


def acts(operations: list[dict[str, Any]], *, first_s: float, last_s: float) -> set[str]:
    """The zones whose programs began anything within these times of the run's first push."""
    begun = [row for row in operations if row["type"] == "invoke"]
    zero_ns = min(row["time_ns"] for row in begun if row["f"] == "push")
    return {row["zone"] for row in begun if first_s <= (row["time_ns"] - zero_ns) / 1e9 < last_s}


def pushed(operations: list[dict[str, Any]]) -> dict[str, int]:
    """Messages by the zone in whose plan they were."""
    begun = [row for row in operations if row["f"] == "push" and row["type"] == "invoke"]
    return {zone: sum(str(row["message_id"]).startswith(f"{zone}-") for row in begun) for zone in "abc"}


class TestZoneOutage:
    def test_server_coordinator_links_and_programs_of_the_zone_are_gone_and_come_back(self) -> None:
        operations, verdict = ran(load={"duration_s": 2, "rate_per_s": 40}, queue=HARDENED, faults=[OUT])
        assert acts(operations, first_s=0.6, last_s=1.2) == {"a", "c"}
        assert acts(operations, first_s=1.5, last_s=2.5) == {"a", "b", "c"}
        assert violated(verdict) == set()
        later = {row["process"] for row in operations if row["zone"] == "b" and row["process"].endswith(".2")}
        assert "producer-b.2" in later
        assert len([name for name in later if name.startswith("consumer-b-")]) == small().consumers.per_zone

    def test_arrivals_stop_or_move_to_living_zones_in_proportion(self) -> None:
        rates = {"duration_s": 2, "rate_per_s": {"a": 20, "b": 60, "c": 60}}
        calm, _ = ran(load=rates, queue=HARDENED)
        stopped, _ = ran(load=rates, queue=HARDENED, faults=[OUT])
        moved, verdict = ran(load=rates, queue=HARDENED, faults=[{**OUT, "arrivals": "move"}])
        assert pushed(stopped)["b"] < 0.8 * pushed(calm)["b"]
        assert pushed(moved) == pushed(calm)
        taken = [row["zone"] for row in moved if row["type"] == "invoke" and str(row["message_id"]).startswith("b-")
                 and row["f"] == "push" and row["zone"] != "b"]  # fmt: skip
        assert 1.8 < taken.count("c") / taken.count("a") < 5
        assert not any(row["error"] == PRODUCER_CRASHED for row in moved if row["zone"] != "b")
        assert violated(verdict) == set()

    def test_an_outage_that_spares_the_programs_would_be_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = outages.ZoneOutage._parts
        monkeypatch.setattr(
            outages.ZoneOutage, "_parts", lambda *of: (part for part in whole(*of) if not part.of_clients)
        )
        operations, _ = ran(load=LOAD, queue=HARDENED, faults=[OUT])
        assert "b" in acts(operations, first_s=0.6, last_s=1.2)

    @pytest.mark.parametrize(
        ("beside", "told"),
        [
            ({"kind": "kill", "zone": "b"}, "does not already hold zone b"),
            ({"kind": "cut", "link": "a:b"}, "does not already hold cut of a>b, cut of b>a"),
            ({"kind": "consumer_crash", "zone": "b"}, "does not already hold consumer b-0"),
        ],
    )
    def test_nothing_else_can_hit_what_is_out(self, beside: dict[str, Any], told: str) -> None:
        with pytest.raises(ScenarioError, match=told):
            small(load=LOAD, faults=[OUT, {"at_s": 0.6, "for_s": 0.1, **beside}])

    def test_arrivals_of_one_program_in_order_do_not_move(self) -> None:
        with pytest.raises(ScenarioError, match=r"faults\[0\].arrivals: got 'move'; accepted: stop"):
            small(queue={"engine": "fifo"}, faults=[{**OUT, "arrivals": "move"}])


class TestFlap:
    def test_links_go_down_and_up_in_turn_and_are_whole_at_the_end(self) -> None:
        stage = Stage(kind="flap", link="a:b", down_s=0.1, up_s=0.2)
        stage.begin()
        seen = []
        for _ in range(7):
            stage.pass_ms(50)
            seen.append(stage.cut_links())
            stage.pass_ms(50)
        down, up = ["a>b", "b>a"], []
        assert seen == [down, up, up, down, up, up, down]
        stage.end()
        assert stage.cut_links() == []
        stage.pass_ms(1_000)
        assert stage.cut_links() == []


class TestConsumerSlow:
    def test_its_work_takes_so_many_times_as_long_until_the_end(self) -> None:
        work = {"per_zone": 1, "batch": 1, "wait_ms": 100, "processing": "constant:10ms"}
        slow = {"kind": "consumer_slow", "zone": "b", "factor": 20.0, "at_s": 0.3, "for_s": 1}
        load = {"duration_s": 2, "rate_per_s": 10}
        worked_ms = {}
        for name, faults in (("calm", []), ("slow", [slow])):
            operations, verdict = ran(load=load, consumers=work, faults=faults)
            assert violated(verdict) == set()
            worked_ms[name] = latencies_between(operations, "b")
        assert max(worked_ms["calm"]) < 15
        assert max(worked_ms["slow"]) >= 200
        assert worked_ms["slow"][-1] < 15, "after it the work is as it was"
        assert latencies_ms(operations, "push", "b")


def latencies_between(operations: list[dict[str, Any]], zone: str) -> list[float]:
    """From the end of each pop that delivered to the begin of the next ack, in ms, in order."""
    found, popped_ns = [], None
    for row in sorted((row for row in operations if row["zone"] == zone), key=lambda row: row["time_ns"]):
        if row["f"] == "pop" and row["type"] == "ok" and row["message_id"] is not None:
            popped_ns = row["time_ns"]
        elif row["f"] == "ack" and row["type"] == "invoke" and popped_ns is not None:
            found.append((row["time_ns"] - popped_ns) / 1e6)
            popped_ns = None
    return found

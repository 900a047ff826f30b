"""Goal: a program of the user's own is hit at exactly the command that a scenario names, and nothing else is.

Method: ports of three process zones and raw sockets, for what the servers hold then; small guests through the runner.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.scenarios.short_runs import Ran, ran

from zonelab.cluster.real.cluster import RealSettings
from zonelab.cluster.real.zones import zones
from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.resp.programs.point import CommandPoint, Moment
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.spec.reading import scenario_of

pytestmark = pytest.mark.real

GUESTS = Path(__file__).parents[2] / "support" / "guests"
PUSH = [sys.executable, str(GUESTS / "sound_queue.py"), "push", "{url}", "40"]
WORK = [sys.executable, str(GUESTS / "sound_queue.py"), "work", "{url}"]
TAKE = "EVAL *ZRANGEBYSCORE* 2 due"


@asynccontextmanager
async def ported(level: Level) -> AsyncIterator[PortedCluster]:
    three = zones("process", ["a", "b", "c"])
    async with PortedCluster(three, RealSettings(seed=1), setting=level) as cluster:
        yield cluster


@pytest.mark.parametrize("level", [Level.DC_ONE, Level.DC_QUORUM])
@pytest.mark.parametrize("when", list(Moment))
def test_what_zones_hold_when_a_program_is_held(when: Moment, level: Level) -> None:
    async def held() -> tuple[list[Any], bytes]:
        async with ported(level) as cluster:
            address = await cluster.add_program("b", "worker-b-0")
            program = cluster.ports["b"].program("worker-b-0")
            reader, writer = await asyncio.open_connection(address.host, address.port)
            writer.write(wire.command(b"SET", b"k", b"old"))
            assert await reader.readexactly(5) == b"+OK\r\n"
            hold = program.arm(CommandPoint(at="SET k new", when=when))
            writer.write(wire.command(b"SET", b"k", b"new"))
            async with asyncio.timeout(30):
                await hold.reached.wait()
            values = [await cluster.direct(zone).execute(("GET", "k")) for zone in "abc"]
            program.hit()
            try:
                answered = await reader.read()
            except ConnectionResetError:
                answered = b"" if when is not Moment.REPLIED else b"reset"
            again = [await cluster.direct(zone).execute(("GET", "k")) for zone in "abc"]
            assert values == again
            writer.close()
            return [value for (value,) in values], answered

    new = b"old" if when is Moment.BEFORE else b"new"
    values, answered = asyncio.run(held())
    assert values == [new] * 3
    assert answered in ((b"+OK\r\n", b"reset") if when is Moment.REPLIED else (b"",))


def ran_with(tmp_path: Path, fault: dict[str, Any], **programs: Any) -> Ran:
    given: dict[str, Any] = {
        "name": "own",
        "level": "DC_QUORUM",
        "load": {"duration_s": 60},
        "programs": programs
        or {
            "producer": {"command": PUSH, "ends": True, "zone": "a"},
            "worker": {"command": WORK, "zone": "b", "count": 2, "record_commands": True},
        },
        "drain": {"bound_s": 90, "quiet_s": 6},
        "faults": [{"kind": "program_kill", "program": "worker", "at_s": 0.05, "for_s": 4, **fault}],
    }
    return ran(scenario_of(given, source="own"), tmp_path / "runs")


@pytest.mark.parametrize("when", ["applied", "replied"])
def test_a_worker_that_dies_over_its_third_job_is_started_again(tmp_path: Path, when: str) -> None:
    run = ran_with(tmp_path, {"at": TAKE, "at_command": 3, "nonempty": True, "when": when})
    assert (run.record.status, run.record.error) == ("complete", None)
    verdict = run.check()
    assert (verdict.valid, verdict.reasons) == (True, ())
    assert verdict.totals.pushed == verdict.totals.acked == 40
    info = run.json("run.json")
    programs = info["programs"]
    (strike,) = programs["worker-b-0"]["strikes"]
    assert (strike["signal"], strike["hit"]) == ("SIGKILL", True)
    assert strike["command"].startswith("EVAL local id = redis.call('ZRANGEBYSCORE'")
    assert programs["worker-b-1"]["strikes"] == []
    (row,) = run.table("faults")
    assert json.loads(row["detail"]).items() >= strike.items(), "the table of faults says it, too"
    lines = (run.directory / "programs" / "worker-b-0.commands.jsonl").read_text().splitlines()
    sent = [json.loads(line) for line in lines]
    commands = [one["command"] for one in sent if one["program"] == strike["program"] == "worker-b-0"]
    assert strike["command"] in commands
    again = [one["t_ns"] for one in sent if one["program"] == "worker-b-0.2"]
    assert min(again) > info["epoch_ns"] + strike["time_ns"], "its commands and its events have one name"
    assert len(strike["earlier"]) == 6
    assert set(strike["earlier"]) <= set(commands)
    times = [info["phases"]["load"][0], *strike["earlier_ns"], strike["time_ns"]]
    assert len(times) == 8
    assert times == sorted(times), "each was taken before the process was hit"
    assert list(info["deaths"]) == ["worker-b-0"]
    assert info["deaths"]["worker-b-0"] <= strike["time_ns"]
    assert {row["process"] for row in run.table("operations")} <= {
        "producer-a-0",
        "worker-b-0",
        "worker-b-1",
        "worker-b-0.2",
    }
    assert programs["worker-b-0"]["exit_code"] in (0, -signal.SIGTERM), "it was started again, and asked to end"


def test_a_worker_that_stands_still_goes_on_where_it_was(tmp_path: Path) -> None:
    fault = {
        "at": TAKE,
        "at_command": 3,
        "nonempty": True,
        "when": "applied",
        "how": "SIGSTOP",
        "pause_s": 1.5,
        "for_s": 9,
    }
    run = ran_with(tmp_path, fault)
    assert (run.record.status, run.record.error) == ("complete", None)
    verdict = run.check()
    assert verdict.totals.pushed == verdict.totals.acked == 40
    assert verdict.valid is True, "whoever did the job held its lease"
    ((strike,),) = (one["strikes"] for one in run.json("run.json")["programs"].values() if one["strikes"])
    assert strike["stopped_ns"] > 1.4e9, "a timer may be early by a tick"


def test_only_the_process_that_holds_the_connection_dies(tmp_path: Path) -> None:
    command = [sys.executable, str(GUESTS / "forking_worker.py"), "{url}"]
    fault = {"at": "SET working:job-7", "when": "applied", "only": "holder"}
    run = ran_with(tmp_path, fault, worker={"command": command, "zone": "a"})
    assert (run.record.status, run.record.error) == ("complete", None)
    (strike,) = run.json("run.json")["programs"]["worker-a-0"]["strikes"]
    assert strike["hit"]
    assert len(strike["pids"]) == 1
    assert strike["pids"] != [run.json("run.json")["programs"]["worker-a-0"]["pgid"]]
    verdict = run.check()
    assert (verdict.totals.pushed, verdict.totals.acked) == (20, 20)
    assert verdict.totals.deliveries == 21, "the parent lived on and tried again"


def test_a_worker_that_never_comes_to_the_command_lives_on(tmp_path: Path) -> None:
    run = ran_with(tmp_path, {"at": "FLUSHALL", "for_s": 0.5})
    programs = run.json("run.json")["programs"]
    assert programs["worker-b-0"]["strikes"] == [{"signal": "SIGKILL", "hit": False, "program": "worker-b-0"}]
    assert run.check().valid


def test_a_job_that_was_popped_by_a_worker_that_died_is_nowhere_and_lost(tmp_path: Path) -> None:
    guest = str(GUESTS / "popping_worker.py")
    fault = {"at": "LPOP waiting", "at_command": 5, "nonempty": True, "when": "applied"}
    run = ran_with(
        tmp_path,
        fault,
        producer={"command": [sys.executable, guest, "push", "{url}"], "zone": "a", "ends": True},
        worker={"command": [sys.executable, guest, "work", "{url}"], "zone": "a"},
    )
    assert (run.record.status, run.record.error) == ("complete", None)
    verdict = run.check()
    assert (verdict.valid, verdict.counts["lost"], verdict.totals.acked) == (False, 1, 59)
    told = run.json("programs/end_state.json")
    assert (told["unfinished"], told["nowhere"], told["stored"]) == (1, 1, [])
    workers = {row["process"] for row in run.table("operations")} - {"producer-a-0"}
    assert workers == {"worker-a-0", "worker-a-0.2"}, "what is started again is another program in the history"
    assert told["proof"].endswith("'waiting' (list)")
    assert [one["complete"] for one in told["searched"].values()] == [True] * 3


def test_jobs_that_nobody_is_left_to_take_are_stuck_where_they_are(tmp_path: Path) -> None:
    run = ran_with(
        tmp_path,
        {"at": TAKE, "at_command": 3, "nonempty": True, "when": "applied", "restart": False},
        producer={"command": PUSH, "ends": True, "zone": "a"},
        worker={"command": WORK, "zone": "b"},
    )
    verdict = run.check()
    assert (verdict.valid, verdict.counts["lost"]) == (False, 0)
    left = 40 - verdict.totals.acked
    assert left == verdict.counts["stuck"] + verdict.counts["unserved"] > 30
    told = run.json("programs/end_state.json")
    assert (told["unfinished"], told["nowhere"]) == (left, 0)
    assert {one["where"] for one in told["stored"] if one["place"] == "queue"} == {"'due' (sorted set)"}

"""Goal: the lens of a run on real servers that recorded its votes shows them, and what each zone held.

Method: a short run with a kill on process zones; strips at the end beside what the run read from its zones, for every
message; and the command line, which refuses what would record nothing.
"""

from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.scenarios.short_runs import Phases, scenario_file

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.message_stories import at_rest
from zonelab.scenarios.arms import Recording, ZoneKind
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.stories.again import ON_REAL_SERVERS
from zonelab.studies.stories.lens import lens, lenses
from zonelab.studies.stories.run_diff import ComparedRun
from zonelab.studies.stories.zone_strips import ABSENT, DOWN, GONE, UNKNOWN

KILL = {"kind": "kill", "zone": "b", "at_s": 0.5, "for_s": 0.5}

pytestmark = pytest.mark.real


def made(folder: Path, *, recording: Recording | None) -> RunDirectory:
    scenario = load_scenario(str(scenario_file(folder, faults=[KILL])))
    path, record = run_on_servers(
        scenario, kind=ZoneKind.PROCESS, runs=folder, watcher=Phases(), command="zonelab run", recording=recording
    )
    assert record.status == "complete"
    return RunDirectory.open(path)


def test_strips_of_a_real_run_end_as_its_zones_do(tmp_path: Path) -> None:
    run = made(tmp_path, recording=Recording.VOTES)
    ids = {row["message_id"] for batch in run.operations(("message_id",)) for row in batch.to_pylist()} - {None}
    rows = [row for batch in run.final_state() for row in batch.to_pylist()]
    held = at_rest([{**row, "shard": None} for row in rows])
    known = 0
    found = lenses(run, sorted(ids))
    for message_id, one in found.items():
        for zone, spans in one.strips.items():
            state = spans[-1].state
            known += state != UNKNOWN
            assert state == UNKNOWN or bool(held.get((message_id, zone))) is (state not in (ABSENT, GONE)), message_id
    assert known
    assert {span.state for one in found.values() for span in one.strips["b"]} >= {DOWN, UNKNOWN}
    pushed = next((one for one in found.values() if one.leases), None)
    assert pushed is not None, "no message was leased"
    assert any(line.what.lstrip().startswith("ZADD zonelab.QUEUE") for line in pushed.lines)
    assert any(" to ZADD: 1" in line.what for line in pushed.lines)
    compared = ComparedRun.of(run)
    assert (compared.unknown, bool(compared.commands)) == ("", True)


def test_it_is_off_by_default(tmp_path: Path) -> None:
    run = made(tmp_path, recording=None)
    assert run.files("votes") == []
    message_id = next(row["message_id"] for batch in run.operations() for row in batch.to_pylist() if row["message_id"])
    assert lens(run, message_id).unknown == ON_REAL_SERVERS


def test_the_command_line_refuses_to_record_nothing(tmp_path: Path) -> None:
    simulated = zonelab_here("run", "steady", "--on", "sim", "--record", "votes", cwd=tmp_path)
    assert simulated.returncode == 64
    assert "--record votes needs real servers" in simulated.stderr
    unknown = zonelab_here("run", "steady", "--record", "all", cwd=tmp_path)
    assert unknown.returncode == 64
    assert "votes" in unknown.stderr

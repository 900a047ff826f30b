"""Goal: a simulated run is decided by its scenario alone, and its directory is judged like any other.

Method: runs in this process and in processes of their own with other hash seeds; hashes and history files compared.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.app.commands import zonelab_here
from support.programs import HANGS_S
from support.scenarios.short_runs import Phases
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.checkers.check import check
from zonelab.cluster.sim.schedule import TieBreak
from zonelab.cluster.sim.trace import first_difference
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.run.simulated import run_in_sim
from zonelab.scenarios.run_files.directory import create_run_directory

FAULTS = [
    {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3},
    {"kind": "cut", "isolate": "c", "mode": "hold", "at_s": 0.6, "for_s": 0.2},
    {"kind": "consumer_crash", "zone": "a", "at_s": 0.3, "for_s": 0.3},
]

PROGRAM = """
import sys
from pathlib import Path
from support.scenarios.short_runs import Phases
from support.scenarios.sim_runs import small
from zonelab.scenarios.run.simulated import run_in_sim
run_in_sim(small(faults=%r), runs=Path(sys.argv[1]), watcher=Phases(), command="")
"""


@pytest.mark.parametrize("level", list(Level))
def test_a_run_without_faults_is_valid_at_every_level(level: Level) -> None:
    done, _, verdict = run_in_memory(small(level=level.value))
    assert (verdict.valid, verdict.reasons, done.record.drained) == (True, (), True)
    assert verdict.totals.pushed == verdict.totals.acked > 30


def test_the_directory_of_a_simulated_run_is_judged_as_its_tables_in_memory_are(tmp_path: Path) -> None:
    scenario, phases = small(faults=FAULTS), Phases()
    directory, record = run_in_sim(scenario, runs=tmp_path, watcher=phases, command="zonelab run small")
    done, tables, in_memory = run_in_memory(scenario)
    assert check(directory) == in_memory
    assert (record.status, phases.names) == ("complete", ["set-up", "load", "heal", "drain", "end state"])
    told = json.loads((directory / "run.json").read_text())
    assert (told["arm"], told["zones"], told["trace_hash"]) == ("sim", "simulated", done.trace_hash)
    rows = pq.read_table(directory / "history" / "operations-000001.parquet").to_pylist()
    assert [tuple(row.values()) for row in rows] == tables.tables["operations"].rows
    assert (directory / "scenario.yaml").exists()
    assert told["segments"] == {"operations": 1, "depth": 1, "faults": 1}


def test_processes_with_different_hash_seeds_write_the_same_bytes(tmp_path: Path) -> None:
    told = []
    for hash_seed in ("0", "4711"):
        runs = tmp_path / hash_seed
        subprocess.run(
            [sys.executable, "-c", PROGRAM % FAULTS, str(runs)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            timeout=HANGS_S,
        )
        (directory,) = (path for path in (runs / "small").iterdir() if not path.is_symlink())
        tables = [path.relative_to(directory) for path in sorted(directory.rglob("*.parquet"))]
        assert len(tables) == 4
        told.append(
            [json.loads((directory / "run.json").read_text())["trace_hash"]]
            + [sha256((directory / name).read_bytes()).hexdigest() for name in tables]
        )
    assert told[0] == told[1]
    assert told[0][0] == run_in_memory(small(faults=FAULTS))[0].trace_hash


def test_two_runs_of_one_second_get_directories_of_their_own(tmp_path: Path) -> None:
    started = datetime(2026, 1, 2, tzinfo=UTC)
    names = [create_run_directory(tmp_path, small(), started, used="dyno").name for _ in range(2)]
    assert names == ["20260102T000000-DC_QUORUM-dyno-1", "20260102T000000-DC_QUORUM-dyno-1-2"]
    (tmp_path / "small" / "20260102T000001-DC_QUORUM-1").touch()
    with pytest.raises(FileExistsError):
        create_run_directory(tmp_path, small(), datetime(2026, 1, 2, 0, 0, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("changes", "used"),
    [
        ({}, "dyno"),
        ({"queue": {"mode": "hardened"}}, "dyno-hardened"),
        ({"queue": {"engine": "gmq"}}, "gmq"),
    ],
)
def test_a_directory_is_named_by_what_its_clients_use(changes: dict[str, Any], used: str, tmp_path: Path) -> None:
    directory, _ = run_in_sim(small(**changes), runs=tmp_path, watcher=Phases(), command="")
    assert directory.name.partition("DC_QUORUM-")[2] == f"{used}-1"


def test_another_seed_and_another_order_of_ties_are_other_runs() -> None:
    scenarios = [small(seed=1), small(seed=2)] + [small(simulation={"tie_break": tie}) for tie in ("fifo", "pct")]
    hashes = [run_in_memory(scenario)[0].trace_hash for scenario in scenarios]
    assert len(set(hashes)) == len(hashes) == len(TieBreak) + 1


def test_the_first_differing_event_of_two_runs_can_be_named() -> None:
    one, other = (run_in_memory(small(seed=seed), keep_trace=True)[0].trace for seed in (1, 2))
    assert first_difference(one, one) is None
    assert "in one run" in (first_difference(one, other) or "")


def test_crash_points_cover_every_command_of_a_consumer() -> None:
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.1, "for_s": 0.4}
    outcomes = {}
    for at_command in range(1, 15):
        faults = [{**crash, "consumer": 0, "at_command": at_command}]
        _, tables, verdict = run_in_memory(small(faults=faults, load={"duration_s": 0.5}))
        assert verdict.valid is True
        crashed = [row for row in tables.tables["operations"].rows if row[-1] == "consumer crashed"]
        outcomes[at_command] = [row[6] for row in crashed]
    assert {"pop", "ack"} <= {f for ended in outcomes.values() for f in ended}


def test_a_program_that_never_comes_to_its_crash_lives_on() -> None:
    crash = {"kind": "consumer_crash", "zone": "a", "at_s": 0.1, "for_s": 0.8, "at_command": 100_000}
    _, tables, verdict = run_in_memory(small(faults=[crash]))
    assert verdict.valid is True
    assert not [row for row in tables.tables["operations"].rows if "." in row[4]]


def test_the_command_line_runs_a_scenario_in_simulation_and_tells_how_to_repeat_it(tmp_path: Path) -> None:
    command = ["run", "steady", "--on", "sim", "--seed", "7", "--set", "load.duration_s=1", "--json"]
    runs = [zonelab_here(*command, cwd=tmp_path) for _ in range(2)]
    told = [json.loads(run.stdout) for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert "--on sim --seed 7" in told[0]["command"]
    hashes = [json.loads((Path(tmp_path, one["run"]) / "run.json").read_text())["trace_hash"] for one in told]
    assert hashes[0] == hashes[1]

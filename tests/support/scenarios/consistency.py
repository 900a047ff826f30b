"""The named scenarios of the consistency lab, run for tests in either arm, and what each of them must show."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.check import check_recorded
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.result import Result
from zonelab.analysis.summary.run_summary import checked
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.scenarios.arms import ZoneKind
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import recorded, simulate
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.reporting.progress import Display

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC


@dataclass(frozen=True)
class Shows:
    """What a run must show: the verdict, every anomaly with its count, and what the smallest history says."""

    valid: Any
    counts: dict[str, int] = field(default_factory=dict)
    smallest: tuple[str, ...] | None = None
    details: dict[str, str] = field(default_factory=dict)


STALE = {"nonlinearizable": 1, "stale_read": 1}

# (scenario, level) → what it shows, in simulation and on real servers alike
SHOWN: dict[tuple[str, Level], Shows] = {
    ("stale-quorum-read", ONE): Shows(False, {**STALE, "divergent": 1}, ("client-a-0 write x", "client-c-0 read nil")),
    ("stale-quorum-read", QUORUM): Shows(
        False,
        {**STALE, "divergent": 1},
        ("client-a-0 write x", "client-c-0 read nil"),
        {"divergent": "a and b hold x; c holds nothing"},
    ),
    ("stale-quorum-read", SAFE): Shows(False, {"divergent": 1}),
    ("two-writers", ONE): Shows(
        False,
        {"nonlinearizable": 1, "divergent": 1},
        ("client-a-0 write x", "client-b-0 write y", "client-a-0 read y", "client-b-0 read x"),
        {"divergent": "a and c hold y; b holds x"},
    ),
    ("two-writers", QUORUM): Shows(False, {"divergent": 1}, None, {"divergent": "a and c hold y; b holds x"}),
    ("two-writers", SAFE): Shows(False, {"divergent": 1}, None, {"divergent": "a and c hold y; b holds x"}),
    ("eval-pops-differ", QUORUM): Shows(
        False,
        {"left_behind": 1, "divergent": 1},
        None,
        {"left_behind": "x listed by b", "divergent": "a and c hold y; b holds x"},
    ),
    ("error-but-applied", SAFE): Shows(
        False, {"applied_in_doubt": 1}, None, {"applied_in_doubt": "ERR Storage: Datastore refused connection"}
    ),
    ("error-but-applied", QUORUM): Shows(False, {"applied_in_doubt": 1}),
    ("error-but-applied", ONE): Shows(True),
    ("there-and-back", QUORUM): Shows(
        False,
        {"nonlinearizable": 1, "applied_in_doubt": 1, "divergent": 1},
        ("client-a-0 write x", "client-a-0 write y", "client-a-0 read y", "client-b-0 read x"),
        {"applied_in_doubt": "ERR Peer: Peer Node is not connected", "divergent": "a holds y; b and c hold x"},
    ),
    ("there-and-back", SAFE): Shows(False, {"applied_in_doubt": 1, "divergent": 1}),
    ("nil-outvotes", QUORUM): Shows(
        False,
        {**STALE, "read_your_writes": 1, "divergent": 1},
        ("client-a-0 write x", "client-a-0 read nil"),
        {"divergent": "a holds x; b and c hold nothing"},
    ),
    ("nil-outvotes", SAFE): Shows(False, {**STALE, "read_your_writes": 1, "divergent": 1}),
    ("missed-write", ONE): Shows(
        False,
        {"nonlinearizable": 1, "stale_read": 2, "divergent": 1},
        ("client-a-0 write x", "client-b-0 read nil"),
        {"divergent": "a and c hold x; b holds nothing"},
    ),
    ("missed-write", QUORUM): Shows(False, {"divergent": 1}, None, {"divergent": "a and c hold x; b holds nothing"}),
    ("missed-write", SAFE): Shows(False, {"divergent": 1}, None, {"divergent": "a and c hold x; b holds nothing"}),
    ("stale-at-dc-one", ONE): Shows(False, STALE, ("client-a-0 write x", "client-b-0 read nil")),
    ("stale-at-dc-one", QUORUM): Shows(True),
    ("stale-at-dc-one", SAFE): Shows(True),
    ("retried-increment", QUORUM): Shows(True),
}


def run_in_memory(name: str, *overrides: str) -> Verdict:
    scenario = load_scenario(name, overrides=["arm=sim", *overrides])
    tables = MemoryTables()
    done = simulate(scenario, tables)
    assert done.record.status == "complete", done.record.error
    return check_recorded(recorded(scenario, done, tables))


def run_for_real(name: str, runs: Path, *overrides: str) -> Verdict:
    """On real servers, checked from disk."""
    scenario = load_scenario(name, overrides=list(overrides))
    with Display() as shown:
        shown.begin(name)
        directory, record = run_on_servers(
            scenario, kind=ZoneKind.PROCESS, runs=runs, watcher=shown, command=f"zonelab run {name}"
        )
    assert record.status == "complete", record.error
    Result.examined(directory, title=name)
    return checked(RunDirectory.open(directory))


def smallest(verdict: Verdict) -> tuple[str, ...] | None:
    """Who did what in the first smallest counterexample, without its picture."""
    if not verdict.consistency.counterexamples:
        return None
    return tuple(" ".join(line.partition("├")[0].split()) for line in verdict.consistency.counterexamples[0].timeline)


def assert_shown(verdict: Verdict, expected: Shows) -> None:
    assert {name: count for name, count in verdict.counts.items() if count} == expected.counts
    assert verdict.valid is expected.valid
    if expected.smallest is not None:
        # Of two operations that begin together, either may be first on real servers.
        assert sorted(smallest(verdict) or ()) == sorted(expected.smallest)
    for name, detail in expected.details.items():
        assert verdict.cases[name][0].detail == detail

"""Goal: a sweep's table is the same whoever makes the runs and however often it was broken off.

Method: a small scenario with a fixed fault under a few settings; planted runs where a table must say something known.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.app.commands import Done, zonelab_here
from support.programs import HANGS_S
from support.scenarios.short_runs import scenario_file, zonelab_command
from support.scenarios.sim_runs import SMALL, small
from support.studies.in_memory import FACTS

from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.hunt.seeds import HuntTarget
from zonelab.studies.many_runs.state import RESULTS_NAME
from zonelab.studies.sweep import one_run
from zonelab.studies.sweep.one_run import DUPLICATES, SweepMeasure
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.rows import SweepRow, row_of
from zonelab.studies.sweep.settings import VaryOption, settings_of

KILL = {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3, "restart": "keep"}
VARY = ("--vary", "level=DC_ONE,DC_QUORUM", "--vary", "queue.unack_ms=300,400")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps({**SMALL, "faults": [KILL]}))
    return path


def swept(file: Path, *words: str) -> Done:
    return zonelab_here("sweep", file.name, *words, "--json", cwd=file.parent)


def test_processes_find_what_one_finds_and_the_same_command_goes_on(file: Path, tmp_path: Path) -> None:
    one = swept(file, *VARY, "--runs", "2", "--dir", "one")
    two = swept(file, *VARY, "--runs", "2", "--dir", "two", "--jobs", "2")
    told = json.loads(one.stdout)
    assert (one.returncode, two.returncode) == (0, 0)
    assert told["settings"] == json.loads(two.stdout)["settings"]
    assert [row["setting"] for row in told["settings"]] == [
        f"level={level} queue.unack_ms={lease}" for level in ("DC_ONE", "DC_QUORUM") for lease in (300, 400)
    ]
    assert [row["runs"] for row in told["settings"]] == [2, 2, 2, 2]
    assert [row["difference"] and row["difference"]["pairs"] for row in told["settings"]] == [None, 2, 2, 2]
    directory = tmp_path / told["directory"]
    assert json.loads((directory / "sweep.json").read_text()) == told
    assert len((directory / RESULTS_NAME).read_text().splitlines()) == 1 + 8
    more = json.loads(swept(file, *VARY, "--runs", "3", "--dir", "one").stdout)
    assert (more["known"], more["directory"]) == (8, told["directory"])
    later = json.loads(swept(file, *VARY, "--runs", "1", "--seed-from", "3", "--dir", "one").stdout)
    assert (later["known"], later["settings"][0]["runs"]) == (4, 1)


def test_sigkill_in_the_middle_costs_nothing_but_the_runs_under_way(file: Path, tmp_path: Path) -> None:
    words = ["sweep", file.name, *VARY, "--runs", "4", "--jobs", "2"]
    sweeping = subprocess.Popen(zonelab_command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL)
    deadline_s = time.monotonic() + HANGS_S
    while sum(len(path.read_bytes().splitlines()) for path in tmp_path.rglob(RESULTS_NAME)) < 4:
        assert time.monotonic() < deadline_s
        assert sweeping.poll() is None
        time.sleep(0.02)
    os.kill(sweeping.pid, signal.SIGKILL)
    sweeping.wait()
    kept = next(tmp_path.rglob(RESULTS_NAME))
    kept.write_bytes(kept.read_bytes()[:-7])  # as if it had been killed while it wrote
    after, whole = (json.loads(swept(file, *words[2:], *more).stdout) for more in ((), ("--dir", "whole")))
    assert 2 <= after["known"] < 16
    assert after["settings"] == whole["settings"]
    assert whole["known"] == 0


def test_every_setting_runs_the_scenario_with_its_own_faults_and_the_same_seeds(file: Path) -> None:
    settings = settings_of(str(file), vary=["level=DC_ONE,DC_QUORUM"])
    sweeping = SweepMeasure(scenarios=tuple(setting.scenario for setting in settings))
    single = load_scenario(str(file), overrides=["level=DC_QUORUM", "seed=7"])
    assert sweeping.scenario(1, 7) == single
    assert sweeping.scenario(0, 7).model_copy(update={"level": single.level}) == single
    verdict = attempt(single).verdict
    assert verdict is not None
    shown = sweeping((1, 7))
    assert (shown.valid, shown.begun) == (verdict.valid, verdict.totals.pushed)
    assert shown.counts == {name: count for name, count in verdict.counts.items() if count}
    assert shown.numbers["lateness p99"] == verdict.queue.lateness_ms["all"]["p99"]


def test_drawn_runs_are_those_of_a_hunt(file: Path) -> None:
    (setting,) = settings_of(str(file), vary=[])
    sweeping = SweepMeasure(scenarios=(setting.scenario,), messages=20)
    hunted = HuntTarget(scenario=setting.scenario, messages=20)
    assert [sweeping.scenario(0, seed) for seed in (1, 5)] == [hunted.run_of(seed) for seed in (1, 5)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--vary", "levle=A"), "--vary: levle: unknown field"),
        (("--vary", "level=DC_ONE,FOO"), "--vary: level: got 'FOO'; accepted: DC_ONE, DC_QUORUM"),
        (("--vary", "level"), "--vary level: accepted: PATH=VALUE,VALUE"),
        (("--vary", "level="), "--vary level=: accepted: PATH=VALUE,VALUE"),
        (("--vary", "level=DC_ONE,"), "--vary level=DC_ONE,: accepted: PATH=VALUE,VALUE"),
        (
            ("--vary", "level=DC_ONE,DC_ONE"),
            "--vary level: got duplicate values DC_ONE, DC_ONE; accepted: each value once",
        ),
        (("--vary", "level=DC_ONE", "--vary", "level=DC_QUORUM"), "--vary level: duplicate path"),
        (("--runs", "-3"), "got '-3'"),
        (("--set", "queue.unack_ms=x"), "--set: queue.unack_ms: got 'x'"),
    ],
)
def test_what_cannot_be_varied_is_refused_in_one_line(file: Path, words: tuple[str, ...], said: str) -> None:
    refused = zonelab_here("sweep", file.name, *words, cwd=file.parent)
    assert refused.returncode == 64
    assert len(refused.stderr.splitlines()) == 1
    assert said in refused.stderr
    assert not (file.parent / "runs").exists()


def test_a_value_may_have_commas_within_brackets_and_quotes() -> None:
    given = VaryOption.parsed("load.rate_per_s={a: 1, b: 2},5, '7,0'")
    assert given.values == ("{a: 1, b: 2}", "5", "'7,0'")


def shown(*, valid: bool | str | None, push: float = 1.0, twice: float = 0.0) -> Observation:
    numbers = {"push p50": push, DUPLICATES: twice}
    why = None if isinstance(valid, bool) else "why"
    return Observation(valid=valid, counts={} if valid else {"lost": 2}, numbers=numbers, begun=10, problem=why)


def test_a_row_counts_what_its_runs_showed_and_pairs_them_by_seed() -> None:
    first = {seed: shown(valid=seed > 2, push=float(seed)) for seed in range(1, 11)}
    runs = {seed: shown(valid=seed != 5, push=seed + 2.0, twice=seed / 100) for seed in range(1, 11)}
    runs |= {9: shown(valid="unknown"), 10: shown(valid=None)}
    runs |= {11: Observation(problem="its process ended")}
    row = row_of("x", runs, first=first)
    assert (row.runs, row.failing, dict(row.undecided)) == (9, 1, {9: "why"})
    assert dict(row.problems) == {10: "why", 11: "its process ended"}
    assert (row.cases, row.runs_with) == ({"lost": 2}, {"lost": 1})
    change = row.difference
    assert change is not None
    assert [sorted(change.failing.values), change.failing.more] == [[-1, -1, 0, 0, 0, 0, 0, 1], 1]
    assert change.share.value == -1 / 8
    assert change.share.interval is not None
    assert change.share.interval.low < -1 / 8 < 0 < change.share.interval.high
    assert (change.numbers["push p50"].value, change.numbers[DUPLICATES].value) == (2.0, pytest.approx(0.045))


def test_a_run_that_failed_is_named_once_and_without_a_traceback(tmp_path: Path) -> None:
    kills = [
        {"kind": "kill", "zone": zone, "at_s": 0.1, "for_s": 0.3 + number / 10} for number, zone in enumerate("abc")
    ]
    scenario_file(tmp_path, load={"duration_s": 1}, faults=[{**kills[0], "restart": "warm"}, *kills[1:]])
    words = zonelab_command("sweep", "short.yaml", "--runs", "1")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "seed 1: zone a: no running zone to copy the data from\n" in done.stderr
    assert (done.stderr.count("no running zone"), "Traceback" in done.stderr) == (1, False)


def test_a_run_that_the_lab_cannot_make_is_named_and_the_others_are_made(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(self: SweepMeasure, setting_and_seed: tuple[int, int]) -> Observation:
        if setting_and_seed == (1, 2):
            raise RuntimeError("planted")
        return shown(valid=True)

    monkeypatch.setattr(SweepMeasure, "__call__", bad)
    done = swept(file, "--vary", "level=DC_ONE,DC_QUORUM", "--runs", "3", "--set", "load.duration_s=2")
    told = json.loads(done.stdout)
    assert done.returncode == 3
    assert done.stderr.startswith("sweep: 6 runs x 2 s of load, and at most "), "what will be run is said beforehand"
    assert "level=DC_QUORUM, seed 2: RuntimeError: planted" in done.stderr
    assert [row["runs"] for row in told["settings"]] == [3, 2]


def timed(f: str, op: int, took_ms: float, *, ended: str = "ok", of: int = 1) -> Iterator[dict[str, Any]]:
    """The rows of an operation that began at 1 s and ended so much later; of several messages several rows."""
    base = {"op_id": op, "process": "p", "zone": "a", "f": f, "message_id": "m", "intended_ns": 0}
    yield {**base, "index": 2 * op, "time_ns": 10**9, "type": "invoke", "invoke_ns": 10**9}
    end_ns = 10**9 + round(took_ms * 1e6)
    for _ in range(of):
        yield {**base, "index": 2 * op + 1, "time_ns": end_ns, "type": ended, "invoke_ns": 10**9}


NONE = dict.fromkeys(map(str, MessageClass), 0)


def made(monkeypatch: pytest.MonkeyPatch, *operations: Iterator[dict[str, Any]], **verdict: Any) -> Observation:
    """Return what a sweep makes of planted rows of a run and of a planted verdict."""
    tables = MemoryTables()
    for row in chain(*operations):
        tables("operations", OPERATIONS).append(row)
    plain = {"forbid": (), "cases": {}, "lateness_ms": {}, "counts": NONE}
    judged = Verdict.of(QueueSection(**{"totals": Totals(), **plain, **verdict})) if verdict else None
    run: Any = SimpleNamespace(record=SimpleNamespace(error=None), trace_hash="")
    trial = Trial(scenario=small(), verdict=judged, tables=tables, run=run)
    monkeypatch.setattr(one_run, "attempt", lambda scenario: trial)
    return SweepMeasure(scenarios=(small(),))((0, 1))


def test_a_run_is_measured_by_what_was_confirmed_each_operation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    push = [timed("push", number, number, of=number % 3 + 1) for number in range(1, 100)]
    rest = [timed("push", 100, 5_000, ended="info"), timed("pop", 101, 7.5, of=3), timed("ack", 102, 9)]
    late = {"all": {"p50": 3.0, "p99": 4.0, "max": 5.0}, "a": {"p50": 9.0}}
    totals = Totals(pushed=6, delivered=4, deliveries=5)
    run = made(monkeypatch, *push, *rest, totals=totals, lateness_ms=late, counts={**NONE, "lost": 2})
    numbers = {"push p50": 50, "push p99": 99, "pop p50": 7.5, "pop p99": 7.5, DUPLICATES: 0.25}
    assert run.numbers == pytest.approx({**numbers, "lateness p50": 3.0, "lateness p99": 4.0}, abs=0.99)
    assert (run.valid, run.counts, run.begun, run.problem) == (True, {"lost": 2}, 6, None)
    doubtful = made(monkeypatch, doubts=("one", "two"))
    assert (doubtful.numbers, doubtful.problem) == ({}, "one; two")
    assert made(monkeypatch) == Observation(problem="the lab failed")


def swept_rows() -> Iterator[SweepRow]:
    """Yield rows of a setting, of a slower one that fails once, of one with nothing, and of an undecided one."""
    first = {seed: shown(valid=True, push=10.0 * seed, twice=0.0) for seed in range(1, 41)}
    slower = {seed: shown(valid=seed != 9, push=10.0 * seed + 5, twice=0.5 * (seed % 2)) for seed in range(1, 41)}
    unknown = dict.fromkeys((1, 2), shown(valid="unknown"))
    broken = dict.fromkeys(range(1, 8), Observation(problem="its process ended"))
    yield row_of("first", first, first=None)
    yield row_of("slower", slower, first=first)
    yield row_of("broken", broken, first=first)
    yield row_of("doubtful", unknown, first=first)


PAGE = """\
setting  ┃ runs ┃ failing (95 %)  ┃ cases (runs with) ┃ duplicates a message ┃ push p50, p99 ms
━━━━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━
first    │   40 │ 0 of 40         │ none              │ 0                    │ 205 (140 to 270)
         │      │ below 8.8%      │                   │                      │
slower   │   40 │ 1 of 40         │ lost 2 (1)        │ 0.25                 │ 210 (145 to 275)
         │      │ 0.063% to 13.2% │                   │ 0.169 to 0.331       │
broken   │    0 │ –               │ –                 │ –                    │ –
doubtful │    2 │ –               │ none              │ 0                    │ 1
         │      │ 2 undecided     │                   │                      │

Difference to first, seed by seed
setting  ┃ failing (95 %)   ┃ duplicates a message ┃ push p50, p99 ms
━━━━━━━━━╇━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━
slower   │ +2.5%            │ +0.25                │ +5 (+5 to +5)
         │ -10.3% to +14.9% │ +0.169 to +0.331     │
broken   │ –                │ –                    │ –
doubtful │ –                │ –                    │ –

82 runs with the seeds 1 to 40, 820 messages.
Times and duplicates are of a run as a whole, with 95 % intervals: medians, of duplicates the mean.
no verdict: broken, seed 1: its process ended
no verdict: broken, seed 2: its process ended
no verdict: broken, seed 3: its process ended
no verdict: broken, seed 4: its process ended
no verdict: broken, seed 5: its process ended
and 2 more without a verdict, in there/sweep.json
docs/sweeps.md explains the table.

1,234 runs were reused from an earlier invocation.
Interrupted. Run the same command to continue.
Repeat or continue with: zonelab sweep s"""


def test_a_sweep_is_told_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    rows = tuple(swept_rows())
    told = {**FACTS, "verb": "sweep", "command": "zonelab sweep s"}
    ended = [f"broken, seed {seed}: its process ended" for seed in range(1, 8)]
    facts = {**told, "runs": 1_234, "known": 1_234, "complete": False, "problems": ended}
    SweepResult(**facts, rows=rows).print()
    page = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert page == PAGE
    assert [list(row.problems) for row in rows] == [[], [], [1, 2, 3, 4, 5, 6, 7], []]
    assert rows[3].to_json()["undecided"] == {"1": "why", "2": "why"}
    assert list(rows[3].undecided) == [1, 2]
    assert rows[1].to_json()["failing_share"] == pytest.approx({"low": 0.0006, "high": 0.1316}, abs=1e-4)
    assert rows[2].to_json()["problems"] == {str(seed): "its process ended" for seed in range(1, 8)}
    SweepResult(**{**told, "seeds": range(3, 5), "known": 0}, rows=rows[:1]).print()
    alone = capsys.readouterr().out
    assert "Difference" not in alone
    assert "\n40 runs in 1 s, 40.0 a second.\n40 runs with the seeds 3 to 4, 400 messages.\n" in alone
    assert "reused" not in alone
    assert "Interrupted" not in alone

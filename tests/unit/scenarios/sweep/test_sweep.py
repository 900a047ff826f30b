"""Goal: a sweep's table is the same whoever makes the runs and however often it was broken off.

Method: a small scenario with a fixed fault under a few settings; planted runs where a table must say something known.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.programs import HANGS_S
from support.scenarios.commands import Done, zonelab_here
from support.scenarios.short_runs import scenario_file, zonelab_command
from support.scenarios.sim_runs import SMALL

from zonelab.scenarios.hunt.seeds import HuntTarget
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.sweep.every_setting import RESULTS_NAME
from zonelab.scenarios.sweep.one_run import DUPLICATES, Sweeping, SweptRun
from zonelab.scenarios.sweep.rows import row_of
from zonelab.scenarios.sweep.settings import Varied, settings_of

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
    sweeping = Sweeping(scenarios=tuple(setting.scenario for setting in settings))
    single = load_scenario(str(file), overrides=["level=DC_QUORUM", "seed=7"])
    assert sweeping.scenario(1, 7) == single
    assert sweeping.scenario(0, 7).model_copy(update={"level": single.level}) == single
    verdict = attempt(single).verdict
    assert verdict is not None
    shown = sweeping((1, 7))
    assert (shown.valid, shown.messages) == (verdict.valid, verdict.totals.pushed)
    assert shown.cases == {name: count for name, count in verdict.counts.items() if count}
    assert shown.numbers["lateness p99"] == verdict.lateness_ms["all"]["p99"]


def test_drawn_runs_are_those_of_a_hunt(file: Path) -> None:
    (setting,) = settings_of(str(file), vary=[])
    sweeping = Sweeping(scenarios=(setting.scenario,), messages=20)
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
        (("--vary", "level=DC_ONE,DC_ONE"), "a value is there twice"),
        (("--vary", "level=DC_ONE", "--vary", "level=DC_QUORUM"), "--vary level: given twice"),
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
    given = Varied.parsed("load.rate_per_s={a: 1, b: 2},5, '7,0'")
    assert given.values == ("{a: 1, b: 2}", "5", "'7,0'")


def shown(*, valid: bool | str | None, push: float = 1.0, twice: float = 0.0) -> SweptRun:
    numbers = {"push p50": push, DUPLICATES: twice}
    why = None if isinstance(valid, bool) else "why"
    return SweptRun(valid=valid, cases={} if valid else {"lost": 2}, numbers=numbers, messages=10, problem=why)


def test_a_row_counts_what_its_runs_showed_and_pairs_them_by_seed() -> None:
    first = {seed: shown(valid=seed > 2, push=float(seed)) for seed in range(1, 11)}
    runs = {seed: shown(valid=seed != 5, push=seed + 2.0, twice=seed / 100) for seed in range(1, 11)}
    runs |= {9: shown(valid="unknown"), 10: shown(valid=None)}
    row = row_of("x", runs, {11: "its process ended"}, first=first)
    assert (row.runs, row.failing, dict(row.undecided)) == (9, 1, {9: "why"})
    assert dict(row.problems) == {10: "why", 11: "its process ended"}
    assert (row.cases, row.runs_with) == ({"lost": 2}, {"lost": 1})
    change = row.difference
    assert change is not None
    assert (change.pairs, change.worse, change.better) == (8, 1, 2)
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
    def bad(self: Sweeping, setting_and_seed: tuple[int, int]) -> SweptRun:
        if setting_and_seed == (1, 2):
            raise RuntimeError("planted")
        return shown(valid=True)

    monkeypatch.setattr(Sweeping, "__call__", bad)
    done = swept(file, "--vary", "level=DC_ONE,DC_QUORUM", "--runs", "3", "--set", "load.duration_s=2")
    told = json.loads(done.stdout[: done.stdout.rindex('{\n  "errors"')])
    assert done.returncode == 3
    assert done.stderr.startswith("sweep: 6 runs x 2 s of load, and at most "), "what will be run is said beforehand"
    assert "level=DC_QUORUM, seed 2: RuntimeError: planted" in done.stderr
    assert [row["runs"] for row in told["settings"]] == [3, 2]

"""Goal: a finding is new, ongoing, rare or resolved only as the rules on the page say; never resolved by too few runs.

Method: lines of runs made by hand, the programs of one scenario in the order of their first runs.
"""

from math import comb

import pytest

from zonelab.analysis.run_index.findings import Status, chance_of_none, collected, findings
from zonelab.analysis.run_index.many_runs import ManyRuns, SettingRow
from zonelab.analysis.run_index.run_line import RunLine


def lines(program: int, *shown: bool, level: str = "DC_ONE", first_seed: int = 0, **told: object) -> list[RunLine]:
    """A valid or an invalid run each, with seeds of their own."""
    return [
        RunLine(
            place=f"{program}-{level}-{number}-{sorted(told)}",
            digest="",
            **{
                "scenario": "s",
                "level": level,
                "arm": "sim",
                "seed": first_seed + number,
                "started_utc": f"2026-11-{program:02}T00:00:00Z",
                "program": f"program {program}",
                "valid": not lost,
                "judged": ("lost", "stuck"),
                "counts": {"lost": 3} if lost else {},
                **told,
            },
        )
        for number, lost in enumerate(shown)
    ]  # fmt: skip


def statuses(*runs: list[RunLine]) -> dict[str, Status]:
    """By scenario and level."""
    found = findings(collected([line for each in runs for line in each], ()))
    return {f"{one.experiment.level} {one.name}": one.status for one in found}


@pytest.mark.parametrize(
    ("before", "now", "status"),
    [
        ([], [True], Status.NEW),
        ([False] * 3, [True, False], Status.NEW),
        ([True, False], [True], Status.ONGOING),
        ([True], [True] + [False] * 200, Status.RARE),
        ([True], [True] * 7 + [False] * 93, Status.ONGOING),
        ([True, True], [False, False], Status.NOT_SEEN),
        ([True, True], [False] * 5, Status.RESOLVED),
        ([True] + [False] * 99, [False] * 100, Status.NOT_SEEN),
    ],
)
def test_a_status_follows_from_what_the_programs_showed(before: list[bool], now: list[bool], status: Status):
    assert statuses(lines(1, *before), lines(2, *now)) == {"DC_ONE lost": status}


def test_what_is_needed_to_call_it_resolved_is_just_enough():
    [found] = findings(collected([*lines(1, True, True), *lines(2, False, False)], ()))
    assert (found.hits, found.runs, found.since, found.needed) == (2, 2, 2, 3)
    assert (chance_of_none(2, 2, 5) < 0.05, chance_of_none(2, 2, 4) < 0.05) == (True, False)
    assert chance_of_none(5, 40, 60) == pytest.approx(comb(40, 5) / comb(100, 5))


@pytest.mark.parametrize(
    "told",
    [
        {"valid": "unknown", "doubts": True},
        {"valid": None},
        {"judged": ("stuck",)},
        {"level": "DC_QUORUM"},
        {"setting": "--set queue.mode=hardened"},
        {"arm": "real"},
        {"problem": "run.json: missing"},
    ],
)
def test_runs_that_could_not_show_it_do_not_resolve_it(told: dict[str, object]):
    assert statuses(lines(1, True, True), lines(2, *[False] * 50, **told))["DC_ONE lost"] is not Status.RESOLVED


def test_a_simulated_run_made_again_is_no_further_run():
    again = [line for _ in range(50) for line in lines(2, False)]
    assert statuses(lines(1, True, True), again) == {"DC_ONE lost": Status.NOT_SEEN}


@pytest.mark.parametrize(("runs", "status"), [(50, Status.RESOLVED), (1, Status.NOT_SEEN)])
def test_a_real_run_counts_once_however_often_it_was_copied(runs: int, status: Status):
    real = [line for copy in range(50) for line in lines(2, False, arm="real", run_id=f"{copy % runs:016x}")]
    before = [line for run_id in "ab" for line in lines(1, True, arm="real", run_id=run_id)]
    assert statuses(before, real) == {"DC_ONE lost": status}


def hunt(program: str, utc: str, *, runs: int, failing: int) -> ManyRuns:
    rows = SettingRow(
        setting="s", runs=runs, judged=runs, failed=failing, failing={"stuck": failing} if failing else {}
    )
    return ManyRuns(
        place=f"s/hunt-{utc}/results.jsonl", digest="", kind="hunt", scenario="s", experiment="feed",
        program=program, updated_utc=utc, rows=(rows,),
    )  # fmt: skip


def test_seeds_of_hunts_count_with_their_denominators_and_apart_from_single_runs():
    many = [hunt("one", "2026-11-01", runs=500, failing=5), hunt("two", "2026-11-02", runs=2_000, failing=0)]
    found = {one.experiment.setting: one for one in findings(collected(lines(3, True), many))}
    assert (found["hunt feed"].status, found["hunt feed"].since) == (Status.RESOLVED, 2_000)
    assert found[""].status is Status.NEW
    unknown = [many[0], hunt("", "2026-11-02", runs=2_000, failing=0)]
    assert [one.status for one in findings(collected((), unknown))] == [Status.NEW]

"""Goal: the mutation suite blames mutants for what they do, and nothing else. Method: small plans on a real copy."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic

import pytest
from mutants import simulated
from mutants.copies import Copy, Processes, SuiteError, copies
from mutants.mutant import FOLDERS, CatalogueError, Mutant
from mutants.report import Killers, page, score, table
from mutants.runs import TASKS, Shown, scenario_of
from mutants.suite import Plan, Suite

from zonelab.scenarios.spec.rules import problems

ROOT = Path(__file__).resolve().parents[2]
LEVELS = "tests/unit/cluster/votes/test_vote.py"
QUORUM = Mutant(
    id="two-of-four",
    module="zonelab.cluster.votes.levels",
    function="quorum",
    old="zones // 2 + 1",
    new="(zones + 1) // 2",
    breaks="An example.",
)
UNSEEN = replace(
    QUORUM, id="unseen", module="zonelab.cluster.votes.levels", function="Levels.__str__", old="/", new=" and "
)

needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy is made of what git lists")


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    processes = Processes()
    (made,) = copies(ROOT, tmp_path / "copies", 1, processes)
    yield made
    processes.end_all()


def killed(copy: Copy, *mutants: Mutant, killers: Sequence[str]) -> dict[str, str]:
    plan = Plan(mutants=mutants, killers={mutant.id: killers for mutant in mutants}, limited=True)
    suite = Suite(plan, [copy], told=lambda _: None)
    suite.simulations.prepare = lambda _: None  # type: ignore[method-assign]
    suite.simulations.noticed_by = lambda *_: None  # type: ignore[method-assign]
    return suite.killed()


@needs_git
def test_a_mutant_is_killed_by_the_test_that_notices_it_and_the_tree_stays_as_it_is(copy: Copy) -> None:
    before = (ROOT / QUORUM.path).read_bytes()
    assert list(killed(copy, QUORUM, UNSEEN, killers=[LEVELS])) == [QUORUM.id]
    assert (ROOT / QUORUM.path).read_bytes() == before
    assert (copy.folder / QUORUM.path).read_bytes() == before


@needs_git
def test_a_copy_has_links_to_its_own_folders_and_one_with_others_is_refused(copy: Copy) -> None:
    link = copy.folder / "zonelab" / "engine"
    assert link.is_symlink()
    assert link.resolve() == copy.folder.resolve() / "engine"
    link.unlink()
    link.symlink_to(ROOT / "engine", target_is_directory=True)
    with pytest.raises(SuiteError, match="not those that are imported"):
        copy.check()


@needs_git
def test_what_runs_reach_is_known_by_the_real_paths_of_the_folders(copy: Copy, monkeypatch) -> None:
    monkeypatch.setattr(simulated, "SAMPLED", TASKS[:1])
    reached = simulated._reached(copy)
    assert len(reached[QUORUM.path]) > 10
    assert {name.partition("/")[0] for name in reached} == set(FOLDERS)
    assert [name for name in reached if name.startswith("zonelab/engine")] == []


@needs_git
def test_a_test_that_fails_or_is_missing_without_a_mutant_blames_nobody(copy: Copy) -> None:
    with pytest.raises(SuiteError, match=r"(?s)without a mutant.*not found: .*test_that_does_not_exist"):
        killed(copy, QUORUM, killers=[f"{LEVELS}::test_that_does_not_exist"])


@needs_git
def test_a_mutant_that_does_not_apply_is_an_error_and_not_killed(copy: Copy) -> None:
    with pytest.raises(CatalogueError, match="occurs 0 times"):
        killed(copy, replace(QUORUM, old="zones // 3"), killers=[LEVELS])


@needs_git
def test_a_process_that_does_not_end_is_ended_and_so_is_all_that_it_began(copy: Copy) -> None:
    begin_s = monotonic()
    endless = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    assert copy.python("-c", endless, timeout_s=0.5).code is None
    assert monotonic() - begin_s < 60  # else the endless process would have been waited for


RUN = Shown(task="any-of-one-zone:1", valid=True, violated={}, error=None)


@pytest.mark.parametrize(
    ("before", "after", "blamed"),
    [
        ({}, {}, None),
        ({}, {"valid": False, "violated": {"lost": 1}}, "lost"),
        ({}, {"valid": "unknown"}, None),
        ({}, {"valid": None, "error": "KeyError: 1"}, "lab error: KeyError: 1"),
        ({"valid": False, "violated": {"stuck": 1}}, {"valid": False, "violated": {"lost": 1}}, None),
    ],
)
def test_a_run_blames_a_mutant_only_for_what_it_did_not_show_without(before, after, blamed) -> None:
    assert replace(RUN, **after).blames(replace(RUN, **before)) == blamed


def test_the_simulated_runs_are_at_most_a_hundred_and_their_scenarios_are_sound() -> None:
    assert len(TASKS) == len(set(TASKS)) == 100
    assert [problems(scenario_of(task)) for task in (*TASKS[:3], *TASKS[-3:])] == [[]] * 6


def test_what_is_known_of_the_mutants_is_kept_and_told(tmp_path: Path) -> None:
    known = Killers(score=0.5, killers={"two-of-four": ["old"], "gone": ["x"]})
    found = known.updated([UNSEEN], {}, catalogue=[QUORUM, UNSEEN])
    assert asdict(found) == {"score": 0.5, "killers": {"two-of-four": ["old"], "unseen": []}}
    found.write(tmp_path / "killers.json")
    assert Killers.read(tmp_path / "killers.json") == found
    assert Killers.read(tmp_path / "none.json") == Killers()
    assert (score(2, 3), score(0, 0)) == (0.6667, 0.0)
    assert table([QUORUM, UNSEEN], {QUORUM.id: "a test"}).splitlines()[1:] == [
        "two-of-four  zonelab.cluster.votes.levels.quorum          a test",
        "unseen       zonelab.cluster.votes.levels.Levels.__str__  SURVIVED",
    ]


def test_the_page_names_survivors_and_how_many_were_planted_now() -> None:
    names = ["vote-quorum-is-half", "vote-last-error"]
    killers = Killers(score=0.5, killers={names[0]: ["a | b"], names[1]: []})
    text = page(killers, asked=1, date="2026-11-22", commit="abc", drawn=None)
    assert "2 mutants, 1 killed, score 50.0%. Planted then: 1, the others before." in text
    assert "the others" not in page(killers, asked=2, date="2026-11-22", commit="abc", drawn=None)
    assert "`a \\| b`" in text
    assert text.count("**vote-last-error**") == 1
    assert "**SURVIVED**" in text

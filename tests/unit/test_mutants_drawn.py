"""Goal: drawn mutants are the small faults that they are called, and are judged for what they do.

Method: each operator on lines of its own; samples of made-up modules; one judged mutant of each fate on a real copy.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mutants.copies import Copy, Processes, copies
from mutants.drawn.operators import OPERATORS
from mutants.drawn.sample import LeftOut, Reason, drawn, left_out
from mutants.drawn.score import DrawnScore, fates_of
from mutants.drawn.sites import Site, fingerprint, sites
from mutants.drawn.trial import DrawnTrials, Fate, Found, Results
from mutants.mutant import CatalogueError, Mutant, plant, source_path
from mutants.reach import Reach, unknown_tests
from mutants.report import Killers, page
from mutants.simulated import Simulations

ROOT = Path(__file__).resolve().parents[2]
LEVELS = "tests/unit/cluster/votes/test_vote.py"

needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy is made of what git lists")

CHANGES = [
    ("drop-term", "return a + margin", {"return a"}),
    ("swap-sign", "return a - b", {"return (a + b)"}),
    ("drop-sorted", "return sorted(a, key=b)", {"return (list(a))"}),
    ("drop-not", "return not (a or b)", {"return (a or b)"}),
    ("drop-condition", "return bool(a) and b", {"return b", "return (bool(a))"}),
    ("swap-logic", "return a and b", {"return (a or b)"}),
    ("swap-extreme", "return max(a, b)", {"return (min(a, b))"}),
    ("move-border", "return a < b <= margin", {"return (a <= b <= margin)", "return (a < b < margin)"}),
    ("assign-instead", "a += b", {"a = b"}),
    ("raise-constant", "return a * 2", {"return a * 3"}),
    ("drop-element", "return [a, b]", {"return ([b])", "return ([a])"}),
    ("drop-element", "return a in (1, b)", {"return a in ((b,))", "return a in ((1,))"}),
    ("drop-option", "return call(a, far=b, near=a)", {"return (call(a, near=a))"}),
    ("drop-call", "call(a)", {"pass"}),
    ("drop-reset", "a = None", {"pass"}),
    ("drop-await", "await call(a)", {"pass"}),
    ("swap-leaving", "for b in a:\n        break", {"for b in a:\n        continue"}),
]
SAME = [
    ("drop-element", "return a, b"),
    ("swap-sign", "return a + 'text'"),
    ("drop-call", "LOGGER.info(a)"),
    ("raise-constant", "return f'{a + 1}'"),
    ("raise-constant", "b: Literal[1] = a"),
    ("drop-reset", "a = True"),
]


def changes(folder: Path, operator: str, line: str) -> set[str]:
    (folder / "engine").mkdir(exist_ok=True)
    head = "def call(a, *, near, far=1): ...\n\nasync def example(a, b, margin):\n    "
    (folder / "engine/example.py").write_text(f"{head}{line}\n", encoding="utf-8")
    found = [one for one in sites(folder) if one.operator == operator and one.scope == "example"]
    return {plant(one.mutant, folder).text.removeprefix(head).rstrip("\n") for one in found}


@pytest.mark.parametrize(("operator", "line", "changed"), CHANGES)
def test_an_operator_changes_what_it_is_called_after(operator, line, changed, tmp_path: Path) -> None:
    assert changes(tmp_path, operator, line) == changed


def test_every_operator_has_an_example() -> None:
    assert {operator for operator, _, _ in CHANGES} == set(OPERATORS)


@pytest.mark.parametrize(("operator", "line"), SAME)
def test_texts_logs_annotations_and_places_with_a_meaning_are_left_alone(operator, line, tmp_path: Path) -> None:
    assert changes(tmp_path, operator, line) == set()


def test_a_reset_counts_only_after_construction(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    methods = "".join(f"    def {name}(self):\n        self.b = 0\n" for name in ("__init__", "reset"))
    text = f"class A:\n    b = 0\n{methods}"
    (tmp_path / "engine/example.py").write_text(text, encoding="utf-8")
    assert [one.scope for one in sites(tmp_path) if one.operator == "drop-reset"] == ["A.reset"]


def test_a_place_is_found_once_by_its_real_path_and_named_as_it_is_imported(tmp_path: Path) -> None:
    for folder in ("engine", "zonelab"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "example.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    (tmp_path / "zonelab" / "engine").symlink_to("../engine", target_is_directory=True)
    found = [one for one in sites(tmp_path) if one.operator == "raise-constant"]
    assert [(one.mutant.module, one.mutant.path, one.package) for one in found] == [
        ("zonelab.engine.example", "engine/example.py", "engine"),
        ("zonelab.example", "zonelab/example.py", "zonelab"),
    ]
    assert len({fingerprint(one, tmp_path) for one in found}) == 1


def made_up(package: str, line: int, number: int) -> Site:
    name = f"{package}/example.py:{line}:raise-constant:{number}"
    mutant = Mutant(
        id=name, module=f"zonelab.{package}.example", function="f", old="a = 1", new="a = 2", breaks="Drawn."
    )
    return Site(mutant=mutant, operator="raise-constant", scope="f.g")


def test_a_sample_is_decided_by_its_seed_and_has_each_package_in_proportion_to_its_places() -> None:
    all_sites = [made_up("engine", line, 1) for line in range(100)] + [
        made_up("cluster", line, 1) for line in range(50)
    ]
    all_sites += [made_up("analysis", 1, number) for number in range(1000)]  # one line, a table of a thousand elements
    sample = drawn(all_sites, seed=3, count=30)
    assert drawn(all_sites, seed=3, count=30) == sample != drawn(all_sites, seed=4, count=30)
    assert Counter(one.package for one in sample) == {"engine": 20, "cluster": 10}
    assert len({one.mutant.id for one in drawn(all_sites, seed=1, count=1000)}) == 151


@pytest.mark.parametrize(
    ("fields", "covered"),
    [
        ({"place": "zonelab.engine.example"}, True),
        ({"place": "zonelab.engine.example:f"}, True),
        ({"place": "zonelab.engine.example:f.g", "line": "a ="}, True),
        ({"place": "zonelab.engine.example:g"}, False),
        ({"place": "zonelab.engine.example:f", "line": "b ="}, False),
        ({"place": "zonelab.engine.example:f", "operators": ["drop-not"]}, False),
        ({"place": "zonelab.engine"}, False),
    ],
)
def test_an_entry_covers_its_place_line_and_operators_only(fields, covered) -> None:
    assert LeftOut(why=Reason.EQUAL, note="An example.", **fields).covers(made_up("engine", 1, 1)) is covered


@pytest.mark.parametrize("entry", left_out(), ids=lambda entry: entry.place)
def test_what_is_listed_as_no_fault_is_still_there(entry: LeftOut) -> None:
    module, _, scope = entry.place.partition(":")
    text = (ROOT / source_path(module)).read_text(encoding="utf-8")
    assert entry.line in text
    assert all(name in text for name in scope.split("."))


def test_an_entry_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / "left_out.yaml").write_text("[{place: zonelab.engine.ports, why: equal, note: ' '}]", encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"engine\.ports needs a note"):
        left_out(tmp_path / "left_out.yaml")


def test_results_are_kept_until_the_file_changes(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/example.py").write_text("a = 1\n", encoding="utf-8")
    site = next(iter(sites(tmp_path)))
    results = Results(tmp_path / "drawn.jsonl")
    assert results.of(site, tmp_path) is None
    source = "ae8e1d"
    found = Found(id=site.mutant.id, operator="x", package="engine", fate=Fate.RUN, killer="r", source=source)
    results.add(found)
    assert Results(tmp_path / "drawn.jsonl").found == {found.id: found}
    assert results.of(site, tmp_path) is None  # of another text
    for fate, open_again in ((Fate.TEST, False), (Fate.SURVIVED, True), (Fate.HASHES_ALONE, True)):
        results.add(replace(found, fate=fate, source=fingerprint(site, tmp_path)))
        assert not results.is_open(site, tmp_path, again=False)
        assert results.is_open(site, tmp_path, again=True) is open_again


def test_the_score_counts_hashes_apart_and_leaves_out_what_nothing_reaches(tmp_path: Path) -> None:
    one = Found(id="1", operator="x", package="engine", fate=Fate.TEST, killer="t", source="s")
    found = [replace(one, fate=fate) for fate in (Fate.TEST, *Fate)] + [replace(one, package="analysis")]
    score = DrawnScore(seed=3, drawn=9, listed=2, commit="abc", date="2026-11-28", fates=fates_of(found))
    score.write(tmp_path / "score.json")
    assert DrawnScore.read(tmp_path / "score.json") == score
    assert DrawnScore.read(tmp_path / "none.json") is None
    assert score.section()[-4:-1] == [
        "| all | 4 | 6 | 67% (30% to 90%) | 3 | 1 | 1 | 1 | 1 |",
        "| analysis | 1 | 1 | 100% (21% to 100%) | 1 | 0 | 0 | 0 | 0 |",
        "| engine | 3 | 5 | 60% (23% to 88%) | 2 | 1 | 1 | 1 | 1 |",
    ]
    killers = Killers(score=1.0, killers={"vote-quorum-is-half": ["a"]})
    text = page(killers, asked=1, date="2026-11-28", commit="abc", drawn=score)
    assert "seed 3, 9 drawn, 2 of them listed" in text.replace("\n", " ")


class FewTests(Reach):
    """A reach that names the same tests for every mutant."""

    def tests_of(self, mutant: Mutant, root: Path) -> list[str]:
        return list(self.seconds)


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    processes = Processes()
    (made,) = copies(ROOT, tmp_path / "copies", 1, processes)
    yield made
    processes.end_all()


@needs_git
def test_a_mutant_is_judged_by_tests_then_runs_then_hashes(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    quorum = Mutant(
        id="quorum", module="zonelab.cluster.votes.levels", function="quorum", old="// 2", new="// 3", breaks="Drawn."
    )
    unseen = replace(
        quorum, id="unseen", module="zonelab.cluster.votes.levels", function="Levels.__str__", old="/", new="-"
    )
    endless = replace(quorum, id="endless", old="return zones", new="while zones: pass\n    return zones")
    hashed = replace(unseen, id="hashed", new="=")
    (copy.folder / "tests/hashes/test_example.py").write_text(
        "from zonelab.cluster.votes.levels import Level, Levels\n\n\ndef test_example():\n"
        "    assert '=' not in str(Levels(read=Level.DC_ONE, write=Level.DC_QUORUM))\n"
    )
    monkeypatch.setattr("mutants.drawn.trial.HANGS_S", 5)
    simulations = Simulations()
    monkeypatch.setattr(
        simulations, "noticed_by", lambda mutant, copy, seeds: "run 7" if mutant.id == "endless" else None
    )
    reach = FewTests(seconds={LEVELS: 1.0, "tests/hashes/test_example.py": 1.0})
    chosen = [Site(mutant=one, operator="x", scope="") for one in (quorum, unseen, endless, hashed)]
    found = DrawnTrials([copy], reach, simulations).judge(chosen)
    assert {one.id: one.fate for one in found} == {
        "quorum": Fate.TEST,
        "unseen": Fate.SURVIVED,
        "endless": Fate.TEST,
        "hashed": Fate.HASHES_ALONE,
    }
    [later] = DrawnTrials([copy], FewTests(), simulations, newer=[LEVELS]).judge(chosen[:1])
    assert (later.fate, later.killer.partition("::")[0]) == (Fate.TEST, LEVELS)


@needs_git
def test_tests_that_are_newer_than_what_was_measured_are_found(copy: Copy) -> None:
    folder = copy.folder / "tests"
    for path in folder.glob("*/"):
        if path.name not in ("unit", "support"):
            shutil.rmtree(path)
    for path in (folder / "unit").rglob("test_*.py"):
        path.unlink()
    (folder / "unit/test_few.py").write_text("def test_old():\n    pass\n\n\ndef test_new():\n    pass\n")
    assert unknown_tests(Reach(seconds={"tests/unit/test_few.py::test_old": 1.0}), copy) == [
        "tests/unit/test_few.py::test_new"
    ]

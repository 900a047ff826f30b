"""Goal: the index has every run, names broken ones, reads only what changed, and its page stands alone.

Method: runs made by hand in a folder; the page parsed, judged by its own policy, and opened in Chromium.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest
from support.analysis.html import Page, asked
from support.analysis.orders import INFO

from zonelab.analysis import pages
from zonelab.analysis.checkers.check import check
from zonelab.analysis.run_index import page
from zonelab.analysis.run_index.index import Index, read_index
from zonelab.analysis.run_index.many_runs import ManyRuns
from zonelab.analysis.run_index.page import write_index
from zonelab.analysis.run_index.run_line import setting_of
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.run_summary import summarise

TODAY = date(2026, 11, 3)
HOSTILE = '<script>alert("x")</script>&\'"'


def no_many(folder: Path, known: Mapping[str, ManyRuns]) -> Sequence[ManyRuns]:
    return ()


def run_in(folder: Path, name: str, *, lost: int = 0, scenario: str = "made", **told: object) -> Path:
    builder = RunBuilder(folder / "made" / name, scenario=scenario)
    for number in range(lost):
        builder.push(f"lost-{number}", at_ms=1)
    builder.push("m", at_ms=2)
    builder.ack("m", builder.pop("m", at_ms=5), at_ms=9)
    builder.write(**{"command": "zonelab run made --level DC_ONE --seed 1", "arm": "real", **told})
    check(builder.path)
    summarise(builder.path)
    return builder.path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = tmp_path / "runs"
    run_in(runs, "1", program="aaaa", started_utc="2026-11-01T00:00:00Z")
    run_in(runs, "2", program="bbbb", git_commit="c0ffee" * 6, started_utc="2026-11-02T00:00:00Z", lost=2)
    (runs / "made" / "latest").symlink_to("2", target_is_directory=True)
    (runs / "made" / "hunt-0123").mkdir()
    return runs


def indexed(folder: Path) -> Index:
    index = read_index(folder, no_many, today=TODAY)
    write_index(index)
    return index


def test_every_run_is_there_once_with_its_verdict_and_what_it_showed(folder: Path):
    index = indexed(folder)
    assert [(line.place, line.word, line.shown) for line in index.runs] == [
        ("made/2", "invalid", ("lost",)),
        ("made/1", "valid", ()),
    ]
    [finding] = index.findings
    assert (finding.status, finding.last, finding.before) == ("new", "c0ffeec (bbbb)", 1)
    told = json.loads((folder / "index.json").read_text())
    assert [run["place"] for run in told["runs"]] == ["made/2", "made/1"]
    text = Page(folder / "index.html").text
    for part in (
        "zonelab compare runs/made/1 runs/made/2",
        "lost 2",
        "one-sided exact test of Fisher",
        "push p99 (ms)",
    ):
        assert part in text, part


def test_an_example_is_a_link_to_its_report_or_its_folder(folder: Path):
    indexed(folder)
    assert '<a href="./made/2">made/2</a>' in (folder / "index.html").read_text()
    (folder / "made/2/report.html").touch()
    indexed(folder)
    findings = (folder / "index.html").read_text().partition("<h2>Many")[0]
    assert '<td class="words"><a href="./made/2/report.html">made/2</a></td>' in findings


EXPECTED = "- scenario: made\n  class: {name}\n  at_most: {at_most}\n  reason: known\n  until: {until}\n"


@pytest.mark.parametrize(
    ("name", "at_most", "until", "status", "note"),
    [
        ("lost", 1, "2026-11-03", "expected", "expected in at most 100.0% of the runs until 2026-11-03: known"),
        ("lost", 0.05, "2026-11-03", "expected", "expected in at most 5.0% of the runs until 2026-11-03: known"),
        ("lost", 0.02, "2026-11-03", "new", "more often than expected in at most 2.0%"),
        ("lost", 1, "2026-11-02", "new", "was expected in at most 100.0% of the runs until 2026-11-02: known"),
        ("stuck", 1, "2026-11-03", "new", ""),
    ],
)  # fmt: skip
def test_a_finding_is_expected_as_often_and_as_long_as_the_file_says(
    folder: Path, name: str, at_most: float, until: str, status: str, note: str
):
    (folder / "expected.yaml").write_text(EXPECTED.format(name=name, at_most=at_most, until=until))
    [finding] = indexed(folder).findings
    assert (finding.status, finding.note[: len(note) or None]) == (status, note)
    assert finding.note in Page(folder / "index.html").text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("- {scenario: s}", "entry 1.class: missing; an entry needs scenario, class, at_most, reason, until"),
        (EXPECTED.format(name="lost", at_most=2, until="2026-11-03"), "entry 1.at_most: got 2; input should be less"),
        (EXPECTED.format(name="lost", at_most=1, until="soon"), "entry 1.until: got 'soon'; input should be a valid"),
        (EXPECTED.format(name="lost", at_most=1, until="2026-11-03") + "  level_: x\n", "(did you mean level?)"),
        ("scenario: s", "got dict; accepted: a list of entries"),
        ("- {", "expected.yaml: "),
    ],
)  # fmt: skip
def test_a_wrong_file_of_expectations_is_refused_in_one_line(folder: Path, text: str, error: str):
    (folder / "expected.yaml").write_text(text)
    with pytest.raises(RunError) as told:
        indexed(folder)
    assert error in str(told.value)
    assert "\n" not in str(told.value)


def test_only_what_is_new_or_has_changed_is_read(folder: Path):
    assert indexed(folder).read == 2
    assert indexed(folder).read == 0
    run_in(folder, "3", program="bbbb")
    assert indexed(folder).read == 1
    path = folder / "made/1/verdict.json"
    status = path.stat()
    path.write_text(path.read_text().replace('"valid": true', '"valid": null'))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # a copy keeps times, too
    index = indexed(folder)
    assert index.read == 1
    assert {line.place: line.word for line in index.runs}["made/1"] == "not judged"


def test_a_run_is_known_wherever_it_lies_and_what_replaces_it_is_read(folder: Path):
    before = {line.place: line for line in indexed(folder).runs}
    (folder / "made/2").rename(folder / "moved")
    (folder / "made/1").rename(folder / "made/2")
    moved = indexed(folder)
    assert moved.read == 0
    assert {line.place: line.run_id for line in moved.runs} == {
        "moved": before["made/2"].run_id,
        "made/2": before["made/1"].run_id,
    }
    assert [finding.example for finding in moved.findings] == ["moved"]
    shutil.rmtree(folder / "made/2")
    run_in(folder, "2", program="bbbb", run_id="another")
    replaced = indexed(folder)
    assert replaced.read == 1
    assert {line.place: line.run_id for line in replaced.runs}["made/2"] == "another"


@pytest.mark.parametrize("before", ["", "[]", '{"format": 0, "runs": []}', '{"format": 2, "runs": [{}]}'])
def test_an_index_of_before_that_cannot_be_used_is_made_anew(folder: Path, before: str):
    (folder / "index.json").write_text(before)
    assert indexed(folder).read == 2


def test_broken_runs_are_named_and_the_others_shown(folder: Path):
    (folder / "made/1/run.json").write_text('{"scenario"')
    (folder / "made/killed/history").mkdir(parents=True)
    (folder / "made/2/verdict.json").write_text('{"valid": true, "sections": []}')
    index = indexed(folder)
    assert {line.place: (line.problem or "").partition(":")[0] for line in index.broken} == {
        "made/1": "run.json",
        "made/2": "verdict.json or summary.json",
        "made/killed": "not a run directory",
    }
    text = Page(folder / "index.html").text
    assert all(line.place in text for line in index.broken)


def hostile_page(tmp_path: Path) -> Page:
    folder = tmp_path / HOSTILE.replace("/", "")
    run = run_in(folder, 'javascript:alert(1)"', scenario=HOSTILE, program=HOSTILE, git_commit=HOSTILE, lost=1)
    run_in(folder, "b", scenario=HOSTILE, command=f"zonelab run {HOSTILE}", lost=1)
    (run / "report.html").touch()
    (folder / "made" / HOSTILE.replace("/", "") / "history").mkdir(parents=True)
    return Page(write_index(read_index(folder, no_many, today=TODAY)))


def test_everything_that_a_run_can_name_is_escaped(tmp_path: Path):
    shown = hostile_page(tmp_path)
    assert shown.open == []
    assert len(shown.named("script")) == 2
    assert [stray for stray in shown.strays if not stray.startswith("a href=./made/")] == []


def test_a_page_that_does_not_escape_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def careless() -> object:
        made = pages.environment()
        made.autoescape = False
        return made

    monkeypatch.setattr(page, "environment", careless)
    with pytest.raises(AssertionError):
        test_everything_that_a_run_can_name_is_escaped(tmp_path)


def test_a_page_that_is_full_says_what_it_leaves_out(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "RUNS_MAX", 1)
    indexed(folder)
    text = Page(folder / "index.html").text
    assert "1 older are in index.json only." in text
    assert len(json.loads((folder / "index.json").read_text())["runs"]) == 2


def test_a_full_disk_leaves_the_index_of_before(folder: Path, monkeypatch: pytest.MonkeyPatch):
    indexed(folder)
    before = {path.name: path.read_bytes() for path in folder.glob("index.*")}
    run_in(folder, "3")
    write = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        write(path, text[:100], **options)
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        indexed(folder)
    assert {path.name: path.read_bytes() for path in folder.glob("index.*")} == before


COMPARE = """
  for (const box of [...page.querySelectorAll("#runs input")]) box.click();
  page.defaultView.scrollTo(0, page.documentElement.scrollHeight);
  const panel = page.querySelector("#chosen").getBoundingClientRect();
  return {
    command: page.querySelector("#chosen pre").textContent,
    rows: [...page.querySelectorAll("#chosen tbody th")].map(one => one.textContent),
    seen: panel.top >= 0 && panel.bottom <= page.defaultView.innerHeight,
    cut: (box => box.firstElementChild.offsetWidth - box.clientWidth)(page.querySelector("#chosen .scroll")),
    wide: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    shown: [...page.querySelectorAll("#runs tbody tr")].filter(row => !row.hidden).length,
  };
"""


@pytest.mark.chromium
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_a_browser_compares_any_two_runs_and_nothing_sticks_out(folder: Path, tmp_path: Path, width: int, dark: bool):
    indexed(folder)
    told = asked(folder / "index.html", tmp_path, COMPARE, width=width, dark=dark)
    assert told["command"] == "zonelab compare runs/made/2 runs/made/1"
    assert told["rows"][:3] == ["lost", "pushed", "acknowledged"]
    assert (told["wide"], told["cut"] <= 0, told["shown"], told["seen"]) == (0, True, 2, True)


@pytest.mark.parametrize(
    ("command", "setting"),
    [
        ("zonelab run steady --level DC_ONE --seed 1", ""),
        ("zonelab run steady --seed=1 --set queue.mode=hardened --dir /tmp/x --json", "--set queue.mode=hardened"),
        ("zonelab run steady --on zones --junit out.xml --cap 'a b'", "--cap 'a b'"),
        ("zonelab run --level --seed steady 7 extra", "7 extra"),
        ("zonelab run steady --json other", "other"),
        ("python run steady --cap 3", ""),
        ("zonelab run 'steady", "zonelab run 'steady"),
        ("", ""),
    ],
)
def test_a_setting_is_what_a_command_line_says_beside_scenario_level_seed_and_places(command: str, setting: str):
    assert setting_of(INFO.model_copy(update={"command": command, "scenario": "steady"})) == setting

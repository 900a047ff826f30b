"""Goal: pages open in a browser where there is one, and a counterexample is sent as one page that has all of it.

Method: a browser that only notes what it is asked for; the file and the command read back out of the page.
"""

import html
import re
import shutil
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.app.commands import zonelab_here
from support.project_files import ROOT
from support.scenarios.short_runs import scenario_file

QUEUE_CASE = ROOT / "docs/counterexamples/links-duplicate-DC_QUORUM-default-resurrected.yaml"
REGISTER_CASE = ROOT / "docs/histories/two-writers.yaml"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    asked: list[str] = []
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or True)
    return asked


@pytest.fixture
def case(tmp_path: Path) -> Path:
    return Path(shutil.copy(QUEUE_CASE, tmp_path / "case.yaml"))


def without_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


def test_every_verb_that_writes_a_page_opens_it(tmp_path: Path, opened: list[str]):
    scenario_file(tmp_path, load={"duration_s": 0.3})
    (tmp_path / "log.jsonl").write_text('{"op": "push", "id": "1"}\n{"op": "begin", "id": "1"}\n')
    for words in (
        ["run", "short.yaml", "--on", "sim"],
        ["report", "runs/short/latest"],
        ["lens", "runs/short/latest", "a-000000"],
        ["judge", "log.jsonl"],
        ["share", "short.yaml"],
    ):
        done = zonelab_here(*words, "--open", cwd=tmp_path)
        assert done.returncode in (0, 2), done.stderr
    assert [Path(one).name for one in opened] == [*["report.html"] * 2, "a-000000.html", "report.html", "short.html"]
    assert all(one.startswith("file:///") and Path(one.removeprefix("file://")).exists() for one in opened)


def test_without_a_browser_a_line_names_the_page_and_the_exit_code_stays(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
):
    scenario_file(tmp_path, load={"duration_s": 0.3})
    without_desktop(monkeypatch)
    done = zonelab_here("run", "short.yaml", "--on", "sim", "--open", cwd=tmp_path)
    assert (done.returncode, opened) == (0, [])
    assert done.stderr.splitlines()[-1].startswith("--open: no browser here; the page is ")
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert "no browser here" in zonelab_here("report", "runs/short/latest", "--open", cwd=tmp_path).stderr


def test_a_run_without_a_report_says_so(tmp_path: Path, opened: list[str]):
    (tmp_path / "log.jsonl").write_text('{"op": "push", "id": "1"}\n{"op": "begin", "id": "1"}\n')
    done = zonelab_here("judge", "log.jsonl", "--no-report", "--open", cwd=tmp_path)
    assert (done.stderr, opened) == ("--open: there is no page to open\n", [])


def test_the_file_in_a_shared_page_is_the_file_and_its_command_replays_it(case: Path):
    assert zonelab_here("share", "case.yaml", cwd=case.parent).returncode == 0
    page = (case.parent / "case.html").read_text()
    [text] = re.findall(r'<pre class="copied"[^>]*>(.*?)</pre>', page, flags=re.DOTALL)
    assert html.unescape(text).strip() == case.read_text().strip()
    assert '<code class="command">zonelab replay case.yaml</code>' in page
    there = case.parent / "elsewhere"
    there.mkdir()
    (there / "case.yaml").write_text(html.unescape(text))
    again = zonelab_here("replay", "case.yaml", cwd=there)
    assert again.returncode == 1
    [trace_hash] = set(re.findall(r"[0-9a-f]{64}", page))
    assert trace_hash in (next((there / "runs").glob("*/2*/run.json"))).read_text()


def test_a_shared_page_shows_the_case_under_the_lens_and_loads_nothing(case: Path):
    zonelab_here("share", "case.yaml", "--out", "sent.html", cwd=case.parent)
    page = (case.parent / "sent.html").read_text()
    assert "resurrected" in page
    assert page.count('class="strip"') > 3
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page) == []
    assert "default-src 'none'" in page


def test_a_register_is_shared_with_its_story_and_no_lens(tmp_path: Path):
    shutil.copy(REGISTER_CASE, tmp_path / "two-writers.yaml")
    assert zonelab_here("share", "two-writers.yaml", cwd=tmp_path).returncode == 0
    page = (tmp_path / "two-writers.html").read_text()
    assert ("SET zonelab:register:0 x" in page, 'class="strip"' in page) == (True, False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.yaml"], "nowhere.yaml: no such file; accepted: a scenario file"),
        (["."], ".: is not a file; accepted: a scenario file"),
        (["run"], "run: is not a file; accepted: a scenario file; of a run, send run/report.html"),
        (["odd.yaml"], "odd.yaml: "),
        (["own.yaml"], "own.yaml: share makes the run in simulation, without programs; send a run's report.html"),
    ],
)
def test_what_cannot_be_shared_is_one_line(words: list[str], told: str, tmp_path: Path):
    (tmp_path / "odd.yaml").write_text("nonsense: 1\n")
    (tmp_path / "own.yaml").write_text("name: own\nload: {duration_s: 1}\nprograms: {work: {command: x}}\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.html").touch()
    done = zonelab_here("share", *words, cwd=tmp_path)
    assert done.returncode == 64
    assert done.stderr.startswith(f"zonelab: {told}")
    assert not list(tmp_path.glob("*.html"))

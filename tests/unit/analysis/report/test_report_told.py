"""Goal: a page, a timeline and the sentences of a run say all that is so, and nothing else. Method: small runs, of
which everything can be worked out by hand; all words of the page beside words that were read.
"""

import html
import re
from pathlib import Path
from pprint import pformat

import pytest
from support.analysis.accesses import Story
from support.analysis.runs import bad_run, small_run
from support.analysis.told_figures import expected

from zonelab.analysis.checkers.check import check
from zonelab.analysis.figures.timeline import timeline
from zonelab.analysis.figures.timeline_svg import picture
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.workloads import WorkloadKind

pytestmark = pytest.mark.usefixtures("undrawn")


def words_of(run: Path) -> str:
    """The words of the page without style and scripts, a line for each of its rows and paragraphs."""
    page = build_report(run).read_text(encoding="utf-8").replace(str(run), "RUN")
    page = re.sub(r"(?s)<(style|script).*?</\1>", "", page)
    page = re.sub(r"</(tr|p|h\d|li|div|dd|pre|title|summary)>", "\n", page)
    lines = (re.sub(r"(<[^>]*>\s*)+", " | ", " ".join(line.split())).strip(" |") for line in page.split("\n"))
    return html.unescape("\n".join(line for line in lines if line))


def registers(path: Path) -> Path:
    story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20).write("z", 50, zone="c").read("y", 60, zone="c")
    story.read("z", 70, zone="c").read("x", 80, zone="c").write("q", 90, type="info", error="ERR Peer", zone="b")
    story.add("cas", 95, expected="z", argument="w", applied=False, result="z").at_rest(a="q", b="z", c="z")
    run = story.directory(path)
    check(run)
    return run


@pytest.mark.parametrize("made", [small_run, bad_run, registers])
def test_a_page_tells_all_of_a_small_run(made, tmp_path: Path) -> None:
    run = made(tmp_path / "1")
    assert words_of(run) == expected(f"page of {made.__name__}")


def test_a_timeline_tells_all_of_a_small_run(tmp_path: Path) -> None:
    found = timeline(RunDirectory.open(small_run(tmp_path / "1")))
    assert pformat((found, picture(found)), width=118) == expected("timeline")

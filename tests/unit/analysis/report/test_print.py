"""Goal: a page of every kind can be read on paper, where nothing of it is cut, and by whoever does not see it.

Method: Chromium lays pages out as it prints them, on A4 and Letter; axe-core looks at them on a desk and on a phone.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser
from support.analysis.runs import eventful_run
from support.app.browser import AxeResults, axe_results, chromium, opened
from support.app.commands import zonelab_here
from support.project_files import ROOT
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.report import build_comparison, build_report
from zonelab.analysis.run_index.index import read_index
from zonelab.analysis.run_index.page import write_index

pytestmark = pytest.mark.chromium

PAPERS = {"A4": (703, 1032), "Letter": (725, 965)}
"""Pixels between margins of 12 mm, 96 an inch."""

DOWN = "any one zone down"
FAULT = {"per_year": 6, "lasts_s": 60, "lengths_s": [0.1, 0.2, 0.5], "fault": {"kind": "kill", "zone": "any"}}
ROLLOUT = {
    **SMALL,
    "load": {"duration_s": 1, "rate_per_s": 5},
    "evaluate": {
        "vary": {"level": ["DC_ONE", "DC_QUORUM", "DC_SAFE_QUORUM"], "queue.mode": ["default", "hardened"]},
        "objectives": [
            "p99(push) < 30ms",
            f"p99(push) < 100ms with {DOWN}",
            f"losses == 0 with {DOWN}",
            "duplicates < 0.1%",
            "unavailable < 30min/year",
        ],
        "faults": {DOWN: FAULT},
    },
}
"""Six settings and five objectives, as the template has them, of the shortest runs."""

KINDS = ["run", "accesses", "comparison", "index", "evaluation", "lens", "shared"]

NARROW = ("lens",)
"""Pages without anything that is wider than a phone."""

CUT = """(width) => {
  const right = (one) => one.getBoundingClientRect().right;
  const hidden = (one) => {
    for (let box = one.parentElement; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible" && right(one) > right(box) + 1) return true;
    return false;
  };
  return [...document.body.querySelectorAll(":not(svg, svg *)")]
    .filter((one) => one.checkVisibility() && (right(one) > width + 1 || hidden(one)))
    .map((one) => `${one.tagName} ${one.textContent.trim().slice(0, 40)}`);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of every kind, with figures, wide tables and long names."""
    folder = tmp_path_factory.mktemp("pages")
    runs = [eventful_run(folder / "runs" / f"a-long-name-of-run-{number}", seed=number).write() for number in range(5)]
    index = read_index(folder / "runs", lambda folder, known: (), today=date(2026, 11, 3))
    write_index(index)
    zonelab_here("run", "lock-race", "--on", "sim", "--seed", "1", "--dir", "locks", cwd=folder)
    (folder / "rollout.yaml").write_text(yaml.safe_dump(ROLLOUT), encoding="utf-8")
    zonelab_here("evaluate", "rollout.yaml", "--runs", "16", "--dir", "evaluated", cwd=folder)
    lens = zonelab_here("lens", str(runs[0]), "in-doubt", cwd=folder)
    case = ROOT / "docs/counterexamples/links-duplicate-DC_QUORUM-default-resurrected.yaml"
    zonelab_here("share", str(case), "--out", "shared.html", cwd=folder)
    return {
        "shared": folder / "shared.html",
        "lens": Path(lens.stdout.strip().splitlines()[-1]),
        "run": build_report(runs[0]),
        "accesses": next((folder / "locks").rglob("report.html")),
        "comparison": build_comparison(runs, folder / "all.html"),
        "index": folder / "runs" / "index.html",
        "evaluation": next((folder / "evaluated").rglob("report.html")),
    }


def cut(browser: Browser, page: Path, paper: str) -> list[str]:
    width, height = PAPERS[paper]
    context = browser.new_context(viewport={"width": width, "height": height})
    shown = context.new_page()
    shown.emulate_media(media="print")
    shown.goto(page.as_uri())
    found: list[str] = shown.evaluate(CUT, width)
    context.close()
    return found


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_on_paper(browser: Browser, pages: dict[str, Path], kind: str, paper: str) -> None:
    assert cut(browser, pages[kind], paper) == []


def test_a_table_that_scrolls_on_paper_is_found(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = pages["run"].read_text(encoding="utf-8").replace("@media print", "@media speech")
    page.write_text(text, encoding="utf-8")
    assert cut(browser, page, "A4")


def looked_at(browser: Browser, page: Path, *, width: int, dark: bool) -> AxeResults:
    with opened(browser, page.as_uri(), width=width, dark=dark) as shown:
        return axe_results(shown)


CUT_CELLS, SHORT_CELLS = "color-contrast: elmPartiallyObscured", "color-contrast: shortTextContent"
INCOMPLETE = {
    ("evaluation", 1440): [CUT_CELLS],
    **{(kind, 390): [CUT_CELLS, SHORT_CELLS] for kind in ("run", "accesses", "comparison")},
    **{(kind, 390): [CUT_CELLS] for kind in ("index", "evaluation", "shared")},
}
"""By kind and width, what axe-core leaves to a person; each was looked at, in both colour schemes.

``CUT_CELLS`` are cut where their table scrolls; ``SHORT_CELLS`` have one character, in the colours of their neighbours.
"""


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False), (390, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_in_a_page(browser: Browser, pages: dict[str, Path], kind: str, width: int, dark: bool):
    found = looked_at(browser, pages[kind], width=width, dark=dark)
    assert found == {"violations": [], "incomplete": INCOMPLETE.get((kind, width), [])}


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("<main>", "<div>", "region"),
        ("--muted: #5b6670", "--muted: #b0b8c0", "color-contrast"),
        (' tabindex="0"', "", "scrollable-region-focusable"),
    ],
)
def test_a_page_without_landmark_contrast_or_keyboard_is_found(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, before: str, after: str, rule: str
) -> None:
    page = tmp_path / "page.html"
    page.write_text(pages["run"].read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    assert any(one.startswith(rule) for one in looked_at(browser, page, width=390, dark=False)["violations"])


def test_what_only_a_person_can_judge_is_found(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """Contrast of words on a background that changes is an example."""
    page = tmp_path / "page.html"
    text = (
        pages["run"].read_text(encoding="utf-8").replace("<h1>", '<h1 style="background: linear-gradient(#fff, #ddd)">')
    )
    page.write_text(text, encoding="utf-8")
    assert "color-contrast: bgGradient" in looked_at(browser, page, width=1440, dark=False)["incomplete"]


WIDE = """() => {
  const boxes = [...document.querySelectorAll(".scroll, figure, pre")].filter((one) => one.checkVisibility());
  const faded = (one) => getComputedStyle(one).maskImage !== "none";
  const wide = boxes.filter((one) => one.scrollWidth > one.clientWidth);
  const hinted = boxes.filter(faded);
  for (const one of wide) one.scrollLeft = one.scrollWidth;
  return new Promise((found) => requestAnimationFrame(() => requestAnimationFrame(() =>
    found({ wide: wide.length, same: wide.every((one, at) => one === hinted[at]) && wide.length === hinted.length,
      atEnd: boxes.filter(faded).length }))));
}"""


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_shows_where_a_table_goes_on(browser: Browser, pages: dict[str, Path], kind: str, still: bool) -> None:
    """Boxes narrower than what they hold fade it out at the edge until it is scrolled to its end; nothing else does."""
    with opened(browser, pages[kind].as_uri(), width=390) as shown:
        shown.emulate_media(reduced_motion="reduce" if still else "no-preference")
        found = shown.evaluate(WIDE)
        assert found == {"wide": found["wide"], "same": True, "atEnd": 0}
        assert found["wide"] > 0 or kind in NARROW

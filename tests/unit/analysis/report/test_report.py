"""Goal: the report stands alone and hides nothing. Method: parse the page with the standard HTML parser, look for
resources, unescaped values and every number that must be there; open it in Chromium where there is one.
"""

import base64
import json
from pathlib import Path

import pytest
from jinja2 import Environment
from support.analysis.html import Page, asked, dumped
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.report import build_comparison, build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.errors import RunError

pytestmark = pytest.mark.usefixtures("undrawn")
HOSTILE = '<script>alert("x")</script>&\'"'


def written(path: Path) -> Path:
    statistics = {"levels": {"DC_QUORUM": {"decisions": {"majority": 17, "no_quorum": 0}}}}
    return eventful_run(path).write(coordinators={"a": statistics, "b": {"state": "whole"}})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return written(tmp_path / "run")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Of ``run``, with its figures drawn."""
    return Page(build_report(written(tmp_path_factory.mktemp("page") / "run")))


def test_the_page_is_well_formed_and_needs_nothing_from_outside(page: Page) -> None:
    assert page.open == []
    assert page.strays == []
    assert not {"link", "iframe", "object"} & {tag for tag, _ in page.tags}
    sources = [image["src"] or "" for image in page.named("img")]
    assert len(sources) == 5
    for source in sources:
        kind, data = source.split(",", 1)
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert all(image["alt"] for image in page.named("img"))
    assert "http://" not in page.text
    assert "url(" not in page.text


def test_every_class_that_occurred_is_there_in_words_with_its_ids(run: Path, page: Page) -> None:
    verdict = check(run)
    assert page.text.index("Invalid") < page.text.index("Operations")
    for reason in verdict.reasons:
        assert reason in page.text
    present = [name for name in MessageClass if verdict.counts[name]]
    absent = ("undecided", "priority_inversion", "not_due", "unserved", "late")
    assert set(MessageClass) - set(present) == set(absent)
    for name in present:
        assert name.summary in page.text
        for offender in verdict.cases[name]:
            assert offender.message_id in page.text


def test_tables_scenario_command_and_coordinator_figures_are_there(page: Page) -> None:
    for part in (
        "name: eventful",
        "zonelab run eventful --level DC_QUORUM --seed 1",
        "levels · DC QUORUM · decisions · majority",
        "17",
        "a>c",
        "Errors of operations that were not ok.",
        "Unavailable",
        "valkey 9.1.2",
        "not in every zone",
    ):
        assert part in page.text, part


def test_duplicates_stand_by_cause_with_rates_and_intervals_also_where_there_are_none(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=1)
    builder.ack("m", builder.pop("m", at_ms=5), at_ms=9)
    builder.pop("m", at_ms=2_000)
    page = Page(build_report(builder.write())).text
    table = "".join(page[page.index("Duplicates by cause") : page.index("resurrected: 1,")].split())
    for row in ("redelivered00", "concurrent00", "resurrected11,00025.3to5,572deliveredmessages", "lost00", "stuck00"):
        assert row in table, row


def test_a_valid_run_says_what_did_not_happen(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=1)
    builder.ack("m", builder.pop("m", at_ms=5), at_ms=9)
    text = Page(build_report(builder.write())).text
    assert "Valid" in text
    assert "Nothing happened that the scenario forbids: lost, stuck" in text
    assert "None: this run had no faults." in text


def test_everything_that_a_run_can_name_is_escaped(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run", scenario=HOSTILE)
    builder.push(HOSTILE, at_ms=1)
    builder.push("m", at_ms=2, outcome="fail", error=HOSTILE)
    builder.fault(HOSTILE, HOSTILE, begin_ms=1, end_ms=2)
    run = builder.write(command=HOSTILE, server=HOSTILE, error=HOSTILE, coordinators={"a": {HOSTILE: 1}})
    page = Page(build_report(run))
    assert page.open == []
    assert page.strays == []
    assert len(page.scripts) == 1
    assert page.text.count('alert("x")') >= 6
    assert Page(build_comparison([run], tmp_path / "all.html")).scripts == []


def test_a_page_that_forgets_to_escape_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "zonelab.analysis.pages.Environment", lambda **options: Environment(**{**options, "autoescape": False})
    )
    builder = RunBuilder(tmp_path / "run", scenario="<script>document.title = 'taken'</script>")
    builder.push("<img src=x onerror=alert(1)>", at_ms=1)
    path = build_report(builder.write())
    assert {"document.title = 'taken'", "img src=x", "img onerror=alert(1)"} <= set(Page(path).strays)


def test_a_colour_that_is_none_does_not_reach_a_style(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.fault("kill", "b", begin_ms=1, end_ms=2, colour="red; background: url(https://example.org)")
    assert "example.org" not in build_report(builder.write()).read_text(encoding="utf-8")


def test_an_empty_and_an_interrupted_run_can_be_reported(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").write(status="interrupted", phases={}, error=None)
    (run / "final_state.parquet").unlink()
    text = Page(build_report(run)).text
    assert "Unknown" in text
    assert "the run was interrupted" in text


def test_a_comparison_sets_runs_side_by_side_and_leads_to_their_reports(tmp_path: Path) -> None:
    runs = [eventful_run(tmp_path / level, level=level).write() for level in ("DC_ONE", "DC_QUORUM")]
    build_report(runs[0])
    page = Page(build_comparison(runs, tmp_path / "folder" / "comparison.html"))
    assert page.open == []
    assert [link["href"] for link in page.named("a")] == ["../DC_ONE/report.html"]
    assert len(page.named("img")) == 3
    for part in ("DC_ONE", "DC_QUORUM", "push p99 (ms)", "ack outage (zone-seconds)", "concurrent"):
        assert part in page.text, part


def test_a_broken_run_is_refused(run: Path) -> None:
    (run / "scenario.yaml").unlink()
    with pytest.raises(RunError, match=r"scenario\.yaml: missing"):
        build_report(run)
    assert not (run / "report.html").exists()


@pytest.mark.chromium
def test_a_browser_shows_the_page_without_a_complaint(run: Path, tmp_path: Path) -> None:
    done = dumped(build_report(run).as_uri(), tmp_path / "profile", "--enable-logging=stderr")
    assert "</html>" in done.stdout
    assert "CONSOLE" not in done.stderr
    assert json.dumps("lost")[1:-1] in done.stdout


MEASURE = """
const root = page.documentElement;
const beyond = (inner, outer) => inner.getBoundingClientRect().right > outer.getBoundingClientRect().right + 1;
const labels = "#timeline .names div, #timeline .axis span, #timeline button, th, h4, summary";
const boxes = [...page.querySelectorAll(labels)].filter(one => one.checkVisibility())
  .map(one => one.getBoundingClientRect());
const overlap = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 &&
  one.top < other.bottom - 1 && other.top < one.bottom - 1;
return {
  wide: root.scrollWidth - root.clientWidth,
  cut: [...page.querySelectorAll(".scroll")].filter(box => beyond(box.firstElementChild, box)).length,
  prose: [...page.querySelectorAll("p, li, h1, h2, h3, h4, button")].filter(one => beyond(one, page.body)).length,
  figures: [...page.querySelectorAll("img")].map(one => Math.round(one.getBoundingClientRect().width)),
  overlapping: boxes.flatMap((one, place) => boxes.slice(place + 1).filter(other => overlap(one, other))).length,
  labels: boxes.length,
};"""


@pytest.mark.chromium
def test_a_browser_runs_no_script_but_that_of_the_timeline(run: Path, tmp_path: Path) -> None:
    path = build_report(run)
    planted = "<script>document.title = 'taken'</script><img src='x' onerror=\"document.title = 'taken'\"></body>"
    path.write_text(path.read_text(encoding="utf-8").replace("</body>", planted), encoding="utf-8")
    done = dumped(path.as_uri(), tmp_path / "profile", "--enable-logging=stderr")
    assert "<title>taken" not in done.stdout
    assert "Content Security Policy" in done.stderr
    assert 'class="controls" hidden' not in done.stdout


@pytest.mark.chromium
def test_labels_of_a_page_that_lie_on_one_another_are_noticed(run: Path, tmp_path: Path) -> None:
    path = build_report(run)
    page = path.read_text(encoding="utf-8").replace(
        "white-space: nowrap; }", "white-space: nowrap; left: 0 !important; }"
    )
    path.write_text(page, encoding="utf-8")
    assert asked(path, tmp_path, MEASURE)["overlapping"] > 0


@pytest.mark.chromium
@pytest.mark.parametrize("width", [1280, 400])
def test_a_comparison_of_many_runs_can_be_read(tmp_path: Path, width: int) -> None:
    runs = [eventful_run(tmp_path / f"a-long-name-of-run-{number}", seed=number).write() for number in range(5)]
    told = asked(build_comparison(runs, tmp_path / "all.html"), tmp_path, MEASURE, width=width)
    assert (told["wide"], told["prose"], told["overlapping"]) == (0, 0, 0)
    assert told["labels"] > 20


@pytest.mark.chromium
@pytest.mark.parametrize(("width", "cut"), [(1280, False), (400, True)])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_can_be_read_on_a_desk_and_on_a_phone(run: Path, tmp_path: Path, width: int, cut: bool, dark: bool):
    """On a desk no table is cut. On a phone wide tables and figures scroll in their place, and the page does not."""
    told = asked(build_report(run), tmp_path, MEASURE, width=width, dark=dark)
    assert (told["wide"], told["prose"]) == (0, 0)
    assert (told["cut"] > 0) is cut
    assert (told["overlapping"], told["labels"] > 20) == (0, True)
    assert told["figures"]
    assert all(figure >= 860 for figure in told["figures"])  # a label of 8.5 points is then more than 9 pixels high

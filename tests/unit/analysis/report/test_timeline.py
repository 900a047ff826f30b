"""Goal: the timeline shows what each client did beside the faults, of any run in bounded space, hides no failure, and
can be used by keyboard. Method: runs made by hand, their marks counted; the page in Chromium, its keys pressed.
"""

from functools import partialmethod
from pathlib import Path

import pytest
from support.analysis.html import asked
from support.analysis.runs import eventful_run

from zonelab.analysis.figures import timeline as module
from zonelab.analysis.figures.timeline import FAULT_ROWS_MAX, ROWS_MAX, TEXT_CHARACTERS_MAX, Timeline, timeline
from zonelab.analysis.figures.timeline_svg import picture
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory


def shown(run: RunBuilder) -> Timeline:
    return timeline(RunDirectory.open(run.write()))


def test_every_operation_of_a_short_run_is_a_mark_with_what_it_was_about(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("m", at_ms=100, took_ms=20)
    run.pop("m", "n", at_ms=200, took_ms=50, zone="b")
    run.push("x", at_ms=300, outcome="info", error="Indeterminate: no quorum")
    run.fault("kill", "b", begin_ms=50, end_ms=80)
    run.fault("kill", "b", begin_ms=400, end_ms=None)
    found = shown(run)
    rows = {
        row.name: [(mark.f, mark.type, mark.begin_s, round(mark.took_s, 6), mark.text) for mark in row.marks]
        for row in found.processes
    }
    assert rows == {
        "push-a": [
            ("push", "ok", 0.1, 0.02, "m"),
            ("push", "info", 0.3, 0.001, "x · Indeterminate: no quorum"),
        ],
        "pop-b": [("pop", "ok", 0.2, 0.05, "m and 1 more")],
    }
    assert [(row.name, row.spans) for row in found.faults] == [("kill b", ((0.05, 0.08), (0.4, found.end_s)))]
    assert (found.parts, found.left_out) == (0, (0, 0))


@pytest.mark.parametrize("batch_rows", [100, 10_000])
def test_of_a_long_run_the_longest_of_each_part_and_outcome_is_drawn_and_says_how_many_it_stands_for(
    batch_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MARKS_MAX", 200)
    monkeypatch.setattr(RunDirectory, "operations", partialmethod(RunDirectory.operations, batch_rows=batch_rows))
    run = RunBuilder(tmp_path / "run", load_ms=10_000)
    for number in range(2_000):
        run.push(f"m{number}", at_ms=5 * number, took_ms=3 if number == 777 else 1 + number % 7 / 10)
    run.push("bad", at_ms=5_001, outcome="fail", error="Unavailable: zone a is down")
    found = shown(run)
    (row,) = found.processes
    assert row.operations == 2_001
    assert len(row.marks) <= 3 * found.parts
    assert sum(1 + mark.others for mark in row.marks) == 2_001
    assert [mark.text for mark in row.marks if mark.type == "fail"] == ["bad · Unavailable: zone a is down"]
    assert max(row.marks, key=lambda mark: mark.took_s).text == "m777"


def test_rows_faults_and_texts_are_bounded_and_what_failed_has_a_row(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    for number in range(ROWS_MAX + 5):
        run.push(f"m{number}" * 50, at_ms=number, zone=f"z{number:03}")
    run.push("bad", at_ms=9, zone="z063", outcome="fail")
    for number in range(FAULT_ROWS_MAX + 7):
        run.fault("lag", f"a>{number}", begin_ms=number, end_ms=number + 1)
    found = shown(run)
    assert (len(found.processes), len(found.faults), found.left_out) == (ROWS_MAX, FAULT_ROWS_MAX, (5, 7))
    assert "z063" in {row.zone for row in found.processes}
    assert max(len(mark.text) for row in found.processes for mark in row.marks) == TEXT_CHARACTERS_MAX


def test_clients_stand_in_the_order_of_the_numbers_in_their_names(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    for number in (10, 2, 1):
        run.push(f"m{number}", at_ms=number, zone=f"z{number}")
    assert [row.name for row in shown(run).processes] == ["push-z1", "push-z2", "push-z10"]


def test_an_empty_run_has_an_empty_picture(tmp_path: Path) -> None:
    drawn = picture(shown(RunBuilder(tmp_path / "run")))
    assert (drawn.rows, drawn.bars, drawn.data["rows"]) == ((), (), [])


KEYS = """
const box = page.getElementById("timeline"), plot = box.querySelector(".plot");
const ticks = () => [...box.querySelectorAll(".axis span")].map(one => one.textContent);
const drawn = () => [...box.querySelectorAll("path")].map(one => one.getAttribute("d")).join("");
const press = key => plot.dispatchEvent(new page.defaultView.KeyboardEvent("keydown", { key, bubbles: true }));
const told = { whole: ticks() };
press("0");
const whole = drawn();
press("+"); press("+"); told.near = ticks(); told.changed = drawn() !== whole;
press("ArrowLeft"); told.earlier = ticks();
press("0"); told.again = ticks(); told.same = drawn() === whole;
press("n"); told.first = box.querySelector(".told").textContent;
page.querySelector("a[data-from]").click(); told.story = ticks();
const frame = plot.getBoundingClientRect();
const over = { clientX: frame.left + frame.width / 2, clientY: frame.top + 10 };
plot.dispatchEvent(new page.defaultView.PointerEvent("pointermove", over));
told.hover = box.querySelector(".told").textContent;
return told;"""


@pytest.mark.chromium
def test_keys_zoom_pan_and_find_what_failed_and_stories_lead_to_their_time(tmp_path: Path) -> None:
    run = eventful_run(tmp_path / "run")
    run.fault("isolate", "a", begin_ms=0, end_ms=19_999)
    told = asked(build_report(run.write()), tmp_path, KEYS)
    assert told["whole"] == told["again"] == ["0", "5", "10", "15", "20"]
    assert told["near"] == ["8", "9", "10", "11", "12"]
    assert float(told["earlier"][0]) < 8
    assert (told["changed"], told["same"]) == (True, True)
    assert " info at " in told["first"]
    assert "extend-a" in told["first"] or "push-a" in told["first"]
    assert float(told["story"][-1]) < 1
    assert told["hover"] == "isolate a: 0.000 to 19.999 s"

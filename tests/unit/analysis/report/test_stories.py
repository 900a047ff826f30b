"""Goal: the report tells of each violation what happened, in order, from the history alone, and stays short. Method:
runs made by hand with one violation each, their stories compared line by line.
"""

from pathlib import Path

import pytest
from support.analysis.accesses import Story as Told
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stories.access_stories import access_stories
from zonelab.analysis.stories.lines import FAULTS_MAX, ROWS_MAX, STORIES_MAX, Story
from zonelab.analysis.stories.message_stories import message_stories
from zonelab.analysis.workloads import WorkloadKind

pytestmark = pytest.mark.usefixtures("undrawn")


def stories(run: Path) -> dict[MessageClass, tuple[Story, ...]]:
    return message_stories(RunDirectory.open(run), check(run).cases)


def lines(story: Story) -> list[tuple[float, str, str]]:
    return [(line.time_ns / 1e6, line.who, line.what) for line in story.lines]


def concurrent(path: Path) -> RunBuilder:
    """One message that two consumers hold at once, while zone b is cut off and after another fault is over."""
    run = RunBuilder(path)
    run.fault("kill", "c", begin_ms=0, end_ms=5)
    run.fault("isolate", "b", begin_ms=15, end_ms=400)
    run.push("m", at_ms=10, due_ms=50)
    run.pop("m", at_ms=60, lease_end_ms=500)
    run.ack("m", run.pop("m", at_ms=90, zone="b", lease_end_ms=700), at_ms=120, zone="b")
    return run


def test_a_delivery_to_two_is_told_with_faults_due_time_leases_and_what_is_held(tmp_path: Path) -> None:
    run = concurrent(tmp_path / "run")
    run.payload("m", zone="c")
    (story,) = stories(run.write(unread_zones=["b"]))[MessageClass.CONCURRENT]
    first, second = (line.what.partition("delivery ")[2][0] for line in story.lines if "gets it" in line.what)
    assert lines(story) == [
        (10, "push-a", "push …"),
        (11, "push-a", "push: done; due at 0.050 s"),
        (15, "FAULT", "1:isolate b begins"),
        (50, "CLOCK", "it is due"),
        (61, "pop-a", f"pop: gets it, delivery {first}; lease until 0.500 s"),
        (91, "pop-b", f"pop: gets it, delivery {second}; lease until 0.700 s"),
        (120, "ack-b", f"ack of delivery {second} …"),
        (121, "ack-b", f"ack of delivery {second}: done"),
        (400, "FAULT", "1:isolate b ends"),
        (500, "CLOCK", f"the lease of delivery {first} ends"),
    ]
    assert [line.what for line in story.lines if line.telling] == [
        f"pop: gets it, delivery {second}; lease until 0.700 s"
    ]
    assert story.detail.endswith(f"before the lease of delivery {first} ended")
    assert story.at_rest == ("zone a holds nothing", "zone b could not be read", "zone c holds payload")


def test_every_class_that_occurs_is_told_of_its_first_messages(tmp_path: Path) -> None:
    run = eventful_run(tmp_path / "run").write()
    verdict, told = check(run), stories(run)
    assert set(told) == {name for name in MessageClass if verdict.counts[name]}
    for name, found in told.items():
        ids = list(dict.fromkeys(one.message_id for one in verdict.cases[name]))
        assert [story.subject for story in found] == ids[:STORIES_MAX]
    assert (
        "nobody knows (Indeterminate: no quorum)" in [what for _, _, what in lines(told[MessageClass.RECOVERED][0])][1]
    )


def test_a_lease_that_was_extended_ends_when_the_extension_says(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("m", at_ms=10)
    held = run.pop("m", at_ms=20, lease_end_ms=100)
    run.extend("m", held, at_ms=50, lease_end_ms=300)
    run.extend("m", held, at_ms=60, lease_end_ms=900, outcome="fail")
    (story,) = stories(run.write())[MessageClass.ABANDONED]
    assert [at for at, who, _ in lines(story) if who == "CLOCK"] == [300]


def test_a_long_story_keeps_its_beginning_its_end_every_delivery_and_ack_and_what_shows_the_violation(
    tmp_path: Path,
) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("m", at_ms=0)
    for number in range(100):
        if number in (0, 49, 50):
            held = run.pop("m", at_ms=100 * number + 10, lease_end_ms=95_000 if number == 49 else 100 * number + 60)
        elif number == 70:
            run.ack("m", held, at_ms=7_010)
        else:
            run.extend("m", held, at_ms=100 * number + 10, lease_end_ms=100 * number + 60)
        run.fault("lag", f"a>{number}", begin_ms=100 * number, end_ms=100 * number + 50)
    (story, *_) = stories(run.write())[MessageClass.CONCURRENT]
    clients = [line for line in story.lines if line.who not in ("FAULT", "CLOCK")]
    assert (len(clients) + story.left_out, story.left_out > 0) == (199, True)
    assert len(clients) <= ROWS_MAX + 4
    ends = [at for at, _, what in lines(story) if what.startswith(("pop: ", "ack of")) and ": " in what]
    assert ends == [11, 4_911, 5_011, 7_011]
    assert [line.time_ns for line in story.lines if line.telling] == [5_011_000_000]
    assert clients[-1].time_ns == 9_911_000_000
    assert sum(line.who == "FAULT" for line in story.lines) <= 2 * FAULTS_MAX


def test_a_key_is_told_from_the_first_to_the_last_operation_that_shows_the_anomaly(tmp_path: Path) -> None:
    told = Told(WorkloadKind.REGISTER).write("x", 0).write("y", 10).write("v", 15, key="other").read("x", 30, zone="b")
    run = told.write("z", 50).at_rest(a="z", b="z", c="z").directory(tmp_path / "told" / "1")
    verdict = check(run)
    (story,) = access_stories(RunDirectory.open(run), verdict.cases)[Anomaly.STALE_READ]
    assert (story.subject, story.detail) == ("key k", "zone b: 19.0 ms and 1 versions behind")
    assert lines(story) == [
        (10, "client-a-0", "write y …"),
        (11, "client-a-0", "write y: done"),
        (30, "client-b-0", "read …"),
        (31, "client-b-0", "read: x"),
    ]
    assert [line.what for line in story.lines if line.telling] == ["write y: done", "read: x"]
    assert story.at_rest == ("zone a holds z", "zone b holds z", "zone c holds z")
    assert "What happened to <code>key k</code>: zone b: 19.0 ms" in build_report(run).read_text()


def test_a_key_that_zones_hold_differently_is_told_whole(tmp_path: Path) -> None:
    run = Told(WorkloadKind.SET).add("add", 0, argument="x").add("add", 9, argument="y").at_rest(a="x y", b="y", c="y")
    path = run.directory(tmp_path / "told" / "1")
    (story,) = access_stories(RunDirectory.open(path), check(path).cases)[Anomaly.DIVERGENT]
    assert [what for _, _, what in lines(story)] == ["add x …", "add x: done", "add y …", "add y: done"]
    assert story.at_rest == ("zone a holds x, y", "zone b holds y", "zone c holds y")


def test_a_story_stands_in_the_report_and_nothing_in_it_is_markup(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("<b>m</b>", at_ms=0)
    run.pop("<b>m</b>", at_ms=10, lease_end_ms=20)
    run.pop("<b>m</b>", at_ms=30, lease_end_ms=40)
    run.fault("<i>", "b", begin_ms=1, end_ms=25)
    page = build_report(run.write()).read_text()
    assert "What happened to <code>&lt;b&gt;m&lt;/b&gt;</code>" in page
    assert page.count("the lease of delivery") >= 2
    assert "<b>" not in page
    assert "<i>" not in page

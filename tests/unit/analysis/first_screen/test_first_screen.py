"""Goal: whoever opens a report learns from its first screen what, when, where and why, and what to do next.

Method: five runs of the library, whose answers a reader found in the histories; what their pages must say before all
else, and where Chromium lays it out; small runs made by hand for the rules.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.analysis.figures import left_blank
from support.analysis.html import Page
from support.analysis.runs import eventful_run
from support.app.browser import chromium, opened

from zonelab.analysis.checkers.check import check
from zonelab.analysis.first_screen.answers import answers
from zonelab.analysis.first_screen.case_groups import grouped_cases
from zonelab.analysis.first_screen.next_steps import ABLATED, next_steps
from zonelab.analysis.first_screen.outages import zone_outages
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.result import Result
from zonelab.app.verbs.lens import lens_content, lens_contents
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.stories.lens import lens

OVERLOADED = ("consumers.per_zone=1", "consumers.batch=1", "consumers.processing=constant:300ms")
RUNS = {
    "zone-crash": (),
    "every-fault": (),
    "lock-race": (),
    "order-states": (),
    "steady": OVERLOADED,
}

ANSWERS = {
    "zone-crash": [
        *("zone-crash at DC_QUORUM, dyno, default", "Invalid", "150 of 999 accepted messages (15.0%) were left behind"),
        *("zone b: pop from 2.88 to 6.64 s", "stuck: 150 pushed from 3.09 to 6.56 s: 105 during kill b"),
        "105 of 150 like this: c-000102: never delivered; listed by a and c; b without it; kill b at its push",
        *("writes that b missed while it was dead are never replayed", "its load begins at 0.58 s"),
        *("zonelab lens", "c-000102", "zonelab hunt", "zonelab ablate --engine dyno", "of dyno's hardened mode"),
    ],
    "every-fault": [
        *("Invalid, with 32 orphan", "87 of 713 accepted messages (12.2%) were left behind", "with 19 faults"),
        *("zone c: ack, pop and push from 7.73 to 8.48 s", "and 1 shorter outage", "10 during memory c"),
        "stuck, 10 of 87 like this: b-000223: never delivered; listed by a and b; c without it; memory c at its push",
        *("a message that was finished was handed out again", "0.18 s after duplicate all links"),
        *("resurrected: 1 seen in a at 7.73 s", "early: 9 seen in a and c from 4.65 to 11.88 s"),
        "early, 5 of 9 like this: b-000074: 245 ms before it was due; clock a then",
        *("zonelab lens", "a-000015", "zonelab hunt", "zonelab ablate"),
    ],
    "lock-race": [
        *("lock-race at DC_QUORUM, lock workload", "Valid, with 321 no owner (21.4% of 1,500)", "without a fault"),
        *("No zone was out during the load.", "no owner: 321 seen in a, b and c from 0.12 to 15.06 s"),
        "321 × a lock that was granted to nobody and is taken all the same (no owner), which this scenario allows.",
        *(
            "no owner, 321 of 321 like this: key 1: a holds a1; b holds b1; c holds c1",
            "every zone granted it to another client",
        ),
        "zonelab hunt",
    ],
    "order-states": [
        *("order-states at DC_QUORUM, fifo, rocketmq-5.3", "Invalid", "overloaded was b, where"),
        *("53 times two messages that exclude each other", "I6 (one at a time): of 53, the first 20 seen from 10.01"),
        *("20 during program_pause consumer-b-0", "I9 (cursor never falls), 20 of 20 like this: orders/4: fell: from"),
        *("One consumer stands still in the middle of its work", "zonelab partitions", "zonelab lens", "a-000049"),
        *("zonelab limit", "zonelab ablate --engine fifo", "of fifo's fenced mode"),
    ],
    "steady": [
        *("Unknown", "overloaded were a, where 126 messages became due", "says nothing about the level"),
        *("625 of 758 accepted messages (82.5%) were still waiting", "No zone was out during the load."),
        *("unserved: 625 pushed from 0.68 to 6.57 s", "625 of 625 like this: b-000001: never delivered"),
        *("Overloaded while no fault was in force: a, b and c.", "more messages became due than consumers took"),
        "The scenario says: Nothing fails.",
        *("listed by every zone", "zonelab lens", "b-000001", "zonelab limit", "up to which rate the zones keep up"),
    ],
}
"""What each page must say on its first screen: verdict, counts and overload; zones, times, faults; why; what next."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The report of each of the five runs, without figures."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zonelab.analysis.figures.plot_style.save", left_blank)
        made = {}
        for name, overrides in RUNS.items():
            scenario = load_scenario(name, overrides=["arm=sim", "seed=1", *overrides])
            run, _ = run_in_sim(scenario, runs=folder, watcher=NullWatcher(), command="")
            check(run)
            made[name] = build_report(run)
        build_report(made["zone-crash"].parent, lenses=lens_contents)
        yield made


def first_screen(page: Path) -> str:
    words = " ".join(re.sub(r"\s+", " ", Page(page).text).split())
    return words.partition("In the words of the checker")[0]


def test_overload_comes_behind_what_is_forbidden(pages: dict[str, Path]) -> None:
    ordered, steady = (first_screen(pages[name]) for name in ("order-states", "steady"))
    overload = "Overload: more messages became due"
    assert ordered.index("I9 (cursor never falls), 20 of 20 like this") < ordered.index(overload)
    assert steady.index(overload) < steady.index("625 of 625 like this")


@pytest.mark.parametrize("name", RUNS)
def test_the_first_screen_answers_the_five_questions(pages: dict[str, Path], name: str) -> None:
    words = first_screen(pages[name])
    missing = [answer for answer in ANSWERS[name] if answer not in words]
    assert not missing, words
    assert words.index("When and where") < words.index("Why") < words.index("Next")


@pytest.mark.parametrize("name", RUNS)
def test_every_link_within_a_page_leads_to_one_place(pages: dict[str, Path], name: str) -> None:
    tags = Page(pages[name]).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(attributes["href"] or "") for tag, attributes in tags if tag == "a"}
    assert {link.removeprefix("#") for link in links if link.startswith("#")} <= set(ids)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


BOTTOMS = """() => [...document.querySelectorAll(".verdict, .answers > div > h2, .answers .next li:first-child")]
  .map(one => Math.round(one.getBoundingClientRect().bottom))"""


@pytest.mark.chromium
@pytest.mark.parametrize("name", RUNS)
def test_every_answer_is_on_the_first_screen_of_a_desk(pages: dict[str, Path], browser: Browser, name: str) -> None:
    with opened(browser, pages[name].as_uri(), width=1440) as page:
        assert max(page.evaluate(BOTTOMS)) <= 900


@pytest.mark.chromium
@pytest.mark.parametrize("dark", [False, True])
def test_a_command_is_copied_by_its_button(pages: dict[str, Path], browser: Browser, dark: bool) -> None:
    with opened(browser, pages["zone-crash"].as_uri(), dark=dark) as page:
        page.locator(".next button.copy").first.click()
        chosen = page.evaluate("() => getSelection().toString()")
        assert chosen == page.locator(".next code.command").first.text_content()
        assert page.locator(".next button.copy").first.text_content() in ("copied", "selected")


def test_told_cases_have_their_lens_each_story_once(pages: dict[str, Path]) -> None:
    """Of the first case of each story of what is forbidden; it is that of ``zonelab lens``, from one run made again."""
    run = RunDirectory.open(pages["zone-crash"].parent)
    page = Page(pages["zone-crash"])
    told = [one for one in page.named("div") if one.get("class") == "lens"]
    assert len(told) == 2  # pushed during the fault, and just after it
    found = lens(run, "c-000102")
    assert lens_contents(run, ["c-000222", "c-000102"])["c-000102"] == lens_content(run.path, found)
    steps = page.text.partition("What happened to c-000102")[2].partition("What happened to c-000222")[0]
    for line in found.lines:
        assert line.what.strip() in steps
    assert lens_contents(RunDirectory.open(pages["lock-race"].parent), ["1"]) == {}


@pytest.mark.chromium
def test_a_chosen_case_is_marked_in_the_timeline_and_its_steps_are_walked(
    pages: dict[str, Path], browser: Browser
) -> None:
    with opened(browser, pages["zone-crash"].as_uri()) as page:
        assert page.locator("#timeline rect.chosen").count() == 0
        first = page.locator(".story").first
        first.get_by_text("Show in the timeline").click()
        assert page.locator("#timeline rect.chosen").count() == 2  # begin and end of its push
        lens_box = first.locator(".lens")
        before = lens_box.locator(".step").text_content()
        lens_box.locator(".steps").press("ArrowRight")
        assert lens_box.locator(".step").text_content() != before
        assert page.locator(".story .step").nth(1).text_content() != lens_box.locator(".step").text_content()


def test_the_page_has_one_clock(pages: dict[str, Path]) -> None:
    """The detail of a fault has no time of its own, which would count from the begin of the load."""
    text = Page(pages["zone-crash"]).text
    table = text[text.rindex("Faults") : text.index("Figures")]
    assert '{"zone": "b", "restart": "keep"}' in table
    assert "at_s" not in table
    assert "at_s" in text[text.index("scenario.yaml") :]


def at_push(path: Path, *, faults: tuple[tuple[str, str, float, float], ...]) -> list[str]:
    """The stories of two stuck messages that zone b lacks."""
    builder = RunBuilder(path)
    for message_id, at_ms in (("one", 100), ("two", 400)):
        builder.push(message_id, at_ms=at_ms)
        for zone in "ac":
            builder.listed(message_id, zone=zone)
    for kind, target, begin_ms, end_ms in faults:
        builder.fault(kind, target, begin_ms=begin_ms, end_ms=end_ms)
    run = builder.write()
    (cases,) = (one for name, one in grouped_cases(RunDirectory.open(run), check(run)).items() if name == "stuck")
    return [f"{group.count} {group.first.case.subject}: {group.words}" for group in cases.groups]


LISTED = "never delivered; listed by a and c; b without it"


@pytest.mark.parametrize(
    ("faults", "stories"),
    [
        ((), [f"2 one: {LISTED}"]),
        ((("kill", "b", 50, 500),), [f"2 one: {LISTED}; kill b at its push"]),
        (
            (("kill", "b", 50, 200), ("pause", "c", 50, 200)),
            [
                f"1 one: {LISTED}; kill b and pause c at its push",
                f"1 two: {LISTED}; no fault at its push, 0.20 s after kill b",
            ],
        ),
        ((("wipe", "b", 600, 700),), [f"2 one: {LISTED}; no fault at its push, 0.50 s before wipe b"]),
        ((("wipe", "a", 600, 700),), [f"2 one: {LISTED}; no fault at its push"]),
    ],
)
def test_cases_of_one_story_are_one_group(tmp_path: Path, faults, stories: list[str]) -> None:
    assert at_push(tmp_path / "run", faults=faults) == stories


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (
            0,
            [
                *(
                    "No message was sent to the queue, in",
                    "There is no case of any class, but the verdict is open: nothing was pushed.",
                ),
                *("zonelab run", "--set load.rate_per_s=10", "the same with a load"),
            ],
        ),
        (1, ["1 message was sent", "There is no case of any class.", "zonelab hunt"]),
    ],
)
def test_a_run_of_nothing_and_of_one_message_has_its_answers(tmp_path: Path, messages: int, words: list[str]) -> None:
    builder = RunBuilder(tmp_path / "run")
    for number in range(messages):
        builder.push(f"m{number}", at_ms=10)
        builder.ack(f"m{number}", builder.pop(f"m{number}", at_ms=20), at_ms=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zonelab.analysis.figures.plot_style.save", left_blank)
        screen = first_screen(build_report(builder.write()))
    for part in (*words, "No zone was out during the load."):
        assert part in screen
    assert "zonelab lens" not in screen


def test_a_class_whose_cases_have_no_story_is_named_with_what_it_means(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=10)
    builder.ack("m", builder.pop("m", at_ms=20), at_ms=30)
    builder.payload("m", zone="b")
    run = builder.write()
    check(run)
    directory = RunDirectory.open(run)
    assert answers(directory, Result.examined(run, title="")).why == (
        f"orphan, 1 case: {MessageClass.ORPHAN.summary}.",
    )


def test_every_case_is_in_a_group_and_every_moment_under_a_fault(tmp_path: Path) -> None:
    run = eventful_run(tmp_path / "run").write()
    verdict = check(run)
    found = grouped_cases(RunDirectory.open(run), verdict)
    assert {name: one.count for name, one in found.items()} == {
        name: verdict.counts[name] for name in MessageClass if verdict.counts[name]
    }
    for one in found.values():
        assert one.looked_at == one.count == sum(group.count for group in one.groups)
        assert len(one.at_ns) == sum(count for _, count in one.by_fault)


def test_outages_of_a_zone_that_overlap_are_one(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=100, took_ms=200, outcome="fail", error="Unavailable", zone="b")
    builder.push("m", at_ms=150, took_ms=10, outcome="fail", error="Unavailable", zone="c")
    builder.push("m", at_ms=400, zone="b")
    builder.push("m", at_ms=161, zone="c")
    run = builder.write()
    assert [one.words for one in zone_outages(RunDirectory.open(run))] == ["zone b: push from 0.10 to 0.40 s"]


def test_a_mechanism_is_named_only_if_a_study_beside_the_run_detected_it(tmp_path: Path) -> None:
    builder = RunBuilder(tmp_path / "small" / "1")
    builder.push("m", at_ms=1)
    run = builder.write()
    check(run)

    def why() -> str:
        directory = RunDirectory.open(run)
        return next_steps(directory, Result.recorded(directory), {})[-1].why

    assert why() == "which mechanism of dyno's hardened mode prevents this"
    study = tmp_path / "dyno" / "ablate-0" / "ablate.json"
    study.parent.mkdir(parents=True)
    study.write_text('{"rows": [{"off": ["x"], "detected": ["early"]}, {"off": ["y"], "detected": ["lost"]}]}')
    assert why().endswith("prevents this: y did in the study beside this run")


def test_an_ablation_is_offered_of_engines_that_have_one() -> None:
    modes = {name: {"hardened", "fenced"} & set(one.modes) for name, one in ENGINES.items()}
    assert {name: {mode} for name, mode in ABLATED.items()} == {name: found for name, found in modes.items() if found}

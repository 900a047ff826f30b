"""Goal: somebody who does not know the classes reads first, in sentences, what a run tried and what it did. Method:
runs made by hand with known outcomes; whole sentences are compared, and every class has one.
"""

from pathlib import Path

import pytest
from support.analysis.accesses import Story
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.plain_words import access_words, queue_words
from zonelab.analysis.summary.queue_summary import load_summary, operation_summaries
from zonelab.analysis.workloads import WorkloadKind

pytestmark = pytest.mark.usefixtures("undrawn")


def words(run: Path) -> list[str]:
    directory = RunDirectory.open(run)
    return queue_words(check(run), load_summary(directory), directory.info, directory.faults())


def good(path: Path) -> RunBuilder:
    run = RunBuilder(path, level="DC_QUORUM")
    for number in range(4):
        run.push(f"m{number}", at_ms=10 * number, took_ms=2)
        run.ack(f"m{number}", run.pop(f"m{number}", at_ms=10 * number + 5), at_ms=10 * number + 8)
    return run


def test_a_valid_run_says_what_was_tried_and_that_it_is_one_example(tmp_path: Path) -> None:
    assert words(good(tmp_path / "run").write()) == [
        "Nothing happened in this run that must not happen.",
        "4 messages were sent to the queue, and 4 of them accepted, in 10.0 s, at DC_QUORUM, over 3 zones, "
        "without a fault.",
        "Half of the operations took at most, and 99 in 100 at most: push 2 and 2 ms, pop 1 and 1 ms, ack 1 and 1 ms "
        "(a pop waits for a message).",
        "One run is one example: another seed may show what this one did not.",
    ]


def test_a_push_takes_from_when_it_was_to_begin_as_in_the_sentences_of_the_checker(tmp_path: Path) -> None:
    run = good(tmp_path / "run")
    for number in range(4, 40):
        run.push(f"m{number}", at_ms=10 * number, took_ms=2, intended_ms=10 * number - 30)
    assert any("at most: push 32 and 32 ms, " in sentence for sentence in words(run.write()))


def test_an_invalid_run_names_what_happened_with_its_share_and_the_faults(tmp_path: Path) -> None:
    run = good(tmp_path / "run")
    run.push("gone", at_ms=90)
    run.fault("kill", "b", begin_ms=50, end_ms=100)
    run.pop("m0", at_ms=2_000)
    headline, tried, lost, again, *_ = words(run.write())
    assert headline == "Something happened in this run that must not happen."
    assert tried.endswith("over 3 zones, with 1 fault (kill b).")
    assert lost == "1 of 5 accepted messages (20 %) are gone, and nobody ever got them."
    assert again == "1 times a message that was finished was handed out again."


def test_faults_are_counted_and_each_kind_is_named_once_the_first_five(tmp_path: Path) -> None:
    run = good(tmp_path / "run")
    for number in range(14):
        run.fault("kill", "abcdefg"[number % 7], begin_ms=number, end_ms=number + 1)
    assert words(run.write())[1].endswith("with 14 faults (kill a, kill b, kill c, kill d, kill e, …).")


def test_what_cannot_be_told_is_said_with_its_reason(tmp_path: Path) -> None:
    headline, _, reason, *_ = words(good(tmp_path / "run").write(status="interrupted"))
    assert headline == "This run cannot tell whether its promises were kept."
    assert reason == "The run was interrupted."


@pytest.mark.parametrize("name", MessageClass)
def test_every_class_has_a_sentence(tmp_path: Path, name: MessageClass) -> None:
    run = eventful_run(tmp_path / "run").write(forbid=[name])
    count = check(run).counts[name]
    assert count == 0 or any(sentence.startswith(f"{count:,} ") for sentence in words(run)[2:])


def test_a_workload_is_told_in_the_meanings_of_its_anomalies(tmp_path: Path) -> None:
    told = Story(WorkloadKind.LOCK).add("acquire", 0, argument="a", applied=True)
    told.add("acquire", 9, argument="b", applied=True, zone="b").at_rest(a="a", b="a", c="a")
    directory = RunDirectory.open(told.directory(tmp_path / "told" / "1"))
    verdict = check(directory.path)
    found = access_words(verdict, operation_summaries(directory), directory.info, directory.faults())
    assert found[1].startswith("Clients of a lock began 2 operations")
    assert found[2] == "1 × a lock that was granted more than once."


def test_the_page_has_the_sentences_first_then_the_checkers_words_then_settings_and_versions(tmp_path: Path) -> None:
    page = build_report(eventful_run(tmp_path / "run").write(program="f00d", seed=41)).read_text()
    parts = (
        "Something happened in this run",
        "In the words of the checker",
        "broke the promise that an acknowledged message is delivered",
        "What happened to the messages",
        ">Again<",
        ">Settings<",
        '<th>seed</th><td class="words"><code>41</code>',
        "Versions and machine",
        "<dt>program</dt><dd>f00d</dd>",
    )
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_a_scenario_as_long_as_its_run_does_not_make_the_page_long(tmp_path: Path) -> None:
    run = good(tmp_path / "run").write()
    (run / "scenario.yaml").write_text("load:\n  operations: [" + ", ".join(["{id: something-long}"] * 20_000) + "]\n")
    assert len(build_report(run).read_text()) < 300_000

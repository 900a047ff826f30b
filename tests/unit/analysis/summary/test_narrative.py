"""Goal: somebody who does not know the classes reads, in sentences, what a run tried and what it did, or how several
runs differ; terminal, page and JSON have the same. Method: runs made by hand with known outcomes; whole sentences are
compared, and every class has one.
"""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.analysis.accesses import Story
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.cautions import cautions, cautions_about_medians
from zonelab.analysis.summary.left_behind import listed_by
from zonelab.analysis.summary.narrative import narrative
from zonelab.analysis.summary.result import Result
from zonelab.analysis.workloads import WorkloadKind
from zonelab.app.cli.main import run_cli
from zonelab.app.terminal.run_table import result_table
from zonelab.studies.reporting.console import console

pytestmark = pytest.mark.usefixtures("undrawn")


def words(run: Path) -> list[str]:
    return narrative([Result.examined(run, title="DC_ONE")])


def good(path: Path, *, level: str = "DC_QUORUM") -> RunBuilder:
    run = RunBuilder(path, level=level)
    for number in range(4):
        run.push(f"m{number}", at_ms=10 * number, took_ms=2, due_ms=10 * number, intended_ms=10 * number)
        run.ack(f"m{number}", run.pop(f"m{number}", at_ms=10 * number + 5), at_ms=10 * number + 8)
    return run


def test_a_valid_run_says_what_was_tried_and_that_it_is_one_example(tmp_path: Path) -> None:
    assert words(good(tmp_path / "run").write()) == [
        "Nothing happened in this run that must not happen.",
        "4 messages were sent to the queue, and 4 of them accepted, in 10 s, at DC_QUORUM, over 3 zones, "
        "without a fault.",
        "Every acknowledged message was delivered and acknowledged by its consumer.",
        "Half of the operations took at most, and 99 in 100 at most: push 2 and 2 ms, pop 1 and 1 ms, ack 1 and 1 ms "
        "(push from when it was planned; a pop waits for a message).",
        "One run is one example: another seed may show what this one did not.",
    ]


def test_a_run_of_programs_says_at_which_command_each_was_hit_and_which_was_not(tmp_path: Path) -> None:
    hit = {"signal": "SIGKILL", "hit": True, "when": "applied", "command": "ZPOPMIN jobs"}
    strikes = {"w-a-0": [hit], "w-b-0": [{"signal": "SIGSTOP", "hit": False}], "w-c-0": []}
    programs = {name: {"program": "w", "zone": name[2], "strikes": of_one} for name, of_one in strikes.items()}
    assert words(good(tmp_path / "run").write(programs=programs))[2:4] == [
        "w-a-0 is killed when every zone has applied this command, without its answer: ZPOPMIN jobs.",
        "The fault hit nothing of w-b-0: the command did not come while it lasted.",
    ]
    programs["w-b-0"]["strikes"] = [{"signal": "SIGKILL", "hit": False, "command": "ZPOPMIN jobs"}] * 4
    assert words(good(tmp_path / "unheld").write(programs=programs))[3] == (
        "The fault hit nothing of w-b-0, w-b-0, w-b-0 and 1 more: no process held the connection of the command."
    )
    programs["w-a-0"]["strikes"] = [hit] * 5
    told = words(good(tmp_path / "more").write(programs=programs))
    assert told[2:5] == [told[2]] * 3
    assert told[5] == "2 more programs were hit at a command; run.json has them."


def test_programs_without_an_event_are_not_called_missing_consumers(tmp_path: Path) -> None:
    silent = RunBuilder(tmp_path / "run", level="DC_ONE").write(programs={"w-a-0": {"program": "w", "zone": "a"}})
    assert words(silent)[0] == "DC_ONE: there is no begin, or none that counts, so nothing was delivered."


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
    assert lost == "1 of 5 accepted messages (20.0%) is gone, and nobody ever got it (lost)."
    assert again == "Once a message that was finished was handed out again (resurrected)."


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
    found = words(told.directory(tmp_path / "told" / "1"))
    assert found[1].startswith("Clients of a lock began 2 operations")
    assert found[2] == "1 × a lock that was granted more than once (two owners)."


def test_terminal_json_and_page_have_the_same_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    run = eventful_run(tmp_path / "run").write()
    assert run_cli(["check", str(run)]) == 1
    found = narrative([Result.recorded(RunDirectory.open(run))])
    assert "\n".join(found) in capsys.readouterr().out
    assert run_cli(["check", str(run), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["sentences"] == found
    page = unescape(build_report(run).read_text())
    assert [sentence for sentence in found if f">{sentence}</p>" not in page] == []


def test_the_page_has_the_sentences_first_then_the_checkers_words_then_settings_and_versions(tmp_path: Path) -> None:
    page = build_report(eventful_run(tmp_path / "run").write(program="f00d", seed=41)).read_text()
    parts = (
        "Something happened in this run",
        "In the words of the checker",
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


def examined(run: RunBuilder, *, title: str = "DC_ONE", **changes: Any) -> Result:
    return Result.examined(run.write(**changes), title=title)


def results(tmp_path: Path) -> list[Result]:
    run = good(tmp_path / "2", level="DC_ONE")
    run.push("gone", at_ms=50, took_ms=2, due_ms=60)
    run.push("left", at_ms=50, took_ms=2, due_ms=60)
    run.push("open", at_ms=50, took_ms=2, due_ms=60, outcome="info")
    for zone in "ac":
        run.listed("left", zone=zone)
    return [examined(run), examined(good(tmp_path / "1"), title="DC_QUORUM")]


def test_several_runs_are_compared_by_who_kept_the_promise_what_is_missing_and_the_price(tmp_path: Path) -> None:
    found = results(tmp_path)
    assert narrative(found) == [
        "DC_QUORUM kept; DC_ONE broke the promise that an acknowledged message is delivered, not before it is due "
        "and under one lease at a time.",
        "Acknowledged messages that their consumers never finished: 2 of 6 at DC_ONE (1 lost and 1 stuck, most of them "
        "listed by a and c, 33.3%); none at DC_QUORUM.",
        "What that cost the producers, in pushes: DC_ONE: 1 not confirmed, p99 2 ms; DC_QUORUM: all confirmed, "
        "p99 2 ms.",
    ]
    assert any(
        sentence.endswith("nobody finished it (stuck; most are listed by a and c).")
        for sentence in narrative(found[:1])
    )
    _, missing, _ = narrative(found[1:] * 2)
    assert missing == "Every acknowledged message was delivered and acknowledged by its consumer."


def finished(run: RunBuilder, **changes: Any) -> str:
    """The sentence on what was delivered; empty if there is none."""
    return "".join(one for one in narrative([examined(run, **changes)]) if one.startswith("Every acknowledged"))


def test_of_what_was_not_due_nothing_is_claimed(tmp_path: Path) -> None:
    for name, run in (("1", RunBuilder(tmp_path / "1")), ("2", good(tmp_path / "2"))):
        run.push("far", at_ms=50, due_ms=86_400_000)
        run.pop(at_ms=60)
        for zone in "abc":
            run.listed("far", zone=zone)
            run.payload("far", zone=zone)
        expected = "Every acknowledged message that was due was delivered and acknowledged by its consumer."
        assert finished(run) == (expected if name == "2" else "")
        assert any(sentence.endswith("nothing is known of its delivery (not due).") for sentence in words(run.path))


def test_dead_letters_are_not_said_to_be_acknowledged(tmp_path: Path) -> None:
    run = good(tmp_path)
    run.push("dead", at_ms=50)
    run.pop("dead", at_ms=55)
    run.listed("dead", zone="a", place="dead")
    assert finished(run) == (
        "Every acknowledged message was delivered and acknowledged by its consumer, but for 1 that the queue set aside "
        "as dead letters."
    )


def test_a_queue_without_leases_is_not_said_to_have_been_acknowledged(tmp_path: Path) -> None:
    run = good(tmp_path)
    run.push("taken", at_ms=50)
    run.pop("taken", at_ms=55)
    assert finished(run, queue=UNLEASED) == "Every acknowledged message was delivered."


UNLEASED = {"engine": "zset", "shards": dict(zip("abc", "abc", strict=True)), "leases": False}


@pytest.mark.parametrize(
    ("changes", "further"),
    [
        ({"forbid": ["lost", "stuck"]}, "."),
        ({"forbid": [*map(str, FORBIDDEN_DEFAULT), "late"]}, ", not before it is due and under one lease at a time."),
        (
            {"forbid": [*map(str, FORBIDDEN_DEFAULT), "late"], "late_ms": 1_000},
            ", not before it is due, no later than checks.late_ms after that and under one lease at a time.",
        ),
        ({"queue": UNLEASED}, ", not before it is due."),
        ({"forbid": ["early"]}, None),
    ],
)
def test_only_what_was_judged_is_claimed_of_several_runs(
    tmp_path: Path, changes: dict[str, Any], further: str | None
) -> None:
    first, *_ = narrative([examined(good(tmp_path), **changes)] * 2)
    if further is None:
        assert "promise" not in first
    else:
        assert first == f"DC_ONE and DC_ONE kept the promise that an acknowledged message is delivered{further}"


@pytest.mark.parametrize(("late_ms", "lease_ms", "said"), [(1_000, None, 0), (1_001, None, 1), (401, 400, 1)])
def test_lateness_is_named_beyond_a_second_or_a_lease(
    tmp_path: Path, late_ms: int, lease_ms: int | None, said: int
) -> None:
    run = RunBuilder(tmp_path, level="DC_ONE")
    run.push("m", at_ms=10, due_ms=10)
    run.ack("m", run.pop("m", at_ms=20, took_ms=late_ms - 10), at_ms=5_000)
    queue = {"engine": "dyno", "shards": dict(zip("abc", "abc", strict=True)), "lease_ms": lease_ms}
    found = [sentence for sentence in narrative([examined(run, queue=queue)]) if "delivered late" in sentence]
    assert len(found) == said
    if said:
        assert f"half of them {late_ms:,} ms and 1 in 100 {late_ms:,} ms or more" in found[0]
        assert found[0].endswith("No bound was set (checks.late_ms).")


def test_work_of_two_programs_is_said_with_how_long_it_lasted(tmp_path: Path) -> None:
    run = good(tmp_path)
    run.push("slow", at_ms=60)
    first = run.pop("slow", at_ms=70, took_ms=1, lease_end_ms=300, process="first")
    run.ack("slow", run.pop("slow", at_ms=400, took_ms=1, process="second"), at_ms=500)
    run.ack("slow", first, at_ms=600)
    found = narrative([examined(run)])
    assert "DC_ONE: two programs worked on one message for 99 / 99 / 99 ms (p50 / p99 / most)." in found
    assert any(one.endswith("no longer held it (zombie ack), which this scenario allows.") for one in found)


@pytest.mark.parametrize(("messages", "shown"), [(99, 1), (100, 0)])
def test_what_is_allowed_and_more_than_one_in_a_hundred_is_shown_beside_the_verdict(
    tmp_path: Path, messages: int, shown: int
) -> None:
    run = RunBuilder(tmp_path, level="DC_ONE")
    for number in range(messages):
        run.push(f"m{number}", at_ms=number)
        pop = run.pop(f"m{number}", at_ms=number + 5, lease_end_ms=20 if not number else None)
        if number:
            run.ack(f"m{number}", pop, at_ms=number + 8)
    run.ack("m0", run.pop("m0", at_ms=900), at_ms=905)
    result = examined(run)
    assert (result.words, len(result.allowed)) == ("valid", shown)
    screen = console()
    with screen.capture() as captured:
        screen.print(result_table([result], title="one run"))
    assert ("with 1 redelivered (1.01 per 100 messages)" in captured.get()) == bool(shown)
    verdict_line = build_report(tmp_path).read_text().partition('<strong class="word">')[2].partition("</strong>")[0]
    further = '<span class="allowed">, with 1 redelivered (1.01 per 100 messages)</span>' if shown else ""
    assert verdict_line == f"Valid{further}"


def test_what_is_not_known_of_a_run_is_said(tmp_path: Path) -> None:
    run = good(tmp_path)
    run.push("gone", at_ms=50, took_ms=2, due_ms=60)
    result = examined(run, unread_zones=["c"])
    promise, missing, *_ = narrative([result, result])
    assert promise.startswith("DC_ONE and DC_ONE left open the promise")
    assert "1 of 5 at DC_ONE (1 undecided, 20.0%)" in missing
    assert not any(sentence.startswith("Every") for sentence in narrative([result]))


def test_zones_that_hold_the_payload_only_do_not_list_a_message(tmp_path: Path) -> None:
    bad, _ = results(tmp_path)
    assert listed_by(bad.directory, MessageClass.STUCK) == "a and c"
    assert listed_by(bad.directory, MessageClass.ABANDONED) == ""


def test_the_table_has_a_column_per_run_and_fits_100_columns(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    screen = console()
    with screen.capture() as captured:
        screen.print(result_table(results(tmp_path), title="two runs"))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 100
    cells = {
        line.split("│")[0].strip(): [cell.strip() for cell in line.split("│")[1:]] for line in lines if "│" in line
    }
    assert cells["stuck"] == ["1", "0"]
    assert cells["indeterminate"] == ["1", "0"]
    assert cells["verdict"] == ["invalid", "valid"]


def busy(path: Path, **figures: float) -> Result:
    """A good run whose lab was late by ``figures`` of ``run.json``."""
    file = good(path, level="DC_ONE").write() / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **figures}))
    return Result.examined(path, title="DC_ONE")


def test_a_lab_that_was_kept_from_running_for_long_says_so_beside_its_result(tmp_path: Path) -> None:
    for stall_ms, expected in ((90.0, 0), (110.0, 1)):
        result = busy(tmp_path / str(stall_ms), longest_stall_ms=stall_ms, shortest_time_out_ms=500.0)
        found = [line for line in narrative([result]) if line.startswith("Caution: ")]
        assert len(found) == expected
    assert "110 ms at DC_ONE, where the shortest time-out is 500 ms" in found[0]


@pytest.mark.parametrize(
    ("found", "quantile", "late_ms", "swamped"),
    [
        (cautions, "p99", 0.1, None),
        (cautions, "p99", 0.3, "ack 1 ms"),
        (cautions, "p99", 0.5, "push 2 ms and ack 1 ms"),
        (cautions_about_medians, "p50", 0.4, None),
        (cautions_about_medians, "p50", 0.6, "ack 1 ms"),
        (cautions_about_medians, "p50", 1.1, "push 2 ms and ack 1 ms"),
    ],
)
def test_latencies_that_may_be_the_loops_own_are_said_with_both_figures(tmp_path, found, quantile, late_ms, swamped):
    sentences = found([busy(tmp_path, stall_p99_ms=late_ms)])
    assert len(sentences) == (swamped is not None)
    if sentences:
        expected = (
            f"late by more than {late_ms:.1f} ms at DC_ONE, where the latencies shown are: {swamped} ({quantile})"
        )
        assert expected in sentences[0]

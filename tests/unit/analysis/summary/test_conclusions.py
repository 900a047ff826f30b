"""Goal: what the demo says in words and in its table follows from the verdicts, and from nothing else.

Method: runs made by hand with known outcomes; whole sentences are compared.
"""

import json
from pathlib import Path

import pytest

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.summary.conclusions import cautions_about_medians, conclusion, listed_by
from zonelab.analysis.summary.result import Result
from zonelab.app.terminal.run_table import result_table
from zonelab.app.verbs.check import examine
from zonelab.app.verbs.check import sentences as sentences_of
from zonelab.studies.reporting.console import console


def good(path: Path, *, level: str) -> RunBuilder:
    run = RunBuilder(path, level=level)
    for number in range(4):
        run.push(f"m{number}", at_ms=10 * number, took_ms=2, due_ms=10 * number, intended_ms=10 * number)
        pop = run.pop(f"m{number}", at_ms=10 * number + 5, took_ms=1)
        run.ack(f"m{number}", pop, at_ms=10 * number + 8, took_ms=1)
    return run


def finished(run: RunBuilder, path: Path, *, title: str) -> Result:
    run.write()
    return examine(path, title=title)


def results(tmp_path: Path) -> list[Result]:
    fine = finished(good(tmp_path / "1", level="DC_QUORUM"), tmp_path / "1", title="DC_QUORUM")
    run = good(tmp_path / "2", level="DC_ONE")
    run.push("gone", at_ms=50, took_ms=2, due_ms=60)
    run.push("left", at_ms=50, took_ms=2, due_ms=60)
    run.push("open", at_ms=50, took_ms=2, due_ms=60, outcome="info")
    for zone in "ac":
        run.listed("left", zone=zone)
    return [finished(run, tmp_path / "2", title="DC_ONE"), fine]


def test_the_conclusion_counts_what_is_missing_and_names_who_kept_the_promise(tmp_path: Path) -> None:
    promise, missing, price = conclusion(results(tmp_path))
    assert promise == (
        "DC_QUORUM kept; DC_ONE broke the promise that an acknowledged message is delivered, not before it is due "
        "and under one lease at a time."
    )
    assert missing == (
        "Acknowledged messages that their consumers never finished: 2 of 6 at DC_ONE (1 lost and 1 stuck, most of them "
        "listed by a and c, 33.3 %); none at DC_QUORUM."
    )
    assert price == (
        "What that cost the producers, in pushes: DC_ONE: 1 not confirmed, p99 2.0 ms; DC_QUORUM: all confirmed, "
        "p99 2.0 ms."
    )


def test_a_good_run_alone_is_told_in_two_sentences(tmp_path: Path) -> None:
    promise, missing = conclusion([finished(good(tmp_path, level="DC_ONE"), tmp_path, title="DC_ONE")])
    assert promise.startswith("DC_ONE kept the promise")
    assert missing == "Every acknowledged message was delivered and acknowledged by its consumer."


def not_due(path: Path, *, beside: RunBuilder | None = None) -> Result:
    run = beside or RunBuilder(path, level="DC_ONE")
    run.push("far", at_ms=50, due_ms=86_400_000)
    run.pop(at_ms=60)
    for zone in "abc":
        run.listed("far", zone=zone)
        run.payload("far", zone=zone)
    return finished(run, path, title="DC_ONE")


def test_what_was_not_due_is_told_and_nothing_is_claimed_of_it(tmp_path: Path) -> None:
    told = "Not due by the end of the drain, so their delivery was not judged: {} acknowledged messages at DC_ONE."
    assert conclusion([not_due(tmp_path / "1")]) == [told.format("1 of 1")]
    promise, missing, beyond = conclusion([not_due(tmp_path / "2", beside=good(tmp_path / "2", level="DC_ONE"))])
    assert promise.startswith("DC_ONE kept the promise")
    assert missing == "Every acknowledged message that was due was delivered and acknowledged by its consumer."
    assert beyond == told.format("1 of 5")


def test_dead_letters_are_not_said_to_be_acknowledged(tmp_path: Path) -> None:
    run = good(tmp_path, level="DC_ONE")
    run.push("dead", at_ms=50)
    run.pop("dead", at_ms=55)
    run.listed("dead", zone="a", place="dead")
    _, missing = conclusion([finished(run, tmp_path, title="DC_ONE")])
    assert missing == (
        "Every acknowledged message was delivered and acknowledged by its consumer, but for 1 that the queue set aside "
        "as dead letters."
    )


def test_a_queue_without_leases_is_not_said_to_have_been_acknowledged(tmp_path: Path) -> None:
    run = good(tmp_path, level="DC_ONE")
    run.push("taken", at_ms=50)
    run.pop("taken", at_ms=55)
    run.write(queue={"engine": "zset", "shards": dict(zip("abc", "abc", strict=True)), "leases": False})
    _, missing = conclusion([examine(tmp_path, title="DC_ONE")])
    assert missing == "Every acknowledged message was delivered."


def sentences(run: RunBuilder, path: Path, **changes: object) -> list[str]:
    run.write(**changes)
    return conclusion([examine(path, title="DC_ONE")])


def test_only_what_was_judged_is_claimed(tmp_path: Path) -> None:
    run = good(tmp_path, level="DC_ONE")
    default = [str(name) for name in FORBIDDEN_DEFAULT]
    promised = "DC_ONE kept the promise that an acknowledged message is delivered"
    assert sentences(run, tmp_path, forbid=["lost", "stuck"])[0] == f"{promised}."
    assert sentences(run, tmp_path, forbid=[*default, "late"])[0].endswith(
        ", not before it is due and under one lease at a time."
    )
    assert sentences(run, tmp_path, forbid=[*default, "late"], late_ms=1_000)[0] == (
        f"{promised}, not before it is due, no later than checks.late_ms after that and under one lease at a time."
    )
    unleased = {"engine": "zset", "shards": dict(zip("abc", "abc", strict=True)), "leases": False}
    assert sentences(run, tmp_path, queue=unleased)[0] == f"{promised}, not before it is due."
    assert not any("promise" in sentence for sentence in sentences(run, tmp_path, forbid=["early"]))


@pytest.mark.parametrize(("late_ms", "lease_ms", "told"), [(1_000, None, 0), (1_001, None, 1), (401, 400, 1)])
def test_lateness_is_named_beyond_a_second_or_a_lease(
    tmp_path: Path, late_ms: int, lease_ms: int | None, told: int
) -> None:
    run = RunBuilder(tmp_path, level="DC_ONE")
    run.push("m", at_ms=10, due_ms=10)
    run.ack("m", run.pop("m", at_ms=20, took_ms=late_ms - 10), at_ms=5_000)
    queue = {"engine": "dyno", "shards": dict(zip("abc", "abc", strict=True)), "lease_ms": lease_ms}
    found = [sentence for sentence in sentences(run, tmp_path, queue=queue) if "delivered late" in sentence]
    assert len(found) == told
    if told:
        assert f"half of them {late_ms:,} ms and 1 in 100 {late_ms:,} ms or more" in found[0]
        assert found[0].endswith("No bound was set (checks.late_ms).")


def test_work_of_two_programs_and_acks_without_a_lease_are_told_beside_the_promise(tmp_path: Path) -> None:
    run = good(tmp_path, level="DC_ONE")
    run.push("slow", at_ms=60)
    first = run.pop("slow", at_ms=70, took_ms=1, lease_end_ms=300, process="first")
    run.ack("slow", run.pop("slow", at_ms=400, took_ms=1, process="second"), at_ms=500)
    run.ack("slow", first, at_ms=600)
    promise, _, overlap, zombie = sentences(run, tmp_path)
    assert promise.startswith("DC_ONE kept the promise")
    assert overlap == (
        "DC_ONE: on 1 message two or more programs worked at the same time, for 99 / 99 / 99 ms (p50 / p99 / most)."
    )
    assert zombie == "DC_ONE: 1 ack succeeded after the lease of the delivery had ended or passed to another."


@pytest.mark.parametrize(("messages", "told"), [(99, 1), (100, 0)])
def test_what_is_allowed_and_more_than_one_in_a_hundred_is_told_beside_the_verdict(
    tmp_path: Path, messages: int, told: int
) -> None:
    run = RunBuilder(tmp_path, level="DC_ONE")
    for number in range(messages):
        run.push(f"m{number}", at_ms=number)
        pop = run.pop(f"m{number}", at_ms=number + 5, lease_end_ms=20 if not number else None)
        if number:
            run.ack(f"m{number}", pop, at_ms=number + 8)
    run.ack("m0", run.pop("m0", at_ms=900), at_ms=905)
    result = finished(run, tmp_path, title="DC_ONE")
    assert (result.words, len(result.allowed)) == ("valid", told)
    assert [line for line in sentences_of(result) if line.startswith("Allowed")] == [
        "Allowed by this scenario, and more than 1 in 100: 1 redelivered (1.01 per 100 messages)."
    ] * told
    screen = console()
    with screen.capture() as captured:
        screen.print(result_table([result], title="one run"))
    assert ("with 1 redelivered (1.01 per 100 messages)" in captured.get()) == bool(told)
    verdict_line = build_report(tmp_path).read_text().partition('<strong class="word">')[2].partition("</strong>")[0]
    shown = '<span class="allowed">, with 1 redelivered (1.01 per 100 messages)</span>' if told else ""
    assert verdict_line == f"Valid{shown}"


def test_what_is_not_known_of_a_run_is_said(tmp_path: Path) -> None:
    run = good(tmp_path, level="DC_ONE")
    run.push("gone", at_ms=50, took_ms=2, due_ms=60)
    run.write(unread_zones=["c"])
    promise, missing, *_ = conclusion([examine(tmp_path, title="DC_ONE")])
    assert promise.startswith("DC_ONE left open the promise")
    assert "1 undecided at DC_ONE, as its end state is not known" in missing


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


def test_a_lab_that_was_kept_from_running_for_long_says_so_beside_its_result(tmp_path: Path) -> None:
    for stall_ms, cautions in ((90.0, 0), (110.0, 1)):
        path = tmp_path / str(stall_ms)
        result = finished(good(path, level="DC_ONE"), path, title="DC_ONE")
        told = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(
            json.dumps({**told, "longest_stall_ms": stall_ms, "shortest_time_out_ms": 500.0})
        )
        found = [line for line in conclusion([result]) if line.startswith("Caution: ")]
        assert len(found) == cautions
    assert "110 ms at DC_ONE, where the shortest time-out is 500 ms" in found[0]


@pytest.mark.parametrize(
    ("found", "quantile", "late_ms", "swamped"),
    [
        (conclusion, "p99", 0.1, None),
        (conclusion, "p99", 0.3, "ack 1.0 ms"),
        (conclusion, "p99", 0.5, "push 2.0 ms and ack 1.0 ms"),
        (cautions_about_medians, "p50", 0.4, None),
        (cautions_about_medians, "p50", 0.6, "ack 1.0 ms"),
        (cautions_about_medians, "p50", 1.1, "push 2.0 ms and ack 1.0 ms"),
    ],
)
def test_latencies_that_may_be_the_loops_own_are_told_with_both_figures(tmp_path, found, quantile, late_ms, swamped):
    good(tmp_path, level="DC_ONE").write()
    file = tmp_path / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "stall_p99_ms": late_ms}))
    cautions = [one for one in found([examine(tmp_path, title="DC_ONE")]) if one.startswith("Caution")]
    assert len(cautions) == (swamped is not None)
    if cautions:
        words = f"late by more than {late_ms:.1f} ms at DC_ONE, where the latencies shown are: {swamped} ({quantile})"
        assert words in cautions[0]

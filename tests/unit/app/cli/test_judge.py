"""Goal: a log of events, whoever wrote it, is judged as a run is, and what it does not say is not judged.

Method: write logs with one planted fault each, and by the code of docs/events.md, and judge them by the command line.
"""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.app.commands import zonelab_here
from support.app.event_logs import HEADER, T0_NS, sound, write_log
from support.project_files import ROOT
from support.scenarios.short_runs import zonelab_command

from zonelab.analysis.events.format import FIELDS, OPS
from zonelab.app.cli.main import run_cli


@pytest.fixture
def judge(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def judged(lines, *words, drained=True):
        log = write_log(tmp_path / "log.jsonl", lines, drained=drained)
        code = run_cli(["judge", str(log), "--no-report", "--json", *words])
        return code, json.loads(capsys.readouterr().out)

    return judged


def _counts(told):
    return {name: count for name, count in told["verdict"]["sections"]["queue"]["counts"].items() if count}


def _doubts(told):
    return told["verdict"]["sections"]["queue"]["doubts"]


def test_a_sound_log_is_valid_and_what_it_does_not_say_is_not_judged(judge):
    code, told = judge([*sound("m1"), *sound("m2", at_ms=2, worker="w2")])
    assert (code, told["valid"], told["events"], _counts(told)) == (0, True, 8, {})
    assert {"concurrent", "zombie_ack", "early", "stuck"} <= set(told["verdict"]["sections"]["queue"]["not_judged"])


LEASED = {"lease_ms": 1_000}


@pytest.mark.parametrize(
    ("lines", "found", "code"),
    [
        (sound("m2")[:2], {"lost": 1}, 1),
        (sound("m2")[:3], {"abandoned": 1}, 1),
        ([*sound("m2"), (50, "begin", "m2", "w2"), (55, "end", "m2", "w2")], {"resurrected": 1}, 1),
        ([(0, "push", "m2", "p", {"delay_ms": 100}), *sound("m2")[1:]], {"early": 1}, 1),
        ([*sound("m2")[:3], (7, "begin", "m2", "w2"), *sound("m2")[3:]], {"redelivered": 1, "overlap": 1}, 0),
        (
            [*sound("m2")[:2], (5, "begin", "m2", "w1", LEASED), (7, "begin", "m2", "w2", LEASED), *sound("m2")[3:]],
            {"concurrent": 1, "overlap": 1, "zombie_ack": 1},
            1,
        ),
        ([*sound("m2")[:3], (9, "failed", "m2", "w1"), *sound("m2", at_ms=20)[2:]], {"redelivered": 1}, 0),
        ([(3, "begin", "m2", "w1"), (4, "end", "m2", "w1")], {"unexpected": 1}, 1),
        ([*sound("m2")[:3], (7, "ending", "m2", "w1")], {}, 0),
        ([*sound("m2")[:3], (7, "ending", "m2", "w1"), *sound("m2")[3:]], {}, 0),
        ([*sound("m2")[:3], (7, "ending", "m2", "w2")], {"abandoned": 1}, 1),
        ([*sound("m2")[:2], (4, "ending", "m2", "w1"), *sound("m2")[2:3]], {"abandoned": 1}, 1),
        ([*sound("m2")[:3], (7, "ending", "m2", "w1"), (8, "begin", "m2", "w1")], {"redelivered": 1}, 0),
        ([*sound("m2")[:3], (7, "ending", "m2", "w1"), (9, "failed", "m2", "w1")], {"abandoned": 1}, 1),
        ([(3, "push", "m2", "p"), (4, "refused", "m2", "p")], {}, 0),
        ([(3, "push", "m2", "p"), (9, "begin", "m2", "w"), (10, "end", "m2", "w")], {"recovered": 1}, 0),
    ],
)
def test_each_planted_fault_is_in_its_class_and_no_other(judge, lines, found, code):
    got, told = judge([*sound("m1"), *sorted(lines, key=lambda line: line[0])])
    assert (_counts(told), got) == (found, code)


def test_an_ack_takes_from_ending_to_end(judge):
    lines = [*sound("m1")[:3], (7, "ending", "m1", "w1"), (27, "end", "m1", "w1")]
    code, told = judge(lines)
    assert code == 0
    timed = {row["f"]: row["service_ms"] for row in told["summary"]["operations"] if row["zone"] == "all"}
    assert timed["ack"]["count"] == 1
    assert timed["ack"]["p50"] == pytest.approx(20, rel=0.05)


def test_sentences_on_a_log_name_no_level_and_only_zones_that_it_names(judge):
    sent = "2 messages were sent to the queue, and 2 of them accepted, in 1 s"
    lines = [*sound("m1"), *sound("m2", at_ms=999)]
    assert judge(lines)[1]["sentences"][1] == f"{sent}, with no fault on record."
    zoned = [(at_ms, op, name, who, {"zone": who[0]}) for at_ms, op, name, who in lines]
    assert judge(zoned)[1]["sentences"][1] == f"{sent}, over 2 zones, with no fault on record."


def test_two_workers_at_once_are_forbidden_if_asked(judge):
    code, told = judge([*sound("m")[:3], (7, "begin", "m", "w2"), *sound("m")[3:]], "--forbid", "overlap")
    assert (code, _counts(told)["overlap"]) == (1, 1)


def test_without_a_word_that_the_queue_was_emptied_the_unfinished_is_undecided(judge):
    code, told = judge([*sound("m1"), *sound("m2")[:2]], drained=False)
    assert (code, _counts(told)) == (2, {"undecided": 1})
    code, told = judge([*sound("m1"), *sound("m2")[:2]], "--drained", drained=False)
    assert (code, _counts(told)) == (1, {"lost": 1})


def test_a_log_without_a_begin_says_so_and_nothing_of_consumers(judge):
    code, told = judge(sound("m1")[:2])
    assert (code, told["sentences"][0]) == (
        1,
        "events: there is no begin, or none that counts, so nothing was delivered.",
    )


def test_the_begins_and_ends_of_one_program_are_paired_from_the_inside(judge):
    lines = [(0, "push", "m", "p"), (1, "accepted", "m", "p")]
    lines += [(at, "begin", "m", "w") for at in (2, 3, 4)] + [(at, "end", "m", "w") for at in (5, 6, 7)]
    code, told = judge(lines)
    assert (code, _counts(told), _doubts(told)) == (0, {"redelivered": 2}, [])


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        ([*sound("m")[:2], (2, "push", "m", "other"), *sound("m")[2:]], "line 4 (program other): m is pushed again"),
        ([*sound("m")[:2], (9, "end", "m", "w1")], "line 4 (program w1): m ends here, and its begin is not in the log"),
        (
            [(-60_000, "begin", "m", "w1"), (-59_999, "end", "m", "w1"), *sound("m")[:2]],
            "line 2 (program w1): m begins 60,000 ms before producer pushed it: their clocks disagree",
        ),
        (
            [*sound("m"), (8, "effect", "m", "shop"), (9, "effect", "m", "shop")],
            "line 7 (program shop): m has more effects than attempts: a run that no worker reported",
        ),
    ],
)
def test_events_that_contradict_each_other_leave_a_doubt_with_line_and_program(judge, lines, doubt):
    code, told = judge(lines)
    assert code == 2
    assert any(doubt in line for line in _doubts(told)), _doubts(told)


def test_of_messages_that_clocks_put_before_their_push_nobody_says_that_they_came_early(judge):
    pushed, accepted, *_ = sound("m")
    lines = [(-60_000, "begin", "m", "w1"), (-59_999, "end", "m", "w1"), (*pushed, {"delay_ms": 500}), accepted]
    code, told = judge(lines)
    assert (code, _counts(told), "their clocks disagree" in _doubts(told)[0]) == (2, {}, True)
    assert "early" in told["verdict"]["sections"]["queue"]["not_judged"]


@pytest.mark.parametrize("again", [[(9, "push", "m2", "p")], [(9, "push", "m2", "p"), (9, "accepted", "m2", "p")]])
@pytest.mark.parametrize(
    "more",
    [
        [],
        [(10, "begin", "m2", "w2"), (11, "end", "m2", "w2")],
        [(10, "begin", "m2", "w2", LEASED), (11, "begin", "m2", "w1", LEASED)],
        [(10, "begin", "m2", "w2"), (11, "end", "m2", "w2"), (12, "effect", "m1", "shop")],
    ],
)
def test_an_id_of_two_messages_is_judged_as_none_of_them(judge, again, more):
    code, told = judge([*sound("m1"), *sound("m2"), *again, *more])
    assert (code, _counts(told)) == (2, {})
    assert "m2 is pushed again" in _doubts(told)[0]


def test_begins_that_do_not_count_are_not_said_to_be_missing(judge):
    code, told = judge([*sound("m"), (9, "push", "m", "p")])
    assert (code, told["sentences"][0]) == (
        2,
        "events: there is no begin, or none that counts, so nothing was delivered.",
    )


@pytest.mark.parametrize("again", [(9, "end", "m", "w1"), (9, "end", "m", "w2"), (9, "failed", "m", "w1")])
def test_an_end_that_is_said_twice_is_no_second_run(judge, again):
    code, told = judge([*sound("m"), again])
    assert (code, _counts(told)) == (2, {})
    assert "m ends here, and its begin is not in the log" in _doubts(told)[0]


def test_an_end_without_its_begin_that_is_followed_by_a_run_is_a_run_of_its_own(judge):
    pushed, accepted, *_ = sound("m")
    code, told = judge([pushed, accepted, (3, "end", "m", "w1"), (5, "begin", "m", "w2"), (6, "end", "m", "w2")])
    assert (code, _counts(told)) == (1, {"resurrected": 1})


def test_an_end_that_another_program_says_finishes_a_message(judge):
    code, told = judge([*sound("m")[:3], (9, "end", "m", "w2")])
    assert (code, "abandoned" in _counts(told)) == (2, False)


def test_an_id_of_two_messages_hides_nothing_of_others(judge):
    code, told = judge([*sound("m1")[:2], *sound("m2"), (9, "push", "m2", "p")])
    assert (code, _counts(told)) == (1, {"lost": 1})


def test_an_end_before_its_effect_is_seen_by_what_has_the_effect_and_by_nothing_else(judge):
    first = [*sound("m1"), *sound("m2", at_ms=10)]
    assert judge(first)[0] == 0
    code, told = judge([*first, (20, "effect", "m1", "shop")])
    assert (code, _counts(told)) == (1, {"abandoned": 1})


def test_logs_of_several_programs_are_one_and_programs_are_named_after_their_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, chosen in (("producer", sound("m")[:2]), ("worker", sound("m")[2:])):
        lines = write_log(tmp_path / f"{name}.jsonl", chosen).read_text().replace('"program"', '"was"')
        (tmp_path / f"{name}.jsonl").write_text(lines)
    assert run_cli(["judge", "producer.jsonl", "worker.jsonl", "--no-report", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run_cli(["check", run]) == 0
    capsys.readouterr()
    assert run_cli(["judge", "worker.jsonl", "--no-report", "--json"]) == 2
    assert "nothing was pushed" in _doubts(json.loads(capsys.readouterr().out))


def test_the_empty_log_of_a_program_that_had_no_job_adds_nothing(judge, tmp_path):
    (tmp_path / "idle.jsonl").touch()
    code, told = judge(sound("m"), "idle.jsonl")
    assert (code, told["events"]) == (0, 4)
    code, told = judge(sound("m")[:2], "idle.jsonl")
    assert (code, _counts(told)["lost"]) == (1, 1), "the logs are drained, the empty one or not"


def test_a_log_that_gzip_packed_is_read_and_a_part_of_one_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = write_log(tmp_path / "log.jsonl", sound("m")).read_text().replace('"program"', '"was"')
    packed = gzip.compress(lines.encode())
    Path("w.jsonl.gz").write_bytes(packed)
    Path("torn.gz").write_bytes(packed[:-9])
    assert run_cli(["judge", "w.jsonl.gz", "--no-report", "--json"]) == 0
    run = Path(json.loads(capsys.readouterr().out)["run"])
    processes = pq.read_table(run / "history" / "operations-000001.parquet", columns=["process"])["process"]
    assert set(processes.to_pylist()) == {"w"}
    assert run_cli(["judge", "torn.gz"]) == 64
    assert capsys.readouterr().err.startswith("zonelab: torn.gz: is not a whole gzip file: ")
    Path("none.gz").write_bytes(gzip.compress(b""))
    assert run_cli(["judge", "none.gz"]) == 64
    assert capsys.readouterr().err.startswith("zonelab: none.gz: got no event")


def test_without_times_lines_count_in_their_order(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path / "log.jsonl", [*sound("m")[2:], *sound("m")[:2]])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("\n".join(json.dumps({**one, "t_ns": None, "delay_ms": 5}) for one in lines[3:] + lines[1:3]))
    assert run_cli(["judge", "log.jsonl", "--no-report", "--drained", "--json"]) == 0
    assert "early" in json.loads(capsys.readouterr().out)["verdict"]["sections"]["queue"]["not_judged"]


FIRST = json.dumps({"op": "push", "id": "m", "t_ns": T0_NS, "program": "p"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "log.jsonl: got no event; accepted: a line of JSON an event"),
        ("id,time\n", "line 1: got 'id,time'; accepted: an event"),
        ('{"format": "zonelab-events", "version": 2}', "line 1: version: got 2; accepted: 1"),
        (json.dumps(HEADER), "got no event"),
        (
            FIRST + '\n\n{"op": "pushh", "id": "m", "program": "w"}',
            'line 3 (program w): op: got "pushh"; accepted: push, ',
        ),
        (FIRST + '\n{"op": "begin"}', "line 2 (program log): id: got null; accepted: text of 1 to 1,000 characters"),
        (FIRST + '\n{"op": "begin", "id": 7}', "line 2 (program log): id: got 7; accepted: text"),
        (FIRST + '\n{"op": "begin", "id": "m", "t_ns": 1.5}', "t_ns: got 1.5; accepted: a whole number from 0"),
        (FIRST + '\n{"op": "begin", "id": "m", "t_ns": -1}', "t_ns: got -1; accepted: a whole number from 0"),
        (
            FIRST + '\n{"op": "begin", "id"',
            'line 2 (program log): got \'{"op": "begin", "id"\'; accepted: an object in JSON',
        ),
        (FIRST + '\n{"op": "begin", "id": "' + "x" * 10_000_000 + '"}', "line 2 (program log): got 10,000,025 bytes; "),
        (
            f'{FIRST}\n{{"op": "begin", "id": "m", "body": "{"x" * 1_000_000}"}}\n{FIRST}',
            "line 2 (program log): got 1,000,038 bytes; ",
        ),
    ],
)
def test_what_is_no_event_is_one_line_with_its_line_and_program(text, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text(text, encoding="utf-8")
    assert run_cli(["judge", "log.jsonl"]) == 64
    errors = capsys.readouterr().err
    assert (told in errors, errors.count("\n"), Path("runs").exists()) == (True, 1, False), errors


def test_a_file_that_is_not_there_and_no_file_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [run_cli(["judge", "nowhere.jsonl"]), run_cli(["judge"])] == [64, 64]
    assert capsys.readouterr().err.splitlines() == [
        "zonelab: nowhere.jsonl: No such file or directory",
        "zonelab: judge needs FILE",
    ]


def test_the_schema_has_every_field_and_every_op(capsys):
    assert run_cli(["judge", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"].keys() == FIELDS.keys()
    assert schema["properties"]["op"]["enum"] == list(OPS)


def test_what_has_one_moment_in_a_log_took_no_time_that_anybody_knows(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path / "log.jsonl", [line for at in range(2) for line in sound(f"m{at}", at_ms=at * 7)])
    assert run_cli(["judge", str(log)]) == 0
    shown = capsys.readouterr().out
    page = Path(shown.split()[-1])
    summary = json.loads((page.parent / "summary.json").read_text())
    timed = {row["f"]: row["service_ms"]["count"] for row in summary["operations"] if row["zone"] == "all"}
    assert timed == {"push": 2, "pop": 0, "ack": 0}
    away_s = {row["f"]: row["unavailability_s"] for row in summary["operations"] if row["zone"] == "all"}
    assert away_s == {"push": 0, "pop": None, "ack": None}, "nobody knows what was tried"
    rows = [line.split("│") for line in shown.splitlines() if "unavailable, zone-seconds" in line]
    assert {name.split()[0]: value.strip() for name, value in rows} == {
        "push": "0",
        "pop": "not known",
        "ack": "not known",
    }
    text = page.read_text()
    assert text.count("not known") == 4, "pop and ack, of the zone and of all"
    assert "with no fault on record" in text
    assert "No outage is on record" in text
    assert "zonelab hunt" not in text, "nobody can simulate what left a log"


def test_a_log_on_stdin_gets_a_report_and_compares_with_another(tmp_path):
    log = write_log(tmp_path / "log.jsonl", [line for at in range(20) for line in sound(f"m{at}", at_ms=at * 7)])
    ran = subprocess.run(
        [*zonelab_command(), "judge", "-"], input=log.read_bytes(), cwd=tmp_path, capture_output=True, check=True
    )
    page = ran.stdout.decode().split()[-1]
    assert "lost" in Path(page).read_text()
    run = str(Path(page).parent)
    assert zonelab_here("compare", run, run, cwd=tmp_path).returncode == 0
    assert "m3" in zonelab_here("lens", run, "m3", cwd=tmp_path).stdout


MAIN = {
    "python": "{code}\n{calls}\n",
    "javascript": "{code}\n{calls}\n",
    "go": 'package main\n\nimport (\n"encoding/json"\n"fmt"\n"os"\n"time"\n)\n\n{code}\nfunc main() {{\n{calls}\n}}\n',
    "ruby": "{code}\n{calls}\n",
    "java": "import java.io.*;\nimport java.nio.file.*;\nimport java.time.*;\n"
    "import static java.nio.file.StandardOpenOption.*;\n\n"
    "class Main {{\n{code}\npublic static void main(String[] words) throws IOException {{\n{calls}\n}}\n}}\n",
}
PROGRAMS = {
    "python": (["python3"], "main.py", 'event("{op}", "m")', 'event("push", "m", delay_ms=0)'),
    "javascript": (["node"], "main.js", 'event("{op}", "m");', 'event("push", "m", {delay_ms: 0});'),
    "go": (["go", "run"], "main.go", 'event("{op}", "m", nil)', 'event("push", "m", map[string]any{"delay_ms": 0})'),
    "ruby": (["ruby"], "main.rb", 'event("{op}", "m")', 'event("push", "m", delay_ms: 0)'),
    "java": (["java"], "Main.java", 'event("{op}", "m", "");', 'event("push", "m", ",\\"delay_ms\\":0");'),
}


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_ten_lines_of_the_page_write_a_log_that_is_judged(language, tmp_path, capsys, monkeypatch):
    command, file, call, push = PROGRAMS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on this machine")
    (code,) = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs/events.md").read_text(), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    calls = "\n".join([push, *(call.format(op=op) for op in ("accepted", "begin", "end"))])
    (tmp_path / file).write_text(MAIN[language].format(code=code, calls=calls))
    subprocess.run([*command, file], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    assert run_cli(["judge", "events.jsonl", "--no-report", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["events"], "early" in told["verdict"]["sections"]["queue"]["not_judged"]) == (4, False)

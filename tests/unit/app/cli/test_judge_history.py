"""Goal: a history of Jepsen, or of Porcupine's operations, is judged as a run with the same clients is.

Method: export runs with planted anomalies and judge what was exported; histories in Jepsen's own words with one anomaly
each; and files that are no history.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.app.commands import zonelab_here

from zonelab.app.cli.main import run_cli

SCENARIOS = {
    "register": ("stale-quorum-read",),
    "set": ("sets", "--set", "load.duration_s=1", "--set", "faults=[{kind: cut, isolate: b, at_s: 0.3, for_s: 0.3}]"),
    "lock": ("lock-race", "--level", "DC_ONE", "--set", "load.duration_s=0.2"),
    "counter": ("counter-ids", "--level", "DC_ONE", "--set", "load.duration_s=0.3"),
    "list": ("eval-pops-differ",),
}


def judged(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run_cli(["judge", str(path), "--no-report", "--json", "--dir", str(path.parent / "judged"), *words])
    found = capsys.readouterr()
    assert found.err == ""
    return code, json.loads(found.out)


def section(told: dict[str, Any]) -> dict[str, Any]:
    return told["verdict"]["sections"]["consistency"]


@pytest.mark.parametrize("model", SCENARIOS)
def test_a_run_that_is_exported_and_judged_has_the_verdict_of_the_run(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    done = zonelab_here("run", *SCENARIOS[model], "--on", "sim", "--json", cwd=tmp_path)
    assert done.stdout, done.stderr
    run = tmp_path / json.loads(done.stdout)["run"]
    was = section(json.loads(done.stdout))
    assert any(was["counts"].values())  # or the comparison would be of nothing
    for ending in ("edn", "json"):
        path = tmp_path / f"history.{ending}"
        assert run_cli(["export", str(run), "--as", "jepsen", "--out", str(path)]) == 0
        code, told = judged(capsys, path, "--format", "jepsen", "--model", model)
        assert code == done.returncode
        found = section(told)
        assert {name: found[name] for name in ("counts", "cases", "operations")} == {
            name: was[name] for name in ("counts", "cases", "operations")
        }
    path = tmp_path / "operations.jsonl"
    assert run_cli(["export", str(run), "--as", "porcupine", "--out", str(path)]) == 0
    found = section(judged(capsys, path, "--format", "porcupine", "--model", model)[1])
    end_matters = {"applied_in_doubt", "applied_after_fail", *found["not_judged"]}
    told = {name: count for name, count in found["counts"].items() if name not in end_matters}
    assert told == {name: was["counts"][name] for name in told}


def op(type_: str, process: int, f: str, value: str) -> str:
    return f"{{:type {type_}, :process {process}, :f {f}, :value {value}}}"


def whole(process: int, f: str, value: str, got: str | None = None, *, ends: str = ":ok") -> list[str]:
    return [op(":invoke", process, f, value), op(ends, process, f, value if got is None else got)]


def reads(*values: str, process: int = 1) -> list[str]:
    return [line for value in values for line in whole(process, ":read", "nil", value)]


def again(lines: list[str]) -> list[str]:
    """The same with values of a key each, as of ``jepsen.independent``."""
    return [f"{line.replace(':value ', ':value [7 ')[:-1]}]}}" for line in lines]


HISTORIES = [
    ("register", [*whole(0, ":write", "1"), *reads("1", "1")], 0, {}),
    ("register", [*whole(0, ":write", "1"), *whole(0, ":write", "2"), *reads("1")], 1, {"nonlinearizable": 1}),
    ("register", [*whole(0, ":write", "1"), *whole(0, ":write", "1"), *reads("1", "1")], 0, {}),
    (
        "register",
        [*whole(0, ":write", "1", ends=":fail"), *reads("1")],
        1,
        {"nonlinearizable": 1, "applied_after_fail": 1},
    ),
    ("register", [*whole(0, ":write", "1", ends=":info"), *reads("nil", "1")], 0, {"applied_in_doubt": 1}),
    ("register", [*whole(0, ":write", "1"), *whole(0, ":cas", "[1 2]"), *reads("2")], 0, {}),
    ("register", [*whole(0, ":write", "1"), *whole(0, ":cas", "[1 2]", ends=":fail"), *reads("1")], 0, {}),
    ("register", [*whole(0, ":cas", "[nil 2]"), *whole(0, ":cas", "[5 6]")], 1, {"nonlinearizable": 1}),
    ("set", [*whole(0, ":add", "1"), *whole(0, ":add", "2"), *reads("#{1 2}")], 0, {}),
    ("set", [*whole(0, ":add", "1"), *whole(0, ":add", "2"), *reads("[1]")], 1, {"lost_add": 1, "stale_read": 1}),
    ("lock", [*whole(0, ":acquire", "nil"), *whole(1, ":acquire", "nil")], 1, {"two_owners": 1}),
    ("counter", [*whole(0, ":generate", "nil", "4"), *whole(1, ":generate", "nil", "5")], 0, {}),
    ("counter", [*whole(0, ":generate", "nil", "4"), *whole(1, ":generate", "nil", "4")], 1, {"duplicate_number": 1}),
    ("list", [*whole(0, ":enqueue", "4"), *whole(1, ":dequeue", "nil", "4")] * 1, 0, {}),
    (
        "list",
        [*whole(0, ":enqueue", "4"), *whole(1, ":dequeue", "nil", "4"), *whole(2, ":dequeue", "nil", "4")],
        1,
        {"popped_twice": 1},
    ),
]


@pytest.mark.parametrize(("model", "lines", "code", "found"), HISTORIES)
def test_a_planted_anomaly_is_found_and_no_other(
    model: str, lines: list[str], code: int, found: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "history.edn"
    for text in ("\n".join(lines), f"[{' '.join(lines)}]", "\n".join(again(lines))):
        path.write_text(text)
        got, told = judged(capsys, path, "--format", "jepsen", "--model", model)
        counts = {name: count for name, count in section(told)["counts"].items() if count}
        shown = {
            name: count for name, count in counts.items() if name not in ("stale_read", "unwritten") or name in found
        }
        assert (got, shown) == (code, found)


def test_what_a_history_does_not_say_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "history.edn"
    path.write_text("\n".join(whole(0, ":write", "1")))
    assert {"lost_write", "divergent"} <= set(section(judged(capsys, path, *AS_REGISTER)[1])["not_judged"])
    path.write_text("\n".join(whole(0, ":write", "1") * 2))
    assert "applied_after_fail" in section(judged(capsys, path, *AS_REGISTER)[1])["not_judged"]


def test_a_judged_history_has_a_report(tmp_path: Path):
    (tmp_path / "history.edn").write_text("\n".join([*whole(0, ":write", "1"), *reads("nil")]))
    done = zonelab_here("judge", "history.edn", *AS_REGISTER, cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "not linearizable" in Path(tmp_path / done.stdout.split()[-1]).read_text() or "nonlinearizable" in done.stdout
    )


AS_REGISTER = ("--format", "jepsen", "--model", "register")
AS_OPERATIONS = ("--format", "porcupine", "--model", "register")
OPERATION = {"ClientId": 0, "Input": {"op": "read"}, "Call": 5, "Output": {}, "Return": 9}


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("", AS_REGISTER, "no operation of a client in it"),
        ("{:type :ok", AS_REGISTER, "line 1: } is missing at the end; accepted: EDN, or JSON"),
        ('{"type": "ok",\n7}', AS_REGISTER, "line 2: "),
        ("7", AS_REGISTER, "event 1: got '7'; accepted: a map"),
        ("{:type :done}", AS_REGISTER, "event 1: type: got done; accepted: invoke, ok, fail, info"),
        (op(":ok", 0, ":read", "1"), AS_REGISTER, "event 1: process 0 ends what it has not begun"),
        (op(":invoke", 0, ":read", "1") * 2, AS_REGISTER, "event 2: process 0 begins before its last operation has"),
        (op(":invoke", 0, ":txn", "[]"), AS_REGISTER, "event 1: operation: got txn; accepted of a register: cas, "),
        (op(":invoke", 0, ":cas", "1"), AS_REGISTER, "event 1: value of a cas: got 1; accepted: [old new]"),
        ("[7]", AS_OPERATIONS, "line 1: got '[7]'; accepted: an operation, as an object in JSON"),
        (json.dumps({**OPERATION, "Call": "x"}), AS_OPERATIONS, 'line 1: Call: got "x"; accepted: a whole number'),
        (json.dumps({**OPERATION, "Return": 4}), AS_OPERATIONS, "line 1: Return: got 4; accepted: not before Call"),
        (
            json.dumps({**OPERATION, "Output": {"status": "lost"}}),
            AS_OPERATIONS,
            "line 1: status: got lost; accepted: ok, fail, info",
        ),
        (json.dumps({**OPERATION, "Input": {}}), AS_OPERATIONS, "line 1: operation: got None; accepted of a register"),
        ("", ("--format", "jepsen"), "got --format jepsen without --model; accepted: "),
        ("", ("--model", "lock"), "got --format events with --model; accepted: "),
        ("", (*AS_REGISTER, "--drained"), "--drained and --forbid need --format events"),
        ("", ("--format", "jepsen", "--model", "queue"), "Invalid value for '--model': 'queue' is not one of "),
    ],
)
def test_what_is_no_history_is_one_line(
    text: str, words: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "history.edn"
    path.write_text(text)
    assert run_cli(["judge", str(path), "--dir", str(tmp_path / "runs"), *words]) == 64
    error = capsys.readouterr().err
    assert (told in error, error.count("\n"), (tmp_path / "runs").exists()) == (True, 1, False), error

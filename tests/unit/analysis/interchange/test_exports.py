"""Goal: exports for OpenTelemetry, Jepsen, Porcupine and CSV say what the history says, in the words of those tools.

Method: short simulated runs of a queue and of workloads, by the command line; small ones by hand for what is rare.
"""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from support.app.commands import zonelab_here
from support.scenarios.short_runs import scenario_file, table_rows

from zonelab.analysis.interchange.edn import EdnError, Keyword, read_all, written
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.app.cli.main import run_cli


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("user")
    scenario_file(folder, load={"duration_s": 0.5}, faults=[{"kind": "kill", "zone": "b", "at_s": 0.1, "for_s": 0.2}])
    kill = "faults=[{kind: kill, zone: b, at_s: 0.3, for_s: 0.3}]"
    lines = [("short.yaml",), ("registers", "--set", "load.duration_s=1", "--set", kill), ("eval-pops-differ",)]
    found = {}
    for name, words in zip(("queue", "register", "list"), lines, strict=True):
        done = zonelab_here("run", *words, "--on", "sim", "--json", cwd=folder)
        found[name] = Path(json.loads(done.stdout)["run"])
        found[name] = found[name] if found[name].is_absolute() else folder / found[name]
    return found


def exported(run: Path, format_: str, capsys: pytest.CaptureFixture[str], *words: str) -> list[Path]:
    capsys.readouterr()
    assert run_cli(["export", str(run), "--as", format_, "--json", *words]) == 0
    return [Path(path) for path in json.loads(capsys.readouterr().out)["files"]]


def spans_of(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text().splitlines())
    return [span for line in lines for one in line["resourceSpans"] for of in one["scopeSpans"] for span in of["spans"]]


def test_a_message_is_a_trace_of_one_root(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    [path] = exported(runs["queue"], "otlp", capsys)
    traces = defaultdict(list)
    for span in spans_of(path):
        traces[span["traceId"]].append(span)
    rows = [row for row in table_rows(runs["queue"], "operations") if row["message_id"] is not None]
    assert len(traces) == len({row["message_id"] for row in rows})
    assert sum(map(len, traces.values())) == sum(row["type"] != "invoke" for row in rows)
    for own in traces.values():
        ids = {span["spanId"] for span in own}
        roots = [span for span in own if "parentSpanId" not in span]
        assert [span["name"].split()[0] for span in roots] == ["push"]
        assert all(span["parentSpanId"] in ids for span in own if span not in roots)
        assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in own)
        assert {len(span["spanId"]) for span in own} == {16}


def test_a_redelivery_has_a_link_to_the_delivery_before_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    builder = RunBuilder(tmp_path / "run")
    builder.push("m", at_ms=0)
    builder.pop("m", at_ms=10)
    second = builder.pop("m", at_ms=2_000)
    builder.ack("m", second, at_ms=2_010, outcome="fail", error="no lease")
    push, first, again, ack = spans_of(exported(builder.write(), "otlp", capsys)[0])
    assert "links" not in first
    assert [link["spanId"] for link in again["links"]] == [first["spanId"]]
    assert (again["parentSpanId"], ack["parentSpanId"]) == (push["spanId"], again["spanId"])
    assert ack["status"] == {"code": 2, "message": "no lease"}


def test_a_history_of_jepsen_is_the_same_in_both_spellings(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    edn, as_json = exported(runs["register"], "jepsen", capsys)
    maps = list(read_all(edn.read_text()))
    assert maps == [json.loads(line) for line in as_json.read_text().splitlines()]
    assert [one["index"] for one in maps] == list(range(len(maps)))
    assert [one["time"] for one in maps] == sorted(one["time"] for one in maps)
    rows = Counter(row["type"] for row in table_rows(runs["register"], "operations"))
    assert sum(one["type"] == "invoke" for one in maps) == rows["invoke"]
    assert {one["f"] for one in maps if one["process"] != "nemesis"} == {"read", "write", "cas"}
    assert isinstance(maps[0]["f"], Keyword)


def test_a_process_of_jepsen_does_one_thing_at_a_time_and_nothing_after_what_is_in_doubt(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
):
    for name in runs:
        doing: dict[int, Any] = {}
        gone = set()
        for one in read_all(exported(runs[name], "jepsen", capsys)[0].read_text()):
            process = one["process"]
            if process == "nemesis":
                continue
            assert process not in gone
            assert (process in doing) == (one["type"] != "invoke")
            if one["type"] == "invoke":
                doing[process] = one
            else:
                del doing[process]
                gone |= {process} if one["type"] == "info" else set()


def test_faults_are_of_the_nemesis(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    [path] = exported(runs["queue"], "jepsen", capsys, "--out", str(runs["queue"] / "own.edn"))
    told = [(one["f"], one["value"]) for one in read_all(path.read_text()) if one["process"] == "nemesis"]
    assert told == [("start-kill", "b")] * 2 + [("stop-kill", "b")] * 2


def test_porcupine_gets_every_operation_once(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]):
    for name in runs:
        [path] = exported(runs[name], "porcupine", capsys)
        found = [json.loads(line) for line in path.read_text().splitlines()]
        ids = {row["op_id"] for row in table_rows(runs[name], "operations")}
        assert len(found) == len(ids)
        assert all(one["Call"] <= one["Return"] < 2**63 for one in found)
        assert {one["Return"] == 2**63 - 1 for one in found if one["Output"]["status"] == "info"} <= {True}


def test_csv_has_the_rows_of_the_tables(runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path):
    paths = exported(runs["register"], "csv", capsys, "--out", str(tmp_path / "tables"))
    assert [path.name for path in paths] == ["operations.csv", "faults.csv", "depth.csv", "values.csv"]
    for path in paths:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        kept = table_rows(runs["register"], path.stem)
        assert len(rows) == len(kept)
        assert [row["op_id"] for row in rows if "op_id" in row] == [str(row["op_id"]) for row in kept if "op_id" in row]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--as", "otlp"], "has a register and no messages to trace; accepted: --as perfetto, --as jepsen, "),
        (["--as", "jepsen", "--out", "x.txt"], "--out x.txt: accepted with --as jepsen: a file that ends in .edn or "),
        (["--as", "porcupine", "--out", "."], "--out . is a folder; accepted: a file"),
        (["--as", "vcd"], "Invalid value for '--as': 'vcd' is not one of "),
    ],
)
def test_what_a_run_has_not_is_one_line(
    words: list[str], told: str, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
):
    capsys.readouterr()
    assert run_cli(["export", str(runs["register"]), *words]) == 64
    error = capsys.readouterr().err
    assert (told in error, error.count("\n")) == (True, 1), error


def test_an_unknown_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run_cli(["export", str(tmp_path / "nowhere"), "--as", "csv"]) == 64
    assert capsys.readouterr().err == f"zonelab: {tmp_path}/nowhere: no such run directory\n"


VALUES = [None, True, -7, 'a "b" \\ \n', Keyword("k"), [1, [2, "x"]], {Keyword("a"): [None]}, frozenset({"p", "q"})]


def test_edn_is_read_as_it_was_written():
    assert list(read_all(" ".join(map(written, VALUES)))) == VALUES


def test_edn_of_jepsen_with_tags_comments_and_discards_is_read():
    text = '; a history\n#jepsen.history.Op{:type :ok, :value #_ old [1 nil] :x #inst "2026", :y 1.5e3 , :z \\a}'
    assert list(read_all(text)) == [{"type": "ok", "value": [1, None], "x": "2026", "y": 1500.0, "z": "\\a"}]


@pytest.mark.parametrize("text", ["[1", "{:a}", "]", '"open', "[" * 200])
def test_what_is_no_edn_is_refused(text: str):
    with pytest.raises(EdnError):
        list(read_all(text))

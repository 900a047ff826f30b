"""Goal: ``zonelab index`` has hunts with their denominators beside runs, and says in one line if there is neither.

Method: command lines in this process, on files of results as studies write them.
"""

import json
from pathlib import Path

import pytest

from zonelab.analysis.observation import Observation
from zonelab.app.cli.main import run_cli

HEADER = {"experiment": "feedbeef", "environment": {"sources": "cccc", "python": "3"}}


def result(seed: int, *, valid: bool | str | None = True, setting: str = "s", **counts: int) -> dict[str, object]:
    """A line of a file of results; ``redelivered`` is not forbidden."""
    violated = tuple(name for name in counts if name != "redelivered")
    one = Observation(valid=valid, counts=counts, violated=violated, problem=None if valid else "no room")
    return {"setting": setting, "seed": seed, "result": one.to_json()}


def written(path: Path, *lines: object, end: str = "\n") -> None:
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(map(json.dumps, lines)) + end)


def many_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert run_cli(["index", str(folder), "--json"]) == 0
    return {one["place"]: one for one in json.loads(capsys.readouterr().out)["many_runs"]}


def test_a_study_has_its_denominators_and_its_invalid_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shown = [result(1), result(2, valid=False, lost=3), result(3, valid="unknown"), result(4, valid=None)]
    written(tmp_path / "s/hunt-1/results.jsonl", HEADER, *shown, {"cut": "off"}, end="")
    written(
        tmp_path / "s/sweep-0/results.jsonl", HEADER, *shown, result(5, lost=1), result(2, setting="t", redelivered=5)
    )
    written(tmp_path / "s/notes/other.jsonl", {"unlike": "results"})
    found = many_of(tmp_path, capsys)
    assert set(found) == {"s/sweep-0/results.jsonl", "s/hunt-1/results.jsonl"}
    assert {one["program"] for one in found.values()} == {"cccc"}
    [row] = found["s/hunt-1/results.jsonl"]["rows"]
    assert (row["runs"], row["judged"], row["failed"]) == (4, 2, 1)
    assert (row["failing"], row["first_seed"]) == ({"lost": 1}, {"lost": 2})
    first, other = found["s/sweep-0/results.jsonl"]["rows"]
    assert (first["runs"], first["judged"], first["failed"], first["failing"]) == (5, 3, 1, {"lost": 2})
    assert (other["runs"], other["failed"], other["failing"]) == (1, 0, {})


def test_a_hunt_that_went_on_is_counted_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "s/hunt-1/results.jsonl"
    written(path, HEADER, result(1))
    many_of(tmp_path, capsys)
    with path.open("a") as file:
        file.write(json.dumps(result(2)) + "\n")
    [row] = many_of(tmp_path, capsys)["s/hunt-1/results.jsonl"]["rows"]
    assert row["runs"] == 2


@pytest.mark.parametrize(
    ("name", "told"), [("empty", "no run, hunt or evaluation in it; "), ("none", "no such run directory")]
)
def test_a_folder_without_runs_is_told_in_one_line(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "empty").mkdir()
    assert run_cli(["index", str(tmp_path / name)]) == 64
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert list((tmp_path / "empty").iterdir()) == []


def test_an_evaluation_is_listed_with_its_answer_and_one_that_cannot_be_read_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    told = {"scenario": "s", "answer": "Recommended: x", "exit_code": 0, "settings": [{}, {}], "command": "again"}
    written(tmp_path / "s/evaluate-1/evaluate.json", {**told, "runs": {"no fault": 4, "down for 1 s": 5}})
    written(tmp_path / "s/evaluate-2/evaluate.json", told)
    assert run_cli(["index", str(tmp_path), "--json"]) == 0
    found = {one["place"]: one for one in json.loads(capsys.readouterr().out)["evaluations"]}
    one = found["s/evaluate-1"]
    assert (one["answer"], one["exit_code"], one["settings"], one["runs"]) == ("Recommended: x", 0, 2, 9)
    assert found["s/evaluate-2"]["problem"] == "evaluate.json: 'runs'"
    assert run_cli(["index", str(tmp_path)]) == 0
    counted = "0 runs, 0 of them read now; 0 folders of many runs; 2 evaluations; 0 findings open, 0 runs broken."
    assert capsys.readouterr().out.splitlines()[-2:] == [counted, str(tmp_path / "index.html")]
    page = (tmp_path / "index.html").read_text()
    assert 'href="./s/evaluate-1/report.html"' in page
    assert "evaluate.json: &#39;runs&#39;" in page

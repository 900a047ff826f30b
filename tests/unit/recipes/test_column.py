"""Goal: a new column of the history takes four product files at most, as CONTRIBUTING says, and both arms have it.

Method: ``length``, the number of characters of a body, planted in a copy of the product: recorded, read and judged.
"""

import json

import pytest
from support.planted_tree import PlantedTree

TRY = """
import json
from pathlib import Path
from zonelab.analysis.checkers.check import check
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.spark.messages import EVENTS
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.reading import load_scenario

def found(lengths):
    run = RunBuilder(Path("runs") / "-".join(map(str, lengths)))
    run.push("m", at_ms=0, body="text", length=lengths[0])
    run.ack("m", run.pop("m", at_ms=9, body="text", length=lengths[1]), at_ms=11)
    path = run.write()
    columns = [batch["length"].to_pylist() for batch in RunDirectory.open(path).operations(["length"])]
    return [columns, check(path).counts["unexpected"]]

def without():
    from zonelab.analysis.runs import history, tables, segments
    import pyarrow.parquet as pq
    path = Path("runs/4-4/history/operations-000001.parquet")
    older = pq.read_table(path).drop_columns("length")
    pq.write_table(older.replace_schema_metadata(pq.read_schema(path).metadata), path)
    return next(RunDirectory.open(Path("runs/4-4")).operations(["length"]))["length"].null_count

scenario = load_scenario("steady", overrides=["load.duration_s=1"])
trial = attempt(scenario)
operations = trial.tables.tables["operations"].batch(["f", "type", "length"]).to_pylist()
print(json.dumps({
    "recorded": sorted({(row["f"], row["length"] is not None) for row in operations if row["type"] == "ok"}),
    "valid": trial.verdict.valid, "same": found((4, 4)), "other": found((4, 5)), "older": without(),
    "in sql": ", length" in EVENTS,
}))
"""


ROW = "    body = EventColumn[np.int64]()\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> PlantedTree:
    tree = PlantedTree(tmp_path_factory.mktemp("tree"))
    tree.edit(
        "analysis/runs/history.py",
        ("\n\n\n_MARKS =", "\n    length: Annotated[_NumberOrNull, _LATER] = None\n\n\n_MARKS ="),
    )
    recorded = [f"        body=body_sum({message}.payload),\n" for message in ("message", "delivery.message")]
    tree.edit(
        "scenarios/clients/recorder.py",
        *((line, line + line.replace("body=body_sum", "length=len")) for line in recorded),
    )
    tree.edit("analysis/checkers/queue/events.py", (ROW, ROW + ROW.replace("body", "length")))
    tree.edit(
        "analysis/checkers/queue/messages.py",
        (
            "        return self.partition.marked(pops.message[pops.body != least[pops.message]])\n",
            "        sent = np.full(len(self.partition), ABSENT)\n"
            "        np.maximum.at(sent, pushes.message, pushes.length)\n"
            "        other = (pops.body != least[pops.message]) | (pops.length != sent[pops.message])\n"
            "        return self.partition.marked(pops.message[other])\n",
        ),
    )
    return tree


def test_it_takes_four_files_at_most(tree: PlantedTree) -> None:
    assert len(tree.touched) <= 4


def test_it_is_recorded_kept_read_and_judged_and_null_in_older_runs(tree: PlantedTree) -> None:
    assert json.loads(tree.python("-c", TRY).stdout) == {
        "recorded": [["ack", True], ["pop", False], ["pop", True], ["push", True]],
        "valid": True,
        "same": [[[4, 4, None, 4, None, None]], 0],
        "other": [[[4, 4, None, 5, None, None]], 1],
        "older": 6,
        "in sql": True,
    }

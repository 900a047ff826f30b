"""Goal: what is read out of a history does not depend on how it is cut into batches and segments.

Method: one run in which most classes occur and pops touch several messages, whose events therefore lie across cuts;
every reader that keeps something from one batch to the next, at every small size of a batch.
"""

from functools import partialmethod
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.comparison.samples import read_series, read_zone_medians
from zonelab.analysis.figures.plot_data import completions
from zonelab.analysis.figures.timeline import timeline
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.tables import WRITTEN_AS_KEY
from zonelab.analysis.stories.message_stories import message_stories
from zonelab.analysis.summary.overload import overloads
from zonelab.analysis.summary.run_summary import summarise

CUTS = [7, 61]


def run_across_cuts(path: Path) -> Path:
    run: RunBuilder = eventful_run(path)
    for number in range(30):
        names = [f"batch-{number}-{place}" for place in range(1 + number % 5)]
        for name in names:
            run.push(name, at_ms=4_000 + 10 * number, due_ms=4_005 + 10 * number, zone="c")
        pop = run.pop(*names, at_ms=4_010 + 10 * number, took_ms=2, zone="c")
        for name in names:
            run.ack(name, pop, at_ms=4_020 + 10 * number, zone="c")
    return run.write()


def everything_read(path: Path) -> dict[str, object]:
    run = RunDirectory.open(path)
    return {
        "summary": summarise(path).operations,
        "overload": overloads(run),
        "figures": {
            name: {
                column: repr(getattr(part, column).tolist())
                for column in ("time_s", "service_ms", "response_ms", "type")
            }
            for name, part in completions(run).items()
        },
        "timeline": timeline(run),
        "comparison": {
            str(metric): (np.sort(series.values_ms).tolist(), series.count, series.every)
            for metric, series in read_series(run).items()
        },
        "medians": read_zone_medians(run),
        "stories": message_stories(run, check(path).cases),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_across_cuts(tmp_path_factory.mktemp("batches") / "run")


@pytest.fixture(scope="module")
def whole(path: Path) -> dict[str, object]:
    return everything_read(path)


def read_by(batch_rows: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setattr(RunDirectory, "operations", partialmethod(RunDirectory.operations, batch_rows=batch_rows))
    return everything_read(path)


@pytest.mark.parametrize("batch_rows", CUTS)
def test_nothing_depends_on_the_size_of_batches(batch_rows: int, path: Path, whole, monkeypatch) -> None:
    cut = read_by(batch_rows, path, monkeypatch)
    for name, found in whole.items():
        assert cut[name] == found, name


@pytest.mark.parametrize("rows", [50])
def test_nor_on_the_size_of_segments_and_of_row_groups(rows: int, tmp_path: Path, whole) -> None:
    path = run_across_cuts(tmp_path / "run")
    (segment,) = (path / "history").glob("operations-*.parquet")
    table = pq.read_table(segment)
    segment.unlink()
    for number, begin in enumerate(range(0, table.num_rows, rows), start=1):
        name = f"operations-{number:06}"
        metadata = {**(table.schema.metadata or {}), WRITTEN_AS_KEY: name.encode()}
        part = table.slice(begin, rows).replace_schema_metadata(metadata)
        pq.write_table(part, path / "history" / f"{name}.parquet", row_group_size=7)
    cut = everything_read(path)
    for name, found in whole.items():
        assert cut[name] == found, name

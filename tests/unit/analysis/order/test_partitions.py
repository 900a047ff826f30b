"""Goal: where groups stand in partitions is told from disk, also of a run without an end. Method: small histories."""

from pathlib import Path

import pytest
from support.analysis.orders import Ordered
from support.app.commands import zonelab_here

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.order import ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.summary.partitions import partition_states
from zonelab.scenarios.run_files.tables import FileTables

SECOND = 1_000_000_000


def recorded(path: Path, topic: Ordered) -> RunDirectory:
    """The history of ``topic`` so far, and nothing at rest."""
    run = RunBuilder(path).write(segments={})
    table = FileTables(run, SECOND)(ORDER_NAME, ORDER)
    for index, row in enumerate(topic.rows):
        table.append({"generation": 2, **row, "index": index})
    table.close()
    return RunDirectory.open(run)


@pytest.fixture
def topic() -> Ordered:
    """A message of two is done by m, which lost the partition to n; another group is done with its own partition."""
    topic = Ordered()
    for partition in ("t/0", "t/0", "t/1"):
        topic.produce(partition=partition)
    topic.grant("m-1", member="m").work(0)
    topic.grant("n-1", member="n")
    other = topic.grant("o-1", group="h", partition="t/1", member="o")
    other.work(0)
    other.decided(OrderKind.RELEASE, member="o")
    topic.now += 100_000  # longer than a message may wait
    topic.add(OrderKind.MEMBER, group="g", session="n-1", member="n", status="crashed")
    return topic


def test_owner_token_cursor_lag_and_cause(topic: Ordered, tmp_path: Path) -> None:
    waiting, done = partition_states(recorded(tmp_path, topic))
    assert (waiting.group, waiting.partition, waiting.owner, waiting.token) == ("g", "t/0", "n", (2, 2))
    assert (waiting.cursor, waiting.log_end, waiting.lag) == (1, 2, 1)
    assert [(one.cause, one.offset, one.end_ns) for one in waiting.standstills] == [("dead holder", 1, None)]
    assert (done.owner, done.lease_end_ns, done.cursor, done.lag, done.standstills) == (None, None, 1, 0, ())


def test_a_table_for_people_and_one_line_without_order(topic: Ordered, tmp_path: Path) -> None:
    run = recorded(tmp_path / "ordered", topic)
    told = zonelab_here("partitions", str(run.path), cwd=tmp_path)
    assert "dead holder: offset 1" in told.stdout
    with pytest.raises(RunError, match="no ordered messages"):
        partition_states(RunDirectory.open(RunBuilder(tmp_path / "plain").write()))

"""Goal: a partition's log gives dense offsets, knows idempotent producers, keeps cursors, and is trimmed.

Method: one simulated server; for what zones disagree about, three.
"""

import pytest
from support.cluster.sim_lab import simulated_lab
from support.engine.fifo import LogBench

from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.log.partition_log import AppendResult, OutOfSequence
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord


@pytest.fixture
def bench(lab):
    return LogBench(lab)


def test_offsets_are_dense_from_0_and_records_are_read_from_any(bench):
    assert [bench.append(number).offset for number in (1, 2, 3)] == [0, 1, 2]
    assert bench.listed(offset=1) == [(1, "p2"), (2, "p3")]
    assert bench.listed(count=2) == [(0, "p1"), (1, "p2")]
    assert bench.run(bench.logs.end(bench.partition)) == 3


def test_a_record_is_read_as_it_was_written(bench):
    bench.append(7)
    (entry,) = bench.run(bench.logs.read(bench.partition, offset=0, count=1))
    record = entry.record
    assert (record.id, record.key, record.body, record.producer, record.sequence) == ("p7", "k", "é", "p", 7)


def test_a_plain_append_knows_no_repetition(bench):
    assert [bench.append(1).offset, bench.append(1).offset] == [0, 1]


def test_an_idempotent_append_takes_only_what_follows(bench):
    assert bench.append(1, idempotent=True) == AppendResult(0, duplicate=False)
    assert bench.append(2, idempotent=True) == AppendResult(1, duplicate=False)
    assert bench.append(2, idempotent=True) == AppendResult(1, duplicate=True)
    with pytest.raises(OutOfSequence, match="number 1 of producer 'p' is older than 2"):
        bench.append(1, idempotent=True)
    with pytest.raises(OutOfSequence, match="number 4 of producer 'p' leaves a gap after 2"):
        bench.append(4, idempotent=True)
    assert bench.append(1, "q", idempotent=True) == AppendResult(2, duplicate=False)
    assert bench.listed() == [(0, "p1"), (1, "p2"), (2, "q1")]


def test_how_far_a_group_is_is_whatever_was_written_last(bench):
    progress = bench.logs.progress
    assert bench.run(progress(bench.partition, "g")) is None
    for told in (Progress(5), Progress(3, (5, 9))):
        bench.run(bench.logs.commit(bench.partition, "g", told))
        assert bench.run(progress(bench.partition, "g")) == told
    assert bench.run(progress(bench.partition, "other")) is None


def test_a_log_is_trimmed_behind_its_slowest_group(bench):
    for number in range(1, 6):
        bench.append(number)
    bench.append(1, "old", idempotent=True)
    for number in range(6, 11):
        bench.append(number)
    bench.append(1, "new", idempotent=True)
    assert bench.run(bench.logs.trim(bench.partition, kept=0)) == 0  # no group has said how far it is
    bench.run(bench.logs.join(bench.partition, "slow", 0))
    bench.run(bench.logs.commit(bench.partition, "fast", Progress(12)))
    assert bench.run(bench.logs.trim(bench.partition, kept=0)) == 0  # another began in front of all
    bench.run(bench.logs.commit(bench.partition, "slow", Progress(8, (10,))))
    assert bench.run(bench.logs.trim(bench.partition, kept=3)) == 5
    assert bench.listed()[0] == (5, "old1")
    assert bench.append(1, "old", idempotent=True) == AppendResult(5, duplicate=True)
    assert bench.run(bench.logs.trim(bench.partition, kept=0)) == 3
    assert bench.listed() == [(8, "p8"), (9, "p9"), (10, "p10"), (11, "new1")]
    assert not bench.append(1, "old", idempotent=True).duplicate
    assert bench.append(1, "new", idempotent=True) == AppendResult(11, duplicate=True)


def test_zones_may_order_two_producers_differently():
    """Each zone gives offsets by itself, as a script that is carried out everywhere must."""
    with simulated_lab("a", "b", "c", lag="constant:10ms") as lab:
        bench = LogBench(lab)
        near = {zone: bench.through(lab.connection(zone, Level.DC_ONE)) for zone in "ab"}

        async def at_the_same_time():
            tasks = [lab.runtime.spawn(append_in(zone), name=zone) for zone in "ab"]
            return [(await task.join()).offset for task in tasks]

        def append_in(zone):
            record = PartitionRecord(id=zone, key="k", body="", producer=zone, sequence=1)
            return near[zone].append(bench.partition, record, idempotent=False)

        assert lab.run(at_the_same_time()) == [0, 0]
        lab.run(lab.runtime.sleep(100_000_000))
        logs = {zone: bench.listed(logs=bench.through(lab.direct(zone))) for zone in "ab"}
        assert logs == {"a": [(0, "a"), (1, "b")], "b": [(0, "b"), (1, "a")]}

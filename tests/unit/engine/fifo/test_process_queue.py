"""Goal: the cache of a partition takes, commits and gives back as RocketMQ's process queue. Method: its own tests."""

from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import LogEntry, PartitionRecord
from zonelab.engine.fifo.partition import Partition


def entries(*offsets):
    return [
        LogEntry(each, PartitionRecord(id=str(each), key="k", body="12345", producer="p", sequence=1))
        for each in offsets
    ]


def queue(*offsets):
    made = ProcessQueue(Partition("t", "a", 0), next_offset=0, locked=True, now_ms=0)
    made.put(entries(*offsets))
    return made


def taken(made, count):
    return [each.entry.offset for each in made.take(count)]


def test_what_is_taken_and_committed_is_cached_no_more():
    made = queue(*range(100))
    assert (made.cached, made.cached_bytes) == (100, 500)
    assert taken(made, 10) == list(range(10))
    assert (made.cached, made.cached_bytes) == (100, 500)
    assert made.commit() == Progress(10)
    assert (made.cached, made.cached_bytes) == (90, 450)
    assert made.commit() is None


def test_only_one_request_is_under_way():
    made = queue()
    assert not made.put([])
    assert made.put(entries(1))
    assert not made.put(entries(2))
    assert taken(made, 9) == [1, 2]
    assert taken(made, 9) == []
    assert made.put(entries(3))


def test_the_lowest_offsets_are_taken_first_whatever_was_given_back():
    made = queue(*range(6))
    first, batch = made.take(2), made.take(2)
    made.put_back(batch)
    assert taken(made, 1) == [2]
    made.roll_back()
    assert taken(made, 9) == [0, 1, 2, 3, 4, 5]
    assert (made.cached, made.cached_bytes, made.commit()) == (6, 30, Progress(6))
    assert [each.entry.offset for each in first] == [0, 1]

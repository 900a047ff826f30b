"""Goal: equal runs have equal trace hashes, and others do not. Method: small programs, and notes by hand."""

import pytest

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.schedule import Schedule, TieBreak
from zonelab.cluster.sim.trace import Trace, first_difference


def run(*, delay_ns=1, name="x", seed=1):
    sim = SimRuntime(seed=seed, schedule=Schedule(tie_break=TieBreak.FIFO), keep_trace=True)

    async def program():
        await sim.sleep(delay_ns)
        sim.note("step", name)

    sim.run_until_complete(program())
    return sim


def test_a_different_time_or_name_of_one_event_changes_the_hash():
    hashes = [run().trace_hash, run(delay_ns=2).trace_hash, run(name="y").trace_hash]
    assert len(set(hashes)) == 3
    assert run().trace_hash == hashes[0]


def test_an_event_that_nobody_noted_changes_the_hash_too():
    one, other = Trace(), Trace()
    one.times_ns.append(5)
    other.times_ns.append(6)
    assert one.hexdigest() != other.hexdigest()


def test_the_hash_is_the_same_however_often_it_is_asked_for():
    asked, unasked = Trace(), Trace()
    for number in range(3000):
        for trace in (asked, unasked):
            trace.times_ns.append(number)
            trace.note(number, "step", "x")
        if number % 100 == 0:
            asked.hexdigest()
    assert asked.hexdigest() == unasked.hexdigest()
    assert asked.events == 3000


def test_the_first_difference_of_two_runs_is_told():
    assert first_difference(run().trace, run().trace) is None
    told = first_difference(run().trace, run(name="y").trace)
    assert told == "note 1: '1 step x' in one run, '1 step y' in the other"


def test_a_run_that_stops_short_differs_where_it_stops():
    short, long = Trace(keep=True), Trace(keep=True)
    long.note(1, "step", "x")
    assert first_difference(short, long) == "note 0: 'nothing' in one run, '1 step x' in the other"


def test_traces_that_were_not_kept_cannot_be_compared():
    with pytest.raises(ValueError, match="keep=True"):
        first_difference(Trace(), Trace())

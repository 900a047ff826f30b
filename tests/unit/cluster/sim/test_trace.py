"""Goal: equal runs have equal trace hashes under any hash seed of Python. Method: a racing program, in subprocesses."""

import os
import subprocess
import sys
import textwrap

import pytest

from cluster.sim.runtime import SimRuntime
from cluster.sim.schedule import Schedule, TieBreak
from cluster.sim.trace import Trace, first_difference

PROGRAM = textwrap.dedent(
    """
    import sys
    from cluster.sim.runtime import SimRuntime
    from cluster.sim.schedule import Schedule

    sim = SimRuntime(seed=int(sys.argv[1]), schedule=Schedule(tie_break=sys.argv[2]), keep_trace=True)
    names = {f"worker {number}": number for number in range(20)}

    async def worker(name):
        random = sim.random(name)
        for _ in range(20):
            await sim.sleep(random.randrange(5))
            sim.note("step", name)

    async def program():
        for task in [sim.spawn(worker(name), name=name) for name in names]:
            await task.join()

    sim.run_until_complete(program())
    print(sim.trace_hash)
    """
)


def trace_hash(seed, tie_break, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", PROGRAM, str(seed), tie_break]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.parametrize("tie_break", tuple(TieBreak))
def test_the_hash_does_not_depend_on_pythons_hash_seed(tie_break):
    assert trace_hash(1, tie_break, "0") == trace_hash(1, tie_break, "4711") != ""


def test_another_seed_gives_another_hash():
    assert trace_hash(1, "random", "0") != trace_hash(2, "random", "0")


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

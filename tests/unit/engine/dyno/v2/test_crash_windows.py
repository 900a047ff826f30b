"""A client of the pipelined queue that dies, or loses a pipeline, leaves known states, and they mend as documented.

Method: a connection that is cut at a chosen pipeline after a chosen number of its commands, on a simulated server, then
the server's content as states: H payload, Q waiting, U leased. Most tests hold in both modes; where ``compat`` differs
they say so.
"""

import pytest
from support.engine.dyno_v2 import LEASE_MS, PipelinedBench

from zonelab.engine.dyno.v2 import BatchAckFailure, BatchPushFailure
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, Unavailable

IDS = ["x", "y", "z"]
BATCH = [Message(id=each, payload=f"first {each}", priority=7) for each in IDS]
WAITING, LEASED, ORPHAN, BLOCKED, GONE = "H Q", "H U", "H", "H Q U", "-"


def states(bench):
    content = bench.content()
    return [content.state(each) for each in IDS]


def pushed(bench):
    bench.run(bench.queue.push(BATCH))
    assert states(bench) == [WAITING] * 3
    return bench


def leased(bench):
    assert pushed(bench).pop() == IDS
    assert states(bench) == [LEASED] * 3
    return bench


@pytest.mark.parametrize("applied", [None, 0, 1, 2, 3, 4, 5, 6])
def test_a_cut_push_pipeline_leaves_a_prefix_and_never_an_id_without_payload(bench, applied):
    raised = bench.cut(bench.queue.push(BATCH), after_pipelines=0, applied=applied)
    assert isinstance(raised, BatchPushFailure)
    assert isinstance(raised, Unavailable if applied is None else Indeterminate)
    assert (raised.receipts, raised.failed_ids) == ((), ("x", "y", "z"))
    whole, half = divmod(applied or 0, 2)
    assert states(bench) == ([WAITING] * whole + [ORPHAN] * half + [GONE] * 3)[:3]
    bench.run(bench.queue.push(BATCH))
    assert states(bench) == [WAITING] * 3


# The range read, leases, removals, payloads.
@pytest.mark.parametrize(
    ("after_pipelines", "applied", "left"),
    [
        (0, None, [WAITING, WAITING, WAITING]),
        (1, None, [WAITING, WAITING, WAITING]),
        (1, 1, [BLOCKED, WAITING, WAITING]),
        (1, 3, [BLOCKED, BLOCKED, BLOCKED]),
        (2, 2, [LEASED, LEASED, BLOCKED]),
        (3, None, [LEASED, LEASED, LEASED]),
    ],
)
def test_a_cut_pop_never_unlists_the_batch_and_it_comes_back_when_the_lease_ends(bench, after_pipelines, applied, left):
    pushed(bench)
    raised = bench.cut(bench.queue.pop(10), after_pipelines=after_pipelines, applied=applied)
    assert isinstance(raised, Unavailable if left == [WAITING] * 3 else Indeterminate)
    assert states(bench) == left
    bench.lease_ends()
    assert states(bench) == [WAITING] * 3


@pytest.mark.parametrize(
    ("after_pipelines", "applied", "left"),
    [
        (0, 2, [ORPHAN, ORPHAN, LEASED]),
        (0, 3, [ORPHAN, ORPHAN, ORPHAN]),  # the reply to the first pipeline is lost
        (1, 1, [GONE, ORPHAN, ORPHAN]),
        (1, 3, [GONE, GONE, GONE]),
    ],
)
def test_a_broken_batch_ack_is_finished_by_the_retry_of_the_same_program(default, after_pipelines, applied, left):
    bench = leased(default)
    raised = bench.cut(bench.queue.ack_all(IDS), after_pipelines=after_pipelines, applied=applied)
    assert isinstance(raised, BatchAckFailure)
    assert isinstance(raised, Indeterminate)
    assert raised.failed_ids == ("x", "y", "z")
    assert states(bench) == left
    known = [True] * 3 if after_pipelines else [state != GONE for state in left]
    assert bench.run(bench.queue.ack_all(IDS)) == known
    assert states(bench) == [GONE] * 3


def test_the_retry_of_a_broken_ack_spares_a_message_that_was_pushed_again_elsewhere(default):
    bench = leased(default)
    bench.cut(bench.queue.ack_all(IDS), after_pipelines=1, applied=None)
    bench.run(bench.another().push([Message(id="y", payload="second")]))
    assert bench.run(bench.queue.ack_all(IDS)) == [True] * 3
    assert states(bench) == [GONE, WAITING, GONE]
    (delivery,) = bench.run(bench.queue.pop(10))
    assert delivery.message.payload == "second"


def test_the_retry_of_an_ack_that_was_not_applied_spares_messages_that_wait_again(default):
    bench = leased(default)
    bench.cut(bench.queue.ack_all(IDS), after_pipelines=0, applied=0)
    assert bench.lease_ends().requeued == 3
    assert bench.run(bench.queue.ack_all(IDS)) == [False] * 3
    assert states(bench) == [WAITING] * 3


def test_an_ack_that_was_never_sent_is_not_remembered(default):
    bench = leased(default)
    raised = bench.cut(bench.queue.ack_all(IDS), after_pipelines=0, applied=None)
    assert isinstance(raised, Unavailable)
    assert bench.run(bench.another().ack_all(IDS)) == [True] * 3
    assert bench.run(bench.queue.ack_all(IDS)) == [False] * 3


@pytest.mark.parametrize("after_commands", [1, 2])
def test_a_remove_that_dies_half_way_leaves_an_orphan_that_the_retry_deletes(bench, after_commands):
    pushed(bench)
    bench.cut(bench.queue.remove("x"), after_pipelines=after_commands, applied=None)
    assert states(bench)[0] == (WAITING if after_commands == 1 else ORPHAN)
    bench.run(bench.queue.remove("x"))
    assert states(bench) == [GONE, WAITING, WAITING]


def cut_requeue(bench, *, applied):
    """Cut the pipeline that requeues, which is the last but reads; found on a twin of the bench."""
    twin = leased(PipelinedBench(bench.lab, compat=bench.compat))
    twin.connection.log.clear()
    twin.lease_ends()
    names = [commands[0][0] for _, commands in twin.connection.log]
    before = names.index("ZADD" if bench.compat else "EVAL")
    leased(bench)
    bench.clock.advance(LEASE_MS)
    raised = bench.cut(bench.queue.process_unacks(), after_pipelines=before, applied=applied)
    assert isinstance(raised, Indeterminate)


@pytest.mark.parametrize(("applied", "state"), [(1, BLOCKED), (2, WAITING)])
def test_a_requeue_of_the_original_that_is_cut_leaves_its_messages_listed_and_the_next_run_ends_it(
    original, applied, state
):
    cut_requeue(original, applied=applied)
    assert sorted(states(original)) == sorted([state, LEASED, LEASED])
    original.run(original.queue.process_unacks())
    assert states(original) == [WAITING] * 3


@pytest.mark.parametrize(("applied", "waiting"), [(0, 0), (1, 1), (2, 2)])
def test_a_requeue_that_is_cut_leaves_each_message_waiting_or_leased_and_the_next_run_ends_it(
    default, applied, waiting
):
    cut_requeue(default, applied=applied)
    assert sorted(states(default)) == sorted([WAITING] * waiting + [LEASED] * (3 - waiting))
    default.run(default.queue.process_unacks())
    assert states(default) == [WAITING] * 3


def test_a_clear_that_is_cut_is_finished_by_a_second_one(bench):
    leased(bench)
    raised = bench.cut(bench.queue.clear(), after_pipelines=20 if bench.compat else 0, applied=1)
    assert isinstance(raised, Indeterminate)
    bench.run(bench.queue.clear())
    assert states(bench) == [GONE] * 3

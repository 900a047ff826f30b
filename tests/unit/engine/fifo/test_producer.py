"""Goal: what each way of sending promises of the order in the log, and what it does when an answer is missing.

Method: one simulated server behind a connection that is late, or fails after or before its command took effect.
"""

import pytest
from support.engine.fifo import LogBench, Unsteady
from support.engine.fifo_group import Told

from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

LOST = Indeterminate("the answer was lost")
REFUSED = Unavailable("not sent")
EVERY = ("ordered", "retrying", "asynchronous", "idempotent")


@pytest.fixture
def bench(lab):
    return LogBench(lab, partitions=4)


def of_key(bench, placed):
    """The ids in the log of the partition, in its order."""
    return [message_id for _, message_id in bench.listed(placed.partition)]


@pytest.mark.parametrize("sending", EVERY)
def test_messages_of_a_key_are_in_one_partition(bench, sending):
    producer = bench.producer(sending)
    placed = [bench.send_at_once(producer, each)[0] for each in ("x", "y", "z")]
    assert len({each.partition for each in placed}) == 1
    assert [each.offset for each in placed] == [0, 1, 2]


@pytest.mark.parametrize(
    ("sending", "order"),
    [(each, ["y", "x"] if each == "asynchronous" else ["x", "y"]) for each in EVERY],
)
def test_only_asynchronous_sending_lets_a_late_message_be_overtaken(bench, sending, order):
    late = Unsteady(bench.lab.direct("a"), bench.lab.runtime, 500)
    placed = bench.send_at_once(bench.producer(sending, late), "x", "y")
    assert of_key(bench, placed[0]) == order


@pytest.mark.parametrize(
    ("sending", "copies"), [("ordered", 1), ("retrying", 2), ("asynchronous", 2), ("idempotent", 1)]
)
def test_only_an_idempotent_producer_sends_again_without_a_second_copy(bench, sending, copies):
    producer = bench.producer(sending, Unsteady(bench.lab.direct("a"), bench.lab.runtime, LOST))
    (first,) = bench.send_at_once(producer, "x")
    assert isinstance(first, Indeterminate) is (sending == "ordered")
    (second,) = bench.send_at_once(producer, "y")
    assert of_key(bench, second) == ["x"] * copies + ["y"]


@pytest.mark.parametrize("sending", EVERY)
def test_a_message_that_was_certainly_not_put_in_is_told_so(bench, sending):
    unsteady = Unsteady(bench.lab.direct("a"), bench.lab.runtime, *[REFUSED] * 3, applied=False)
    (told,) = bench.send_at_once(bench.producer(sending, unsteady), "x")
    assert isinstance(told, Unavailable)


def test_what_an_earlier_attempt_may_have_done_is_not_forgotten(bench):
    unsteady = Unsteady(bench.lab.direct("a"), bench.lab.runtime, LOST, REFUSED, REFUSED, applied=False)
    (told,) = bench.send_at_once(bench.producer("retrying", unsteady), "x")
    assert isinstance(told, Indeterminate)


@pytest.mark.parametrize(("failure", "attempts"), [(LOST, 3), (ServerError("ERR busy"), 1)])
@pytest.mark.parametrize("applied", [True, False])
def test_an_idempotent_producer_that_gave_up_on_a_message_goes_on(bench, failure, attempts, applied):
    unsteady = Unsteady(bench.lab.direct("a"), bench.lab.runtime, None, *[failure] * attempts, applied=applied)
    producer = bench.producer("idempotent", unsteady)
    told = [bench.send_at_once(producer, each)[0] for each in ("x", "y", "z", "w")]
    assert isinstance(told[1], type(failure))
    assert of_key(bench, told[0]) == (["x", "y", "z", "w"] if applied else ["x", "z", "w"])


def test_an_observer_hears_of_each_message_once_and_what_became_of_it(bench):
    told = Told(bench.lab.runtime)
    unsteady = Unsteady(bench.lab.direct("a"), bench.lab.runtime, LOST, None, *[REFUSED] * 3, *[LOST] * 3)
    producer = bench.producer("idempotent", unsteady, observer=told)
    bench.send_at_once(producer, "x", "y", "z", key="k")
    heard = [(each.message_id, each.outcome, each.offset, each.status) for each in told.of("produce")]
    assert heard == [
        ("x", "ok", 0, "duplicate"),
        ("y", "fail", None, "Unavailable"),
        ("z", "info", None, "Indeterminate"),
    ]


def test_no_attempts_are_refused(bench):
    with pytest.raises(ValueError, match="attempts must be at least 1, got 0"):
        bench.producer("retrying", attempts=0)

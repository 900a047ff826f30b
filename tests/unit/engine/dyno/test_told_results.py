"""Goal: what an engine tells its caller is what the servers said: done, not done, or nobody knows.

Method: another program, a refusal or a cut comes between two commands of one operation.
"""

import pytest
from support.engine.dyno import CuttingConnection, Interceptor
from support.engine.dyno_bench import ids, messages
from support.engine.dyno_v2 import LEASE_MS, REFUSAL, PipelinedBench, Refusing
from support.engine.hardened import ZONES, hardened_lab, leased

from zonelab.engine.dyno.errors import (
    AckFailure,
    PushFailure,
    ack_failure,
    batch_ack_failure,
    batch_push_failure,
    push_failure,
)
from zonelab.engine.dyno.v2 import BatchPushIndeterminate
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable


@pytest.fixture
def zones():
    with hardened_lab() as made:
        yield made


async def test_a_repair_leaves_a_zone_alone_that_has_changed_since_it_was_read(zones):
    """Written blindly it would lease again what was acknowledged between the two, and somebody would get it."""
    worker = zones.queue("a")
    delivery = await leased(worker)
    await zones.ask("c", "FLUSHALL")

    async def acknowledge():
        assert await worker.ack(delivery) is True

    keeper = zones.queue("b", through=lambda level: Interceptor(level, "EVAL", acknowledge))
    while keeper.counters.repaired == 0:
        await keeper.compare()
    await zones.sleep(20)
    assert await zones.statuses("m") == ["d", "d", "d"]
    await zones.sleep(500)
    assert ids(await zones.queue("a").pop(1)) == []


async def test_an_extension_that_the_zones_refuse_is_told_as_refused(zones):
    """The holder's own notes say that the lease lasts; only the answer tells that the message is gone."""
    holder = zones.queue()
    delivery = await leased(holder)
    assert await zones.queue().remove_all(["m"]) == [True]
    assert await holder.extend(delivery, lease_ms=LEASE_MS) is False
    assert holder.counters.refused == 1


@pytest.mark.parametrize("lost", [1, 2])
async def test_an_extension_without_an_answer_is_not_told_as_done(zones, lost):
    holder = zones.queue()
    delivery = await leased(holder)
    for zone in ZONES[-lost:]:
        await zones.cluster.zones[zone].kill()
    if lost == 1:
        assert await holder.extend(delivery, lease_ms=LEASE_MS) is True
    else:
        with pytest.raises(Indeterminate):
            await holder.extend(delivery, lease_ms=LEASE_MS)


@pytest.fixture
def bench(lab):
    return PipelinedBench(lab, compat=False)


def test_a_message_pushed_by_half_beside_one_that_was_refused_is_in_doubt(bench):
    half = Refusing(bench.direct, names=("ZADD",), message_id="y")
    queue = bench.another(Refusing(half, names=("HSET", "ZADD"), message_id="x"))
    with pytest.raises(BatchPushIndeterminate) as raised:
        bench.run(queue.push(messages("x", "y", "z")))
    assert raised.value.failed_ids == ("x", "y")
    assert [bench.state(name) for name in "xyz"] == ["-", "H", "H Q"]


def test_what_another_took_out_of_the_waiting_set_is_no_delivery(bench):
    """The other has it acknowledged by half: its lease is gone, its payload is still there."""
    bench.push("x")
    halfway = CuttingConnection(bench.direct)

    async def take():
        other = bench.another(halfway)
        assert ids(await other.pop(1)) == ["x"]
        halfway.cut(after_pipelines=1, applied=0)
        with pytest.raises(Indeterminate):
            await other.ack("x")

    queue = bench.another(Interceptor(bench.direct, "ZADD", take))
    assert ids(bench.run(queue.pop(1))) == []
    assert queue.counters.misses == 1
    assert bench.state("x") == "H U"


@pytest.mark.parametrize(("present", "removed"), [("nothing", False), ("payload", True), ("leased", True)])
def test_a_removal_says_whether_there_was_anything(bench, present, removed):
    if present != "nothing":
        bench.push("x")
    if present == "payload":
        bench.run(bench.direct.execute(("ZREM", bench.queue.keys.waiting, "x")))
    if present == "leased":
        bench.pop()
    assert bench.run(bench.queue.remove("x")) is removed
    assert bench.state("x") == "-"


@pytest.mark.parametrize(("leased", "error"), [(True, Indeterminate), (False, Unavailable)])
def test_a_removal_that_is_cut_after_its_first_step_is_in_doubt_if_that_did_anything(bench, leased, error):
    bench.push("x")
    if leased:
        bench.pop()
    assert isinstance(bench.cut(bench.queue.remove("x"), after_pipelines=1, applied=None), error)


@pytest.mark.parametrize(("leased", "error"), [(True, Indeterminate), (False, Unavailable)])
def test_an_ack_that_is_cut_after_its_first_step_is_in_doubt_if_that_did_anything(bench, leased, error):
    """The second step deletes payloads: it has something to do for a message that an earlier ack left by half."""
    bench.push("x")
    bench.pop()
    if not leased:
        bench.cut(bench.queue.ack("x"), after_pipelines=0, applied=1)
    raised = bench.cut(bench.queue.ack("x"), after_pipelines=1 if leased else 2, applied=None)
    assert isinstance(raised, error)


def test_an_ack_says_of_each_message_whether_it_had_a_lease(bench):
    bench.push("x", "y", "z")
    assert bench.pop(1) == ["x"]
    assert bench.run(bench.queue.ack_all(["x", "y", "unknown"])) == [True, False, False]
    assert [bench.state(name) for name in "xyz"] == ["-", "H Q", "H Q"]


@pytest.mark.parametrize("present", ["nothing", "waiting"])
def test_an_extension_without_a_lease_is_told_as_refused(bench, present):
    if present == "waiting":
        bench.push("x")
    assert bench.run(bench.queue.set_unack_timeout("x", timeout_ms=LEASE_MS)) is False


def test_an_extension_that_the_server_refuses_is_not_told_as_done(bench):
    bench.push("x")
    bench.pop()
    refusing = bench.another(Refusing(bench.direct, names=("ZADD",), message_id="x"))
    with pytest.raises(ServerError):
        bench.run(refusing.set_unack_timeout("x", timeout_ms=LEASE_MS))


@pytest.mark.parametrize(
    "cause", [Unavailable("down"), Indeterminate("late"), REFUSAL], ids=["down", "late", "refused"]
)
def test_a_failure_is_also_its_cause_and_no_other_fate(cause):
    """``Unavailable`` promises that nothing was applied: whoever hears it instead of ``Indeterminate`` is misled."""
    failures = [
        push_failure(cause, receipts=(), failed_id="x"),
        ack_failure(cause, acked=(), failed_id="x"),
        batch_push_failure(cause, receipts=(), failed_ids=("x",)),
        batch_ack_failure(cause, failed_ids=("x",)),
    ]
    fates = (Unavailable, Indeterminate, ServerError)
    assert all(isinstance(failure, PushFailure | AckFailure) for failure in failures)
    assert [[fate for fate in fates if isinstance(failure, fate)] for failure in failures] == [[type(cause)]] * 4

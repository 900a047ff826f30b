"""Goal: a cluster in a test breaks as it is told, and its verdicts are those of runs. Method: simulation, planted
bugs.
"""

import sys
from itertools import chain
from types import ModuleType

import pytest

from zonelab import ClusterError, Indeterminate, Message, Receipt, ScenarioError, Unavailable, queues
from zonelab.queues import ConsumeStatus
from zonelab.scenarios.queues.zset import ZsetUnderTest
from zonelab.testing import cluster

pytest_plugins = "pytester"


def messages(count):
    return [Message(id=str(number)) for number in range(count)]


def consume(queue):
    while deliveries := queue.pop(10, wait_ms=500):
        for delivery in deliveries:
            queue.ack(delivery)


def test_hardened_mode_loses_nothing_when_a_zone_dies_and_says_so():
    with cluster("sim") as lab:
        with queues.open("jobs", lab, mode="hardened") as queue:
            queue.push(messages(10))
            with lab.fault("kill", zone="b"):
                lab.sleep(1)
                consume(queue)
        verdict = lab.verdict()
        assert (verdict.valid, verdict.totals.pushed, verdict.totals.acked) == (True, 10, 10)


def test_what_is_lost_and_delivered_twice_is_in_the_verdict():
    with cluster("sim", zones=("a",)) as lab:
        with queues.open("jobs", lab, engine="zset") as queue:
            queue.push(messages(5))
            with lab.fault("wipe", zone="a"):
                lab.sleep(1)
        verdict = lab.verdict()
    assert verdict.valid is False
    assert verdict.counts["lost"] == 5
    assert verdict.reasons


class LossyUnderTest(ZsetUnderTest):
    """Confirms every push, and keeps none but those with an even number."""

    async def producer(self, zone, wrap):
        queue = await super().producer(zone, wrap)
        push = queue.push

        async def lossy(told):
            await push([message for message in told if int(message.id) % 2 == 0])
            return [Receipt(id=message.id, shard="jobs", due_ms=0) for message in told]

        queue.push = lossy
        return queue

    consumer = producer


def test_a_queue_that_loses_what_it_confirmed_has_a_bad_verdict(monkeypatch):
    module = ModuleType("lossy_queue")
    module.LossyUnderTest = LossyUnderTest
    monkeypatch.setitem(sys.modules, "lossy_queue", module)
    with cluster("sim") as lab:
        with queues.open("jobs", lab, factory="lossy_queue:LossyUnderTest") as queue:
            queue.push(messages(4))
            consume(queue)
        verdict = lab.verdict()
    assert (verdict.valid, verdict.counts["lost"]) == (False, 2)
    assert "2 lost" in verdict.reasons[0]


def test_a_lease_that_ends_while_work_goes_on_gives_a_concurrent_delivery_no_sooner():
    with cluster("sim", zones=("a",)) as lab:
        with queues.open("jobs", lab, unack_ms=1_000, unack_interval_ms=100) as queue:
            queue.push(messages(1))
            (slow,) = queue.pop(wait_ms=100)
            lab.sleep(2)
            (other,) = queue.pop(wait_ms=1_000)
            assert queue.ack(other)
            assert not queue.ack(slow)
        verdict = lab.verdict()
    assert verdict.totals.deliveries == 2
    assert verdict.queue.duplicated == 1


def test_equal_seeds_give_equal_clusters():
    def deliveries(seed):
        with cluster("sim", seed=seed, lag="exponential:5ms") as lab, queues.open("jobs", lab) as queue:
            return [receipt.due_ms for receipt in queue.push(messages(3))]

    assert deliveries(1) == deliveries(1) != deliveries(2)


def test_programs_beside_each_other_run_as_coroutines():
    async def both(lab):
        async def producer():
            async with queues.open("jobs", lab, zone="a") as queue:
                for message in messages(6):
                    await queue.push(message)
                    await lab.sleep(0.1)

        async def consumer(zone):
            async with queues.open("jobs", lab, zone=zone) as queue:
                taken = []
                while len(taken) < 2:
                    for delivery in await queue.pop(1, wait_ms=1_000):
                        taken.append(delivery.message.id)
                        await queue.ack(delivery)
                return sorted(taken)

        async with lab.fault("lag", lag="5ms"):
            _, *taken = await lab.together(producer(), *map(consumer, lab.zones))
        return sorted(chain(*taken)), await lab.verdict()

    with cluster("sim") as lab:
        taken, verdict = lab.run(both)
    assert taken == list("012345")
    assert verdict.valid is True


def test_a_cut_zone_fails_operations_which_raise_and_are_on_record():
    with cluster("sim", set={"replication.time_factor": 0.1}) as lab:
        with queues.open("jobs", lab) as queue:
            with (
                lab.fault("pause", zone="b"),
                lab.fault("pause", zone="c"),
                pytest.raises((Indeterminate, Unavailable)),
            ):
                queue.push(messages(1))
            lab.sleep(3)
        verdict = lab.verdict()
    assert verdict.totals.indeterminate == 1
    assert verdict.valid is not False


@pytest.mark.parametrize("mode", ["rocketmq-5.3", "fenced"])
def test_ordered_messages_are_handed_to_a_listener_in_order(mode):
    shown = []

    def handle(delivered, handling):
        (one,) = delivered
        shown.append((one.attempt, one.record.body))
        return ConsumeStatus.SUSPEND if shown[-1] == (1, "pay") else None

    with cluster("sim") as lab:
        with queues.open_ordered("orders", lab, mode=mode) as orders:
            for state in ("create", "pay", "ship"):
                orders.push(Message(id=f"1-{state}", key="order-1", payload=state))
            with orders.listen(handle):
                assert orders.wait_empty(timeout_s=60)
        assert lab.verdict().valid is True
    assert shown == [(1, "create"), (1, "pay"), (2, "pay"), (1, "ship")]


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("kil", {"zone": "b"}, "fault: kind: got 'kil' (did you mean kill?); accepted: kill, wipe"),
        ("kill", {"zone": "z"}, "got 'z'; accepted: a zone of the topology (a, b, c)"),
        ("kill", {"zone": "b", "restart": "cold"}, "fault: restart: got 'cold'"),
        ("consumer_crash", {"zone": "b"}, "fault: kind: got 'consumer_crash'"),
        ("kill", {"zone": "b", "for_s": 3}, "fault: for_s: got 3; the fault lasts as long as the block"),
        ("lag", {"link": "a>z", "lag": "5ms"}, "accepted: a link of the topology"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(kind, options, reason):
    with cluster("sim") as lab, pytest.raises(ScenarioError) as refused:
        lab.fault(kind, **options)
    assert reason in str(refused.value)


def test_two_faults_of_one_thing_are_refused():
    with cluster("sim") as lab, lab.fault("kill", zone="b"):
        with (
            pytest.raises(ClusterError, match="fault pause b: kill b already holds zone b"),
            lab.fault("pause", zone="b"),
        ):
            pass
        with lab.fault("pause", zone="c"):
            pass


def test_a_verdict_of_what_was_never_opened_is_refused():
    with cluster("sim") as lab, pytest.raises(ClusterError, match=r"verdict: got queue None; accepted: .*\(none\)"):
        lab.verdict()


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"on": "vm"}, ClusterError, "on: got 'vm'; accepted: sim, process, docker"),
        ({"level": "ALL"}, ScenarioError, "cluster: level: got 'ALL'"),
        ({"zones": ()}, ScenarioError, "cluster: topology.zones: got []"),
        ({"set": {"links.lagg": "1ms"}}, ScenarioError, "links.lagg: unknown field"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(options, error, reason):
    with pytest.raises(error) as refused:
        cluster(**options)
    assert reason in str(refused.value)


def test_a_simulated_cluster_has_no_addresses():
    with cluster("sim") as lab:
        assert (lab.urls, lab.server_urls) == ({}, {})
    with pytest.raises(ClusterError, match="the cluster is not up"):
        lab.sleep(1)


def test_the_fixture_is_what_its_mark_says(pytester):
    pytester.makepyfile("""
        import pytest

        def test_three_zones(zonelab_cluster):
            assert (zonelab_cluster.on, zonelab_cluster.zones) == ("sim", ("a", "b", "c"))

        @pytest.mark.zonelab_cluster("sim", zones=("x", "y"))
        def test_two(zonelab_cluster):
            assert zonelab_cluster.zones == ("x", "y")
    """)
    pytester.runpytest("--strict-markers").assert_outcomes(passed=2)

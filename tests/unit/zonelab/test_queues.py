"""Goal: queues open with the options and errors of the command line. Method: on a simulated cluster, and on nothing."""

import pytest

from zonelab import ClusterError, Message, ScenarioError, connect, queues
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.testing import cluster

ENGINES = [
    ("dyno", None),
    ("dyno", "hardened"),
    ("dyno-v2", None),
    ("gmq", None),
    ("gmq", "hardened"),
    ("youzan", None),
    ("zset", None),
]


@pytest.fixture(scope="module")
def lab():
    with cluster("sim", zones=("a",)) as one_zone:
        yield one_zone


@pytest.mark.parametrize(("engine", "mode"), ENGINES)
def test_a_push_and_a_pop_with_every_engine(lab, engine, mode):
    with queues.open(f"jobs-{engine}-{mode}", lab, engine=engine, mode=mode) as queue:
        (receipt,) = queue.push(Message(id="1", payload="hello"))
        (delivery,) = queue.pop(1, wait_ms=5_000)
        assert (receipt.id, delivery.message.payload, queue.ack(delivery)) == ("1", "hello", True)
        assert queue.pop(1, wait_ms=100) == []
    assert lab.verdict(queue.name).valid is True


def test_queues_of_different_names_and_prefixes_have_nothing_in_common(lab):
    with queues.open("red", lab) as red, queues.open("blue", lab) as blue, queues.open("pink", lab, prefix="p") as pink:
        red.push([Message(id="1", payload="red")])
        assert (red.size(), blue.size(), pink.size()) == (1, 0, 0)
        assert blue.get("1") is None
        assert red.get("1").payload == "red"
        assert red.remove("1")


def test_leases_are_extended_and_end(lab):
    with queues.open("leases", lab, unack_ms=1_000, unack_interval_ms=100) as queue:
        queue.push(Message(id="1"))
        (first,) = queue.pop(wait_ms=100)
        assert queue.extend(first, timeout_ms=5_000)
        lab.sleep(3)
        assert queue.pop() == []
        lab.sleep(3)
        (again,) = queue.pop(wait_ms=100)
        assert again.message.id == "1"
        assert queue.ack(again)


def refusal(where, given):
    with pytest.raises(ScenarioError) as refused:
        queues.open("jobs", where, **given)
    return str(refused.value)


def refused_by_the_command_line(override):
    with pytest.raises(ScenarioError) as refused:
        load_scenario("steady", overrides=[override])
    return str(refused.value).removeprefix("--set: ")


@pytest.mark.parametrize(
    ("given", "words", "reason"),
    [
        ({"engine": "dino"}, "queue.engine=dino", "got 'dino' (did you mean dyno?); accepted: dyno, dyno-v2, gmq"),
        ({"mode": "hard"}, "queue.mode=hard", "got 'hard' (did you mean hardened?); accepted: default, hardened"),
        ({"engine": "zset", "mode": "hardened"}, None, "queue.mode: got 'hardened'; accepted: default with"),
        ({"unack": 5}, "queue.unack=5", "queue.unack: unknown field"),
        ({"unack_ms": 0}, "queue.unack_ms=0", "queue.unack_ms: got 0; accepted: "),
        ({"level": "QUORUM"}, None, "level: got 'QUORUM'"),
        ({"engine": "fifo"}, None, "accepted: zonelab.queues.open_ordered"),
    ],
)
def test_what_is_not_accepted_is_refused_as_on_the_command_line(lab, given, words, reason):
    line = refusal(lab, given)
    assert "\n" not in line
    assert reason in line
    assert refusal("redis://127.0.0.1:1", given) == line
    if words is not None:
        assert refused_by_the_command_line(words) == line.removeprefix("queues.open: ")


def test_the_same_name_with_other_options_is_refused(lab):
    queues.open("twice", lab)
    with pytest.raises(ClusterError, match="queue 'twice' was opened with other options here"):
        queues.open("twice", lab, unack_ms=10_000)


def test_operations_of_a_queue_that_is_not_open_or_has_none_such(lab):
    queue = queues.open("closed", lab, engine="gmq")
    with pytest.raises(ClusterError, match="queue 'closed' is not open: use it within its `with` block"):
        queue.push(Message(id="1"))
    with queue, pytest.raises(ClusterError, match="engine gmq has no 'peek'; accepted: "):
        queue.peek()


def test_a_zone_that_is_not_there_and_a_place_that_is_none(lab):
    with pytest.raises(ClusterError, match="zone: got 'z'; accepted: a"):
        queues.open("jobs", lab, zone="z")
    with pytest.raises(ClusterError, match=r"queues\.open: got 6379; accepted: "):
        queues.open("jobs", 6379)


def test_a_cluster_that_is_closed_opens_nothing():
    with cluster("sim", zones=("a",)) as gone:
        pass
    with pytest.raises(ClusterError, match="the cluster is not up"):
        queues.open("jobs", gone)


@pytest.mark.parametrize(
    ("url", "options", "reason"),
    [
        ("http://127.0.0.1", {}, "url: got 'http://127.0.0.1'; accepted: redis://"),
        ("redis://h:port", {}, "url: got 'redis://h:port'; accepted: redis://"),
        ("redis://h/jobs", {}, "url: got 'redis://h/jobs'; accepted: redis://"),
        ({}, {}, "url: got no server"),
        ({"a": "redis://h"}, {"zone": "b"}, "zone: got 'b'; accepted: a"),
        ("redis://h", {"level": "ALL"}, "level: got 'ALL'; accepted: DC_ONE"),
    ],
)
def test_an_address_that_cannot_be_is_refused_before_anything_is_connected(url, options, reason):
    with pytest.raises(ClusterError) as refused:
        connect(url, **options)
    assert reason in str(refused.value)

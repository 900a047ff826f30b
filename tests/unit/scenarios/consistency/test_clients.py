"""Goal: the clients of a workload do what the plan says and record what they were told. Method: plans drawn and told,
connections that answer as scripted, in virtual time.
"""

from itertools import islice

import pytest

from zonelab.analysis.runs.accesses import VALUES, VALUES_NAME
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.workloads import OPERATIONS_OF, WorkloadKind
from zonelab.cluster.random_streams import Streams
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable
from zonelab.scenarios.clients.recorder import OperationActor
from zonelab.scenarios.consistency.clients import AccessRecorder, ZoneClients
from zonelab.scenarios.consistency.operations import (
    MIXES,
    AccessAnswer,
    AccessRequest,
    answer_of,
    command,
    reading,
    values,
)
from zonelab.scenarios.consistency.plan import PlannedAccess, plan_accesses
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.tasks import Halt

REGISTER, SET, LOCK, COUNTER, LIST = WorkloadKind


def planned(zone, *overrides, name="registers", seed=1):
    scenario = load_scenario(name, overrides=[f"seed={seed}", *overrides])
    return list(plan_accesses(scenario, zone=zone, random=Streams(seed).stream))


def test_a_plan_is_decided_by_the_seed_and_every_written_value_is_different():
    plans = {zone: planned(zone) for zone in "abc"}
    assert plans == {zone: planned(zone) for zone in "abc"}
    assert planned("a", seed=2) != plans["a"]
    written = [one.request.argument for plan in plans.values() for one in plan if one.request.argument is not None]
    assert len(set(written)) == len(written) > 500
    assert {one.client for one in plans["a"]} == {0, 1, 2}
    assert {one.request.key for one in plans["a"]} == set("01234")
    assert all(one.expects_last is (one.request.f == "cas") for one in plans["a"])


def test_a_plan_keeps_the_weights_of_its_mix():
    drawn = planned("a", "workload.mix={read: 9, write: 1}", "load.rate_per_s=1000")
    reads = sum(one.request.f == "read" for one in drawn) / len(drawn)
    assert {one.request.f for one in drawn} == {"read", "write"}
    assert reads == pytest.approx(0.9, abs=0.02)


def test_in_lockstep_all_zones_come_to_one_key_within_the_spread():
    plans = [planned(zone, "load.duration_s=2", name="lock-race") for zone in "abc"]
    assert len({len(plan) for plan in plans}) == 1
    for together in zip(*plans, strict=True):
        assert len({one.request.key for one in together}) == 1
        offsets = [one.offset_ns for one in together]
        assert max(offsets) - min(offsets) <= 1_000_000
    assert len({one.offset_ns for plan in plans for one in plan}) > len(plans[0])


def test_a_zone_without_a_rate_does_nothing():
    assert planned("b", "load.rate_per_s={a: 10}") == []


def test_told_operations_are_planned_as_told_with_values_drawn_where_none_is():
    told_operations = (
        "workload.operations=[{at_ms: 20, zone: a, f: write, key: x}, {at_ms: 10, zone: a, client: 1, f: cas, key: x,"
        " value: v, expected: u}, {at_ms: 5, zone: b, f: read}]"
    )
    assert planned("a", told_operations, "load={duration_s: 1}", "faults=[]") == [
        PlannedAccess(
            offset_ns=10_000_000, client=1, request=AccessRequest(f="cas", key="x", argument="v", expected="u")
        ),
        PlannedAccess(offset_ns=20_000_000, client=0, request=AccessRequest(f="write", key="x", argument="a1")),
    ]


def test_every_operation_of_every_kind_has_a_command_and_every_kind_a_mix_and_a_reading():
    for kind, operations in OPERATIONS_OF.items():
        for f in operations:
            sent = command(kind, AccessRequest(f=f, key="k", argument="v"))
            assert f"zonelab:{kind}:k" in sent
        assert set(MIXES[kind]) <= set(operations)
        assert f"zonelab:{kind}:k" in reading(kind, "k")


@pytest.mark.parametrize(
    ("f", "reply", "expected"),
    [
        ("read", b"v", AccessAnswer(result="v")),
        ("read", None, AccessAnswer()),
        ("write", b"OK", AccessAnswer()),
        ("create", b"OK", AccessAnswer(applied=True)),
        ("acquire", None, AccessAnswer(applied=False)),
        ("cas", [1, b"u"], AccessAnswer(applied=True, result="u")),
        ("cas", [0, None], AccessAnswer(applied=False)),
        ("members", [b"y", b"x"], AccessAnswer(members=("x", "y"))),
        ("next", 7, AccessAnswer(result="7")),
        ("push", 3, AccessAnswer()),
        ("pop", None, AccessAnswer()),
        ("pop", b"i", AccessAnswer(result="i")),
    ],
)
def test_a_reply_is_read_as_what_it_says(f, reply, expected):
    assert answer_of(AccessRequest(f=f, key="k", argument="v"), reply) == expected


def test_values_at_rest_do_not_depend_on_a_servers_order_of_a_set():
    assert values(SET, [b"y", b"x"]) == ["x", "y"]
    assert values(LIST, [b"y", b"x"]) == ["y", "x"]
    assert values(REGISTER, None) == []
    assert values(COUNTER, b"7") == ["7"]


class Answers:
    """A connection that answers each command with the next of ``replies``, after ``delay_ns``; raises exceptions."""

    def __init__(self, runtime, *replies, delay_ns=1_000_000):
        self._runtime = runtime
        self._replies = iter(replies)
        self._delay_ns = delay_ns
        self.sent = []

    async def execute(self, *commands):
        self.sent += commands
        await self._runtime.sleep(self._delay_ns)
        reply = next(self._replies)
        if isinstance(reply, Exception) and not isinstance(reply, ServerError):
            raise reply
        return [reply]


class Lab:
    def __init__(self, *replies, kind=REGISTER, delay_ns=1_000_000):
        self.runtime = SimRuntime(seed=1)
        self.tables = MemoryTables()
        self.recorder = AccessRecorder(self.tables, self.runtime, kind=kind)
        self.connection = Answers(self.runtime, *replies, delay_ns=delay_ns)
        self.halt = Halt(self.runtime)
        self.clients = ZoneClients(
            zone="a",
            connection=self.connection,
            recorder=self.recorder,
            runtime=self.runtime,
            halt=self.halt,
        )

    def rows(self, name, schema):
        return [dict(zip(schema.names, row, strict=True)) for row in self.tables.tables[name].rows]

    @property
    def values(self):
        return self.rows(VALUES_NAME, VALUES)

    @property
    def events(self):
        return [(row["f"], row["type"], row["error"]) for row in self.rows("operations", OPERATIONS)]


@pytest.mark.parametrize(
    ("reply", "kind", "error"),
    [
        (b"OK", "ok", None),
        (Indeterminate("ERR Peer: gone"), "info", "ERR Peer: gone"),
        (Unavailable("ERR Storage: gone"), "fail", "ERR Storage: gone"),
        (ServerError("WRONGTYPE no"), "fail", "WRONGTYPE no"),
    ],
)
def test_an_operation_is_recorded_as_what_it_turned_out_to_be(reply, kind, error):
    lab = Lab(reply)
    request = AccessRequest(f="write", key="k", argument="v")
    lab.runtime.run_until_complete(
        lab.recorder.perform(lab.connection, OperationActor("client-a-0", "a"), request, intended_ns=0)
    )
    lab.recorder.close()
    assert lab.events == [("write", "invoke", None), ("write", kind, error)]
    assert [(row["key"], row["argument"], row["result"]) for row in lab.values] == [("k", "v", None)]
    assert lab.recorder.counts == {("write", kind): 1}


def test_what_is_open_at_the_end_is_recorded_as_unknown_with_what_it_brought():
    lab = Lab(b"OK", delay_ns=10**12)
    plan = iter([PlannedAccess(offset_ns=0, client=0, request=AccessRequest(f="write", key="k", argument="v"))])

    async def program():
        await lab.clients.run(plan, begin_ns=0)
        await lab.runtime.sleep(1_000)
        assert lab.clients.in_flight == 1
        await lab.clients.close()

    lab.runtime.run_until_complete(program())
    lab.recorder.close()
    assert [kind for _, kind, _ in lab.events] == ["invoke", "info"]
    assert lab.values[0]["argument"] == "v"


def test_a_compare_and_set_expects_what_its_own_client_last_saw_or_wrote():
    lab = Lab(b"x", [1, b"x"], [0, b"q"], [1, b"q"], [1, None])
    requests = [("read", 0, None), ("cas", 0, "n1"), ("cas", 0, "n2"), ("cas", 0, "n3"), ("cas", 1, "n4")]
    plan = [
        PlannedAccess(
            offset_ns=10_000_000 * place,
            client=client,
            request=AccessRequest(f=f, key="k", argument=argument),
            expects_last=f == "cas",
        )
        for place, (f, client, argument) in enumerate(requests)
    ]

    async def program():
        await lab.clients.run(iter(plan), begin_ns=0)
        await lab.runtime.sleep(50_000_000)

    lab.runtime.run_until_complete(program())
    lab.recorder.close()
    assert [row["expected"] for row in lab.values] == [None, "x", "n1", "q", None]
    assert [row["applied"] for row in lab.values] == [None, True, False, True, True]
    assert len(lab.connection.sent[1]) == 6
    assert len(lab.connection.sent[4]) == 5, "nothing expected: no argument for it"


def test_operations_begin_on_time_although_earlier_ones_have_not_ended():
    lab = Lab(*[b"OK"] * 5, delay_ns=10**9)
    plan = islice(
        (
            PlannedAccess(
                offset_ns=place * 1_000, client=0, request=AccessRequest(f="write", key="k", argument=f"v{place}")
            )
            for place in range(5)
        ),
        5,
    )

    async def program():
        await lab.clients.run(plan, begin_ns=0)
        assert lab.clients.in_flight >= 4
        await lab.runtime.sleep(2 * 10**9)
        assert lab.clients.in_flight == 0

    lab.runtime.run_until_complete(program())
    lab.recorder.close()
    invoked = [row["time_ns"] for row in lab.rows("operations", OPERATIONS) if row["type"] == "invoke"]
    assert invoked == [0, 1_000, 2_000, 3_000, 4_000]


def test_what_the_load_generator_cannot_begin_is_recorded_as_failed(monkeypatch):
    monkeypatch.setattr("zonelab.scenarios.consistency.clients.IN_FLIGHT_MAX", 1)
    lab = Lab(b"OK", delay_ns=10**9)
    plan = [
        PlannedAccess(offset_ns=0, client=0, request=AccessRequest(f="write", key="k", argument=f"v{number}"))
        for number in range(2)
    ]

    async def program():
        await lab.clients.run(iter(plan), begin_ns=0)
        await lab.runtime.sleep(2 * 10**9)

    lab.runtime.run_until_complete(program())
    lab.recorder.close()
    assert sorted(kind for _, kind, _ in lab.events) == ["fail", "invoke", "invoke", "ok"]
    assert next(error for _, kind, error in lab.events if kind == "fail").startswith("load generator overloaded")

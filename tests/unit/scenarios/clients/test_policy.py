"""Goal: a program follows its client policy, an error says what may have happened, and everything is counted.

Method: a client by hand over scripted connections; then short runs in virtual time in which a coordinator dies.
"""

from typing import Any

import pytest
from support.scenarios.fault_stage import rows
from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.accesses import FINAL_VALUES
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.ports import Command, Indeterminate, PortError, Reply, Unavailable
from zonelab.scenarios.clients.policy import CoordinatorChooser, RoutedConnection
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run.simulated import simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from zonelab.scenarios.spec.clients import Clients
from zonelab.scenarios.spec.reading import scenario_of

SECOND_NS = 1_000_000_000
DEAD = {"kind": "coordinator_crash", "zone": "a", "at_s": 0.2, "for_s": 0.6}
REFUSED, DIED = Unavailable("refused"), Indeterminate("reset")


class Ways:
    """Scripted connections to coordinators a, b, c: what each answers next, and the zones in the order asked."""

    def __init__(self, policy: Clients) -> None:
        self.asked: list[str] = []
        self.gone: set[str] = set()
        self.answers: dict[str, list[PortError]] = {"a": [], "b": [], "c": []}
        self.runtime = SimRuntime(seed=1)
        self.client = CoordinatorChooser(
            home="a",
            policy=policy,
            back_after_ns=SECOND_NS,
            now_ns=self.runtime.now_ns,
            reachable=lambda zone: zone not in self.gone,
            others=("b", "c"),
        )
        self.connection = RoutedConnection({zone: _Way(zone, self) for zone in self.answers}, self.client)

    def send(self, count: int = 1) -> list[str | PortError]:
        """What became of so many pipelines, one after the other: the zone that answered, or the error."""
        return [self.runtime.run_until_complete(self._one()) for _ in range(count)]

    def pass_s(self, seconds: float) -> None:
        self.runtime.run_until_complete(self.runtime.sleep(round(seconds * SECOND_NS)))

    async def _one(self) -> str | PortError:
        try:
            (zone,) = await self.connection.execute(("INCR", "n"))
        except PortError as error:
            return error
        return str(zone)


class _Way:
    def __init__(self, zone: str, ways: Ways) -> None:
        self._zone, self._ways = zone, ways

    async def execute(self, *commands: Command) -> list[Reply]:
        self._ways.asked.append(self._zone)
        if self._ways.answers[self._zone]:
            raise self._ways.answers[self._zone].pop(0)
        if self._zone in self._ways.gone:
            raise REFUSED
        return [self._zone]  # type: ignore[list-item]


def test_without_a_policy_every_command_goes_to_the_own_zone_once() -> None:
    ways = Ways(Clients())
    ways.gone = {"a"}
    assert ways.send(5) == [REFUSED] * 5
    assert ways.asked == ["a"] * 5


def test_after_one_error_a_connection_the_others_are_asked_in_turn_and_later_the_own_zone_again() -> None:
    ways = Ways(Clients(failover=True, connections=2))
    ways.gone = {"a"}
    assert ways.send(6) == [REFUSED, REFUSED, "b", "c", "b", "c"]
    ways.pass_s(1.1)
    assert ways.send(1) == ["b"]  # it was looked for before the command was sent, and is still gone
    ways.gone = set()
    ways.pass_s(0.9)
    assert ways.send(1) == ["c"]  # not before its time
    ways.pass_s(0.2)
    assert ways.send(2) == ["a", "a"]
    assert (ways.client.counts.fail_overs, ways.client.counts.returns, ways.client.counts.elsewhere) == (1, 1, 6)


def test_a_coordinator_that_came_back_is_left_again_only_after_an_error_of_each_connection() -> None:
    """It dies again at once: what a client knew of its first death is no error of the second."""
    ways = Ways(Clients(failover=True, connections=3))
    client = ways.client
    for outage in (1, 2, 3):
        for errors in (1, 2, 3):
            assert client.choose(attempt=0) == "a", (outage, errors)
            ways.gone = {"a"}
            client.failed("a")
        assert client.choose(attempt=0) != "a"
        ways.gone = set()
        ways.pass_s(1.1)
    assert client.counts.fail_overs == 3


def test_an_answer_makes_the_errors_before_it_those_of_a_connection_that_is_new() -> None:
    ways = Ways(Clients(failover=True, connections=2))
    for _ in range(3):
        ways.gone = {"a"}
        ways.client.failed("a")
        ways.gone = set()
        assert ways.send() == ["a"]
    assert ways.client.counts.fail_overs == 0


def test_three_other_zones_are_looked_at_and_no_more_each_time_the_next_ones() -> None:
    looked: list[str] = []
    client = CoordinatorChooser(
        home="a",
        policy=Clients(failover=True, connections=1),
        back_after_ns=0,
        now_ns=lambda: 0,
        reachable=lambda zone: looked.append(zone) is not None,
        others=tuple("bcdef"),
    )
    for zone in "abcdef":
        client.failed(zone)
    for expected in ("bcd", "efb"):
        looked.clear()
        with pytest.raises(Unavailable):
            client.choose(attempt=1)
        assert "".join(looked) == f"{expected}a"


def test_errors_of_a_coordinator_that_is_there_send_nobody_elsewhere() -> None:
    ways = Ways(Clients(failover=True, connections=1))
    ways.answers["a"] = [REFUSED, DIED, REFUSED]
    assert ways.send(4) == [REFUSED, DIED, REFUSED, "a"]


def test_where_all_are_gone_nothing_is_sent() -> None:
    ways = Ways(Clients(failover=True, connections=1))
    ways.gone = {"a", "b", "c"}
    *_, last = ways.send(4)
    assert isinstance(last, Unavailable)
    assert ways.asked == ["a", "b", "c"]


def test_retries_go_elsewhere_from_the_second_attempt_on_and_are_blind() -> None:
    ways = Ways(Clients(failover=True, retries=2))
    ways.answers = {"a": [DIED], "b": [REFUSED], "c": []}
    assert ways.send() == ["c"]
    assert ways.asked == ["a", "b", "c"]
    assert ways.client.counts.retries == 2


def test_without_fail_over_retries_stay_at_the_own_zone() -> None:
    ways = Ways(Clients(retries=2))
    ways.answers["a"] = [REFUSED, REFUSED]
    assert (ways.send(), ways.asked) == (["a"], ["a", "a", "a"])


@pytest.mark.parametrize(
    ("attempts", "told"),
    [([DIED, REFUSED], Indeterminate), ([REFUSED, DIED], Indeterminate), ([REFUSED, REFUSED], Unavailable)],
)
def test_what_any_attempt_may_have_done_is_never_told_as_not_done(
    attempts: list[PortError], told: type[PortError]
) -> None:
    ways = Ways(Clients(retries=1))
    ways.answers["a"] = attempts
    assert [type(error) for error in ways.send()] == [told]


def test_a_program_that_died_sends_nothing_again() -> None:
    ways, switch = Ways(Clients(retries=5)), CrashSwitch("p")
    wrapped = RoutedConnection({"a": switch.wrap(_Way("a", ways))}, ways.client)
    ways.answers["a"] = [DIED] * 6
    switch.crash_before(3)

    async def sent() -> None:
        with pytest.raises(ProgramCrashed):
            await wrapped.execute(("INCR", "n"))

    ways.runtime.run_until_complete(sent())
    assert ways.asked == ["a", "a"]


def told(clients: dict[str, Any], **changes: Any) -> tuple[set[tuple[str, str]], dict[str, dict[str, int]], int]:
    """How a's operations ended after its coordinator's death was noticed, what clients counted, how many got stuck."""
    scenario = small(clients=clients, faults=[DEAD], load={"duration_s": 1.2, "rate_per_s": 60}, **changes)
    done, tables, verdict = run_in_memory(scenario)
    begin_ns = done.record.phases["load"][0]
    noticed_ns = begin_ns + round(0.4 * SECOND_NS)
    ended = [row for row in rows(tables, OPERATIONS_NAME) if row["type"] != "invoke" and row["time_ns"] > noticed_ns]
    outcomes = {(row["f"], row["type"]) for row in ended if row["zone"] == "a"}
    return outcomes, done.record.clients, verdict.counts[MessageClass.STUCK]


@pytest.mark.parametrize("engine", ["dyno", "dyno-v2", "gmq", "youzan", "zset"])
def test_every_engine_goes_on_through_other_zones_while_its_coordinator_is_dead(engine: str) -> None:
    queue = {"engine": engine} if engine == "zset" else {"engine": engine, "unack_ms": 1000}
    outcomes, clients, _ = told({"failover": True, "connections": 1}, queue=queue)
    assert ("push", "ok") in outcomes
    assert ("push", "fail") not in outcomes
    assert clients["producer-a"]["fail_overs"] == 1
    assert clients["producer-a"]["elsewhere"] > 0
    assert not any(clients["producer-b"].values())


def test_without_it_pushes_fail_and_nothing_is_counted() -> None:
    outcomes, clients, stuck = told({})
    assert ("push", "fail") in outcomes
    assert clients == {}
    assert stuck > told({"failover": True})[2]


def test_hardened_queues_read_single_zones_through_whoever_serves_them() -> None:
    outcomes, _, stuck = told({"failover": True, "connections": 1}, queue={"mode": "hardened"})
    assert ("push", "ok") in outcomes
    assert ("push", "fail") not in outcomes
    assert stuck == 0


def test_a_retried_increment_is_counted_twice() -> None:
    paused = [{"kind": "pause", "zone": zone, "at_s": 0.5, "for_s": 2} for zone in ("b", "c")]
    workload = {"kind": "counter", "operations": [{"at_ms": 1000, "zone": "a", "f": "next"}]}
    changes = {"load": {"duration_s": 6}, "links": {"lag": "constant:2ms"}, "faults": paused, "workload": workload}

    def counted(clients: dict[str, Any]) -> tuple[int, int]:
        scenario = scenario_of({"name": "x", "arm": "sim", "clients": clients, **changes}, source="x.yaml")
        tables = MemoryTables()
        done = simulate(scenario, tables)
        values = [int(row["value"]) for row in tables("final_values", FINAL_VALUES).batch(None).to_pylist()]
        return max(values), sum(each["retries"] for each in done.record.clients.values())

    assert counted({}) == (1, 0)
    assert counted({"retries": 1}) == (2, 1)


@pytest.mark.parametrize(
    ("clients", "topology", "line"),
    [
        ({"failover": True}, {"zones": ["a"]}, "clients.failover: got True; accepted: false with one zone"),
        ({"retries": 101}, {}, "clients.retries: got 101"),
        ({"fail_over": True}, {}, "clients.fail_over"),
    ],
)
def test_what_makes_no_sense_is_refused(clients: dict[str, Any], topology: dict[str, Any], line: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        small(clients=clients, topology=topology)
    assert line in str(raised.value)

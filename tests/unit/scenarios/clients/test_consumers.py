"""Goal: a crashed consumer sends nothing more, keeps its lease, and is followed by another process.

Method: consumers in virtual time on a queue whose commands are counted; the history is compared row by row.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from zonelab.analysis.runs.history import HistoryWriter
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.message import Delivery, Message
from zonelab.engine.ports import Command, Connection, Indeterminate, Reply, Unavailable
from zonelab.scenarios.clients.consumers import Consumers, PoppingProgram
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.clients.recorder import Recorder
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.tasks import Halt, TaskGroup

MS = 1_000_000
S = 1_000_000_000
REPAIR_MS = 20
LEASE_MS = 100


class CountingConnection:
    """A server that answers ``delay_ns`` later, or as ``error`` says."""

    def __init__(self, runtime: SimRuntime, *, delay_ns: int = 0) -> None:
        self.sent: list[Command] = []
        self.error: Exception | None = None
        self._runtime = runtime
        self._delay_ns = delay_ns

    async def execute(self, *commands: Command) -> list[Reply]:
        self.sent += commands
        await self._runtime.sleep(self._delay_ns)
        if self.error is not None:
            raise self.error
        return [1] * len(commands)


class ToyQueue:
    """Delivers a message per pop, in two commands, and acknowledges it in one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._popped = 0
        self.closed = False

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        await self._connection.execute(("LEASE",))
        await self._connection.execute(("UNLIST",))
        self._popped += 1
        message = Message(id=f"m{self._popped}")
        return [Delivery(message=message, shard="s", lease_start_ms=1, leased_ms=2, lease_end_ms=3)]

    async def ack(self, delivery: Delivery, /) -> bool:
        await self._connection.execute(("ACK", delivery.message.id))
        return True

    async def close(self) -> None:
        self.closed = True


class ExtendingQueue(ToyQueue):
    """Moves the end of a lease before every ack, and once that of a message which nobody has popped."""

    def tell_extensions(self, heard: Callable[[str, int], None]) -> None:
        self._heard = heard
        heard("unknown", 99)

    async def ack(self, delivery: Delivery, /) -> bool:
        self._heard(delivery.message.id, 99)
        return await super().ack(delivery)


class RepairingQueue(ToyQueue):
    """Has to be told to look for ended leases, and fails the first time."""

    async def process_unacks(self) -> None:
        await self._connection.execute(("REPAIR",))
        if self._connection_fails():
            raise Unavailable("down")

    def _connection_fails(self) -> bool:
        self.repairs = getattr(self, "repairs", 0) + 1
        return self.repairs == 1


class LeasingQueue(ToyQueue):
    """Its only message has a lease until ``LEASE_MS``, which is extended."""

    grants = True

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        (popped,) = await super().pop(count, wait_ms=wait_ms)
        leased = replace(popped, lease_start_ms=0, leased_ms=0, lease_end_ms=LEASE_MS)
        return [leased] if popped.message.id == "m1" else []

    async def set_unack_timeout(self, message_id: str, /, *, timeout_ms: int) -> bool:
        assert timeout_ms == LEASE_MS
        await self._connection.execute(("EXTEND", message_id))
        return self.grants


class RefusingQueue(LeasingQueue):
    grants = False


class EmptyQueue(ToyQueue):
    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        await super().pop(count, wait_ms=wait_ms)
        return []


class Stage:
    """Consumers of zone b on toy queues."""

    def __init__(
        self,
        directory: Path,
        *,
        work: str = "constant:10ms",
        delay_ms: int = 0,
        poison: Collection[str] = (),
        kind: type[ToyQueue] = ToyQueue,
        extend: float = 0.0,
        seed: int = 1,
    ) -> None:
        self._kind = kind
        self.runtime = SimRuntime(seed=seed)
        self.halt = Halt(self.runtime)
        self.history = HistoryWriter(directory)
        self.connection = CountingConnection(self.runtime, delay_ns=delay_ms * MS)
        self.queues: list[ToyQueue] = []
        clock = NodeClock(epoch_ns=0, run_ns=self.runtime.now_ns)
        settings = spec.ConsumerSection(per_zone=1, batch=1, wait_ms=0, processing=work, extend=extend)
        self.deaths: dict[str, int] = {}
        self.consumers = Consumers(
            deaths=self.deaths,
            settings=settings,
            make=partial(
                PoppingProgram,
                settings=settings,
                poison=poison,
                open_queue=self._open,
                recorder=Recorder(self.history, self.runtime, clock=lambda zone: clock),
                runtime=self.runtime,
                repair_ms=REPAIR_MS,
                lease_ms=LEASE_MS,
            ),
            runtime=self.runtime,
            tasks=TaskGroup(self.runtime, self.halt),
        )
        self._directory = directory

    async def _open(self, zone: str, wrap: Callable[[Connection], Connection]) -> ToyQueue:
        assert zone == "b"
        self.queues.append(self._kind(wrap(self.connection)))
        return self.queues[-1]

    def rows(self) -> list[tuple[object, ...]]:
        self.runtime.run_until_complete(self.consumers.stop())
        self.history.close()
        assert self.halt.error is None
        table = pq.read_table(self._directory / "history" / "operations-000001.parquet").to_pylist()
        return [(row["process"], row["f"], row["type"], row["message_id"], row["error"]) for row in table]


def test_a_consumer_pops_works_and_acknowledges_in_turn(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=15 * MS)
    name = "consumer-b-0"
    assert stage.rows()[:6] == [
        (name, "pop", "invoke", None, None),
        (name, "pop", "ok", "m1", None),
        (name, "ack", "invoke", "m1", None),
        (name, "ack", "ok", "m1", None),
        (name, "pop", "invoke", None, None),
        (name, "pop", "ok", "m2", None),
    ]
    assert stage.queues[0].closed


def test_an_extension_of_what_was_popped_goes_into_the_history(tmp_path: Path) -> None:
    stage = Stage(tmp_path, kind=ExtendingQueue)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=15 * MS)
    assert [row[1:4] for row in stage.rows()[1:6]] == [
        ("pop", "ok", "m1"),
        ("ack", "invoke", "m1"),
        ("extend", "invoke", "m1"),
        ("extend", "ok", "m1"),
        ("ack", "ok", "m1"),
    ]


def test_a_queue_that_is_to_be_told_is_told_to_look_for_ended_leases_until_its_program_ends(tmp_path: Path) -> None:
    stage = Stage(tmp_path, kind=RepairingQueue)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=5 * REPAIR_MS * MS + 1 * MS)
    assert stage.connection.sent.count(("REPAIR",)) == 5
    stage.consumers.crash("b", 0)
    stage.runtime.run(for_ns=1 * S)
    assert stage.connection.sent.count(("REPAIR",)) == 5
    stage.rows()


@pytest.mark.parametrize(("kind", "granted"), [(LeasingQueue, True), (RefusingQueue, False)])
def test_a_consumer_that_extends_acknowledges_what_it_is_granted_and_a_lease_that_had_ended_is_a_delivery(
    tmp_path: Path, kind: type[ToyQueue], granted: bool
) -> None:
    shown = {}
    for seed in range(1, 13):
        stage = Stage(tmp_path / str(seed), kind=kind, extend=1.0, seed=seed)
        stage.consumers.start("b", 0)
        while ("EXTEND", "m1") not in stage.connection.sent:
            stage.runtime.run(for_ns=1 * MS)
        late = stage.runtime.now_ns() > (LEASE_MS + 1) * MS
        stage.runtime.run(for_ns=5 * LEASE_MS * MS)
        rows = [(f, outcome, message_id) for _, f, outcome, message_id, _ in stage.rows() if message_id or f != "pop"]
        refused = [("extend", "invoke", "m1"), ("extend", "fail", "m1")]
        again = [("pop", "ok", "m1"), *refused] if late else [("extend", "invoke", "m1"), ("extend", "ok", "m1")]
        acked = [("ack", "invoke", "m1"), ("ack", "ok", "m1")]
        assert rows == [("pop", "ok", "m1"), *((*again, *acked) if granted else refused)]
        shown[late] = True
    assert set(shown) == {True, False}


def test_a_consumer_without_work_that_does_not_wait_pauses_before_it_asks_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, delay_ms=1, kind=EmptyQueue)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=70 * MS)
    assert stage.connection.sent.count(("LEASE",)) == 10  # two commands of 1 ms each, and a pause of 5


def test_a_program_that_has_ended_does_not_hear_the_answer_that_comes_then() -> None:
    runtime, switch = SimRuntime(seed=1), CrashSwitch("consumer-a-0")
    server = CountingConnection(runtime, delay_ns=10 * MS)
    runtime.call_later(5 * MS, switch.crash)
    with pytest.raises(ProgramCrashed):
        runtime.run_until_complete(switch.wrap_deaf(server).execute(("SET", "k", "v")))
    assert server.sent == [("SET", "k", "v")]


def test_a_consumer_that_crashes_at_work_never_acknowledges(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=5 * MS)
    stage.consumers.crash("b", 0)
    stage.runtime.run(for_ns=1 * S)
    assert stage.connection.sent == [("LEASE",), ("UNLIST",)]
    assert [row[1:4] for row in stage.rows()] == [("pop", "invoke", None), ("pop", "ok", "m1")]


def test_a_consumer_that_crashes_in_the_middle_of_a_pop_leaves_it_unknown(tmp_path: Path) -> None:
    stage = Stage(tmp_path, delay_ms=10)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=5 * MS)
    stage.consumers.crash("b", 0)
    stage.runtime.run(for_ns=1 * S)
    assert stage.connection.sent == [("LEASE",)]
    assert [row[1:] for row in stage.rows()] == [
        ("pop", "invoke", None, None),
        ("pop", "info", None, "consumer crashed"),
    ]


def test_whoever_gets_a_poison_message_dies_and_another_takes_its_place(tmp_path: Path) -> None:
    stage = Stage(tmp_path, poison=["m2"])
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=35 * MS)
    delivered = [(process, f, message_id) for process, f, kind, message_id, _ in stage.rows() if kind == "ok"]
    life = [("pop", "m1"), ("ack", "m1"), ("pop", "m2")]
    assert (
        delivered == [(name, *step) for name in ("consumer-b-0", "consumer-b-0.2") for step in life][: len(delivered)]
    )
    assert len(delivered) > len(life)


def test_nobody_takes_the_place_of_a_poisoned_program_when_the_run_ends_or_a_fault_has_seen_to_it(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, poison=["m1"])
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=5 * MS)
    stage.consumers.replace("b", 0)
    stage.runtime.run(for_ns=5 * MS)
    assert [row[0] for row in stage.rows() if row[2] == "ok"] == ["consumer-b-0", "consumer-b-0.2"]


@pytest.mark.parametrize("delay_ms", [0, 10], ids=["after the poison", "before the poison comes"])
def test_a_fault_that_holds_a_consumer_down_holds_it_down_whatever_poison_does(tmp_path: Path, delay_ms: int) -> None:
    stage = Stage(tmp_path, poison=["m1"], delay_ms=delay_ms)
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=15 * MS)
    stage.consumers.crash("b", 0)
    stage.runtime.run(for_ns=100 * MS)
    assert len(stage.queues) == 1
    stage.consumers.replace("b", 0)
    stage.runtime.run(for_ns=5 * MS)
    assert {row[0] for row in stage.rows()} == {"consumer-b-0", "consumer-b-0.2"}


def test_a_fault_that_counts_commands_does_not_bring_the_dead_back() -> None:
    switch = CrashSwitch("consumer-a-0")
    switch.crash()
    switch.crash(at_command=5)
    assert switch.crashed
    with pytest.raises(ProgramCrashed):
        switch.check()


@pytest.mark.parametrize(("error", "outcome"), [(Unavailable("down"), "fail"), (Indeterminate("late"), "info")])
def test_a_consumer_backs_off_and_goes_on_when_the_cluster_fails(
    tmp_path: Path, error: Exception, outcome: str
) -> None:
    stage = Stage(tmp_path)
    stage.connection.error = error
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=1 * S)
    stage.connection.error = None
    stage.runtime.run(for_ns=1 * S)
    rows = stage.rows()
    failed = [row for row in rows if row[2] == outcome]
    assert 6 <= len(failed) <= 20  # a pause of 50 to 150 ms after each
    assert {row[4] for row in failed} == {str(error)}
    assert ("consumer-b-0", "pop", "ok", "m1", None) in rows


def test_an_exception_that_is_no_cluster_error_halts_the_run(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.connection.error = ZeroDivisionError("a bug")
    stage.consumers.start("b", 0)
    stage.runtime.run(for_ns=1 * S)
    assert isinstance(stage.halt.error, ZeroDivisionError)


def test_nothing_inside_a_dead_program_can_handle_its_death() -> None:
    switch = CrashSwitch("consumer-a-0")
    switch.check()
    switch.crash()
    with pytest.raises(ProgramCrashed) as crashed:
        switch.check()
    assert not isinstance(crashed.value, Exception)

"""Goal: the load is the same whenever the seed is, begins on time whatever the cluster does, and hides nothing.

Method: plans are compared whole; producers run in virtual time against queues that answer late, never or not at all.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from support.scenarios.sim_runs import small

from zonelab.analysis.runs.history import OPERATIONS, History, HistoryWriter
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.random_streams import Streams
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.dyno import PushIndeterminate
from zonelab.engine.message import Message, Receipt
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable
from zonelab.scenarios.clients import producers as workload
from zonelab.scenarios.clients.producers import ZoneProducer
from zonelab.scenarios.clients.recorder import Recorder
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.spec.push_plan import PlannedPush, explicit_operations, plan_pushes
from zonelab.scenarios.spec.reading import dump_scenario, scenario_of
from zonelab.scenarios.spec.scenario import Arrival, Load, Priority, PushOperation
from zonelab.scenarios.tasks import Halt

MS = 1_000_000
S = 1_000_000_000


def planned(load: Load, *, seed: int = 1, zone: str = "a") -> list[PlannedPush]:
    return list(plan_pushes(load, zone=zone, random=Streams(seed).stream))


LOAD = Load(duration_s=20, rate_per_s=50, delay="uniform:0ms:500ms", priority=Priority(min=2, max=5), payload_bytes=40)


def test_a_plan_is_decided_by_the_seed_and_its_messages_are_as_asked() -> None:
    assert _whole(planned(LOAD)) == _whole(planned(LOAD)) != _whole(planned(LOAD, seed=2))
    messages = [message for push in planned(LOAD) for message in push.messages]
    assert [message.id for message in messages] == [f"a-{number:06d}" for number in range(len(messages))]
    assert {message.priority for message in messages} == {2, 3, 4, 5}
    assert all(0 <= message.timeout_ms <= 500 for message in messages)
    assert {len(message.payload) for message in messages} == {40}


def test_what_is_in_the_messages_does_not_move_their_times() -> None:
    other = LOAD.model_copy(update={"delay": "0", "priority": Priority(min=0, max=99)})
    assert [push.offset_ns for push in planned(LOAD)] == [push.offset_ns for push in planned(other)]


def test_topics_and_missing_leases_are_drawn_beside_the_rest_and_can_be_told() -> None:
    routed = LOAD.model_copy(update={"topics": ("jobs", "mails"), "at_most_once": 0.25})
    messages = [message for push in planned(routed) for message in push.messages]
    assert _whole(planned(routed)) == _whole(planned(LOAD))
    assert {message.topic for message in messages} == {"jobs", "mails"}
    assert {message.lease_ms for message in messages} == {None, 0}
    assert sum(message.lease_ms == 0 for message in messages) / len(messages) == pytest.approx(0.25, abs=0.05)
    told = Load(duration_s=20, operations=explicit_operations(routed, zones="a", random=Streams(1).stream))
    assert _routes(planned(told)) == _routes(planned(routed))


def test_a_poisson_load_has_the_asked_rate_and_exponential_gaps() -> None:
    offsets = [push.offset_ns / S for push in planned(Load(duration_s=400, rate_per_s=50))]
    gaps = [later - earlier for earlier, later in pairwise(offsets)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(1 / 50, rel=0.03)
    assert deviation == pytest.approx(mean, rel=0.05)


def test_a_constant_load_has_equal_gaps_and_zones_do_not_beat_together() -> None:
    load = Load(duration_s=5, rate_per_s=10, arrival=Arrival.CONSTANT)
    offsets = [push.offset_ns for push in planned(load)]
    assert len(offsets) == 50
    assert {round((later - earlier) / MS) for earlier, later in pairwise(offsets)} == {100}
    assert offsets[0] != planned(load, zone="b")[0].offset_ns


def test_a_batch_divides_the_calls_and_not_the_messages() -> None:
    single, batched = planned(LOAD), planned(LOAD.model_copy(update={"batch": 5}))
    assert {len(push.messages) for push in batched} == {5}
    assert len(batched) * 5 == pytest.approx(len(single), rel=0.25)


def test_a_zone_without_a_rate_pushes_nothing() -> None:
    assert planned(Load(duration_s=5, rate_per_s={"b": 3.0})) == []


@pytest.mark.parametrize("batch", [1, 3])
def test_a_told_load_pushes_what_the_drawn_one_would(batch: int) -> None:
    drawn = Load(duration_s=2, rate_per_s=20, delay="uniform:1ms:2s", batch=batch, priority={"max": 9})
    operations = explicit_operations(drawn, zones="abc", random=Streams(5).stream)
    told = Load(duration_s=2, operations=operations)
    for zone in "abc":
        plan = list(plan_pushes(drawn, zone=zone, random=Streams(5).stream))
        assert list(plan_pushes(told, zone=zone, random=Streams(6).stream)) == plan
        assert len(plan) > 5
    assert [operation.at_ms for operation in operations] == sorted(operation.at_ms for operation in operations)


def test_operations_of_one_zone_and_time_are_pushed_together() -> None:
    operations = [
        PushOperation(at_ms=at, zone=zone, id=name) for at, zone, name in [(5, "a", "x"), (5, "b", "y"), (5, "a", "z")]
    ]
    (push,) = plan_pushes(Load(duration_s=1, operations=operations), zone="a", random=Streams(1).stream)
    assert (push.offset_ns, [message.id for message in push.messages]) == (5_000_000, ["x", "z"])


def test_a_told_scenario_prints_to_a_file_that_reads_back_equal() -> None:
    scenario = small(load={"rate_per_s": 0, "operations": [{"at_ms": 10, "zone": "a", "id": "one"}]})
    assert scenario_of(yaml.safe_load(dump_scenario(scenario)), source="again.yaml") == scenario


class SlowQueue:
    """Answers each push ``delay_ns`` after it was asked, or as ``error`` says, be it only ``failures`` times."""

    def __init__(
        self, runtime: SimRuntime, *, delay_ns: int, error: Exception | None = None, failures: int | None = None
    ) -> None:
        self._runtime = runtime
        self._failures_left = failures
        self._delay_ns = delay_ns
        self._error = error

    async def push(self, messages: Sequence[Message]) -> list[Receipt]:
        await self._runtime.sleep(self._delay_ns)
        if self._error is not None and self._failures_left != 0:
            if self._failures_left is not None:
                self._failures_left -= 1
            raise self._error
        return [Receipt(id=message.id, shard="s", due_ms=7) for message in messages]

    async def close(self) -> None:
        pass


def rows_of_a_run(
    tmp_path: Path,
    *,
    delay_ns: int,
    error: Exception | None = None,
    load: Load | None = None,
    failures: int | None = None,
    crash_after_ns: int | None = None,
    late_ns: int = 0,
) -> list[dict[str, object]]:
    """The history of one producer; ``failures``: only so many pushes fail. It crashes after ``crash_after_ns``.

    ``late_ns``: when it comes to its plan, which begins after a second.
    """
    runtime = SimRuntime(seed=1)
    halt = Halt(runtime)
    history = HistoryWriter(tmp_path)
    queue = SlowQueue(runtime, delay_ns=delay_ns, error=error, failures=failures)
    load = load or Load(duration_s=2, rate_per_s=20)

    async def opened(zone: str, wrap: Wrap) -> SlowQueue:
        return queue

    producer = ZoneProducer(
        zone="a",
        open_queue=opened,
        recorder=Recorder(history, runtime),
        runtime=runtime,
        halt=halt,
        retries=load.retries,
        retry_after_ms=load.retry_after_ms,
    )

    async def run() -> None:
        await producer.start()
        if crash_after_ns is not None:
            runtime.call_later(crash_after_ns, producer.crash)
        await runtime.sleep(late_ns)
        await producer.run(plan_pushes(load, zone="a", random=Streams(1).stream), begin_ns=1 * S)
        while producer.in_flight:
            await runtime.sleep(MS)
        await producer.close()

    runtime.run_until_complete(run())
    assert halt.error is None
    history.close()
    rows: list[dict[str, object]] = pq.read_table(tmp_path / "history" / "operations-000001.parquet").to_pylist()
    return rows


def test_every_push_begins_at_its_intended_time_however_slow_the_earlier_ones_are(tmp_path: Path) -> None:
    rows = rows_of_a_run(tmp_path, delay_ns=10 * S)
    begun = [row for row in rows if row["type"] == "invoke"]
    plan = planned(Load(duration_s=2, rate_per_s=20))
    assert [row["time_ns"] for row in begun] == [1 * S + push.offset_ns for push in plan]
    assert [row["time_ns"] for row in begun] == [row["intended_ns"] for row in begun]


def test_what_a_producer_was_late_with_counts_from_when_it_was_meant_to_begin(tmp_path: Path) -> None:
    rows = rows_of_a_run(tmp_path, delay_ns=MS, late_ns=2 * S)
    begun = sorted((row["intended_ns"], row["time_ns"]) for row in rows if row["type"] == "invoke")
    plan = [1 * S + push.offset_ns for push in planned(Load(duration_s=2, rate_per_s=20))]
    assert begun == [(intended_ns, max(2 * S, intended_ns)) for intended_ns in plan]


ONE_PUSH = {"duration_s": 1, "operations": [{"at_ms": 5, "zone": "a", "id": "m", "delay_ms": 40}]}


def attempts(rows: list[dict[str, object]]) -> list[tuple[object, object, object]]:
    return [(row["time_ns"], row["type"], row["due_ms"]) for row in rows]


def test_what_is_not_confirmed_is_pushed_again_after_a_while_until_it_is(tmp_path: Path) -> None:
    load = Load(**ONE_PUSH, retries=3, retry_after_ms=20.0)
    rows = rows_of_a_run(tmp_path, delay_ns=2 * MS, error=Indeterminate("late"), load=load, failures=2)
    assert attempts(rows) == [
        (S + 5 * MS, "invoke", None),
        (S + 7 * MS, "info", 40),
        (S + 27 * MS, "invoke", None),
        (S + 29 * MS, "info", 40),
        (S + 49 * MS, "invoke", None),
        (S + 51 * MS, "ok", 7),
    ]
    assert {row["message_id"] for row in rows} == {"m"}
    assert len({row["op_id"] for row in rows}) == 3
    assert [row["intended_ns"] for row in rows] == [row["invoke_ns"] or row["time_ns"] for row in rows]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(Unavailable("down"), "fail"), (Indeterminate("late"), "info"), (ServerError("ERR no"), "fail")],
)
def test_a_producer_gives_up_after_the_last_retry(tmp_path: Path, error: Exception, outcome: str) -> None:
    rows = rows_of_a_run(tmp_path, delay_ns=MS, error=error, load=Load(**ONE_PUSH, retries=3))
    assert [row["type"] for row in rows] == ["invoke", outcome] * 4
    assert {row["error"] for row in rows if row["type"] == outcome} == {str(error)}


def test_of_a_batch_only_what_was_not_confirmed_is_pushed_again(tmp_path: Path) -> None:
    cause = Indeterminate("late")
    error = PushIndeterminate(cause, receipts=(Receipt(id="a-000000", shard="s", due_ms=7),), failed_id="a-000001")
    error.__cause__ = cause
    load = Load(duration_s=1, rate_per_s=3, batch=3, arrival=Arrival.CONSTANT, retries=1)
    rows = rows_of_a_run(tmp_path, delay_ns=MS, error=error, load=load, failures=1)
    assert [(row["message_id"], row["type"], row["error"]) for row in rows[3:]] == [
        ("a-000001", "info", "late"),
        ("a-000002", "fail", "late"),
        ("a-000000", "ok", None),
        ("a-000001", "invoke", None),
        ("a-000002", "invoke", None),
        ("a-000001", "ok", None),
        ("a-000002", "ok", None),
    ]


def test_a_dead_producer_does_not_try_again(tmp_path: Path) -> None:
    load = Load(**ONE_PUSH, retries=3, retry_after_ms=20.0)
    rows = rows_of_a_run(tmp_path, delay_ns=MS, error=Indeterminate("late"), load=load, crash_after_ns=S + 10 * MS)
    assert [row["type"] for row in rows] == ["invoke", "info"]


def test_a_push_beyond_the_limit_is_recorded_as_failed_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workload, "IN_FLIGHT_MAX", 4)
    rows = rows_of_a_run(tmp_path, delay_ns=100 * S)
    outcomes = [row["type"] for row in rows if row["type"] != "invoke"]
    assert outcomes.count("ok") == 4
    assert outcomes.count("fail") == len(planned(Load(duration_s=2, rate_per_s=20))) - 4
    assert {row["error"] for row in rows if row["type"] == "fail"} == {workload.OVERLOADED}


def _routes(plan: list[PlannedPush]) -> list[tuple[object, ...]]:
    return [(message.id, message.topic, message.lease_ms) for push in plan for message in push.messages]


def _whole(plan: list[PlannedPush]) -> list[tuple[object, ...]]:
    """Messages are equal when their ids are, so their other parts are compared one by one."""
    return [
        (push.offset_ns, message.id, message.payload, message.timeout_ms, message.priority)
        for push in plan
        for message in push.messages
    ]


def test_whoever_asks_for_a_push_is_told_what_was_not_confirmed_even_if_it_never_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In flight are two at most; the third is refused, and what comes after the crash nobody pushes."""
    runtime = SimRuntime(seed=1)
    table = MemoryTable(OPERATIONS)
    queue = SlowQueue(runtime, delay_ns=S)

    async def opened(zone: str, wrap: Wrap) -> SlowQueue:
        return queue

    producer = ZoneProducer(
        zone="a", open_queue=opened, recorder=Recorder(History(table), runtime), runtime=runtime, halt=Halt(runtime)
    )
    runtime.run_until_complete(producer.start())
    monkeypatch.setattr(workload, "IN_FLIGHT_MAX", 2)
    told: dict[str, list[str]] = {}

    def begin(name: str) -> bool:
        def then(left: Sequence[Message]) -> None:
            told[name] = [message.id for message in left]

        return producer.begin((Message(id=name),), intended_ns=0, then=then)

    assert [begin("one"), begin("two"), begin("three")] == [True, True, False]
    assert (producer.in_flight, told) == (2, {"three": ["three"]})
    runtime.run(for_ns=2 * S)
    assert (producer.in_flight, told) == (0, {"three": ["three"], "one": [], "two": []})
    producer.crash()
    assert begin("four") is True
    assert (producer.in_flight, told["four"]) == (0, ["four"])
    failed = [(row["message_id"], row["error"]) for row in table.batch().to_pylist() if row["type"] == "fail"]
    assert failed == [("three", workload.OVERLOADED)]

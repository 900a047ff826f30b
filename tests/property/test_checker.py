"""Goal: the queue checker finds exactly what is wrong. Method: Hypothesis runs a tiny correct queue in simulated
time, which must be judged valid; then one violation of one class is planted, and nothing but it may be reported.
"""

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.analysis.plants import PLANTS, plant_concurrent, plant_orphan

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import DUPLICATE_CAUSES, FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.runs.builder import Pop, RunBuilder

LEASE_MS = 200
LEGAL = {MessageClass.REDELIVERED, MessageClass.RECOVERED}


@dataclass
class CorrectQueue:
    """Pushes, delays, leases, lost consumers and doubtful answers, as a correct queue would show them."""

    run: RunBuilder
    draw: random.Random
    expected: dict[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, MessageClass), 0))
    delivered: int = 0
    acknowledged: int = 0

    def message(self, message_id: str) -> None:
        """One message from its push to its ack; the times between are drawn, the order of rules is the queue's."""
        draw, run = self.draw, self.run
        zone = draw.choice("abc")
        at_ms = draw.randrange(1_000)
        outcome = draw.choices(["ok", "info", "fail"], [8, 1, 1])[0]
        due_ms = at_ms + draw.randrange(300)
        run.push(message_id, at_ms=at_ms, due_ms=due_ms, outcome=outcome, zone=zone, shard=zone, priority=0)
        self.acknowledged += outcome == "ok"
        if outcome == "fail" or (outcome == "info" and draw.random() < 0.5):
            return
        self.delivered += 1
        self.expected["recovered"] += outcome == "info"
        free_ms = max(due_ms, at_ms + 1)
        while draw.random() < 0.3:
            free_ms = self._deliver_and_forget(message_id, zone, free_ms)
            self.expected["redelivered"] += 1
        self._deliver_and_ack(message_id, zone, free_ms)

    def _deliver(self, message_id: str, zone: str, free_ms: float) -> tuple[Pop, float, float]:
        pop_ms = free_ms + self.draw.randrange(50)
        end_ms = pop_ms + LEASE_MS
        took_ms = self.draw.randrange(1, 20)
        pop = self.run.pop(message_id, at_ms=pop_ms, took_ms=took_ms, lease_end_ms=end_ms, zone=zone, shard=zone)
        return pop, pop_ms + took_ms, end_ms

    def _deliver_and_forget(self, message_id: str, zone: str, free_ms: float) -> float:
        """The consumer is lost, or its ack is refused or lost in doubt; returns when the message is free again."""
        pop, got_ms, end_ms = self._deliver(message_id, zone, free_ms)
        if self.draw.random() < 0.3:
            end_ms += 100
            self.run.extend(message_id, pop, at_ms=got_ms, took_ms=5, lease_end_ms=end_ms, zone=zone)
        if self.draw.random() < 0.3:
            late_ms = end_ms + 1
            self.run.ack(message_id, pop, at_ms=late_ms, outcome="fail", error="no lease", zone=zone, shard=zone)
        return end_ms

    def _deliver_and_ack(self, message_id: str, zone: str, free_ms: float) -> None:
        pop, got_ms, end_ms = self._deliver(message_id, zone, free_ms)
        outcome = self.draw.choice(["ok", "ok", "ok", "info"])
        at_ms = self.draw.randrange(int(got_ms), int(end_ms))
        self.run.ack(message_id, pop, at_ms=at_ms, took_ms=3, outcome=outcome, zone=zone, shard=zone)


def correct_run(path: Path, *, messages: int, seed: int) -> CorrectQueue:
    queue = CorrectQueue(RunBuilder(path), random.Random(seed))
    for number in range(messages):
        queue.message(f"m{number}")
    return queue


def judged(queue: CorrectQueue, **sizes: int) -> Verdict:
    forbid = [*FORBIDDEN_DEFAULT, MessageClass.LATE]
    return check(queue.run.write(late_ms=5_000, forbid=forbid), **sizes)


@given(messages=st.integers(1, 40), seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_correct_queue_is_valid_and_counted_right(messages: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        queue = correct_run(Path(folder) / "run", messages=messages, seed=seed)
        verdict = judged(queue)
    assert verdict.reasons == ()
    assert verdict.valid is True
    assert dict(verdict.counts) == queue.expected
    assert (verdict.totals.pushed, verdict.totals.acknowledged) == (messages, queue.acknowledged)
    assert verdict.totals.delivered == queue.delivered
    assert verdict.queue.duplicated == queue.expected["redelivered"]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
@given(messages=st.integers(1, 20), seed=st.integers(0, 2**32))
@settings(max_examples=6, deadline=None)
def test_one_planted_violation_is_reported_and_nothing_else(
    plant: Callable[[RunBuilder], None], messages: int, seed: int
) -> None:
    planted = PLANTS[plant]
    with tempfile.TemporaryDirectory() as folder:
        queue = correct_run(Path(folder) / "run", messages=messages, seed=seed)
        plant(queue.run)
        verdict = judged(queue)
    beside = {MessageClass.REDELIVERED: 1} if planted is MessageClass.OVERLAP else {}
    more = {planted: 1, **beside}
    assert dict(verdict.counts) == {
        name: count + more.get(MessageClass(name), 0) for name, count in queue.expected.items()
    }
    forbidden = planted in (*FORBIDDEN_DEFAULT, MessageClass.LATE)
    doubtful = planted is MessageClass.UNSERVED
    assert verdict.valid == ("unknown" if doubtful else not forbidden)
    assert len(verdict.reasons) == (forbidden or doubtful)
    assert "bad" in [offender.message_id for offender in verdict.cases[planted]] or planted in LEGAL
    assert verdict.queue.duplicated == sum(verdict.counts[cause] for cause in DUPLICATE_CAUSES)


def test_every_class_but_undecided_has_a_plant() -> None:
    """Undecided needs a gap in the evidence, not a bug; its tests are with the verdicts."""
    assert {*PLANTS.values(), MessageClass.UNDECIDED} == set(MessageClass)


@given(
    seed=st.integers(0, 2**32),
    rows_per_partition=st.integers(5, 200),
    batch_rows=st.integers(3, 100),
)
@settings(max_examples=20, deadline=None)
def test_the_verdict_does_not_depend_on_batches_and_partitions(
    seed: int, rows_per_partition: int, batch_rows: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        queue = correct_run(Path(folder) / "run", messages=25, seed=seed)
        for plant in (plant_concurrent, plant_orphan):
            plant(queue.run)
        whole = judged(queue)
        divided = check(queue.run.path, rows_per_partition=rows_per_partition, batch_rows=batch_rows)
    assert divided == whole
    assert divided.valid is False

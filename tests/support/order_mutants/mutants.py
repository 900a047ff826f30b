"""The bugs, with the drawn runs in which each is looked for, and how such a run is made small."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from support.order_mutants.bugs import (
    Plant,
    a_pool,
    aside_in_two,
    committed_first,
    keeping_the_cache,
    method,
    no_barrier,
    not_written,
    one_attempt_more,
    skipped,
    through_a_side_topic,
    tried_elsewhere,
    unfenced,
    zones_of_one_name,
)

from zonelab.analysis.checkers.order.properties import Property
from zonelab.cluster.votes.levels import Level
from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.results import Results
from zonelab.engine.fifo.fenced.cursor import GroupCursor
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.fenced.member.results import FencedResults
from zonelab.engine.fifo.producer import Producer, SendMode
from zonelab.engine.fifo.settings import Begin
from zonelab.scenarios.clients.sinks import Sink
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.faults.seen import CommandDelay, MemberHidden
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.queues.ordered.fifo_fenced import FencedUnderTest
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.queue_settings import QueueMode
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.guarantees.mechanisms import Ablation
from zonelab.studies.shrink.queue_run import shrink

STORE = Path(__file__).with_name("small_runs.yaml")
SEEDS_MAX, SHRINK_RUNS_MAX = 80, 400
FAULTS_MAX, OPERATIONS_MAX = 3, 10
ABOUT = "a drawn run, shrunk while a planted bug broke it"

Change = Callable[[Scenario], Scenario]


def of_queue(**changes: Any) -> Change:
    return lambda scenario: scenario.model_copy(update={"queue": scenario.queue.model_copy(update=changes)})


IN_MODE_FENCED = of_queue(mode=QueueMode.FENCED)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderMutant:
    """``breaks``: by which it is caught. ``plant``: while it is entered, the bug is there. ``changed``: what the drawn
    runs need besides, with the bug and without. ``off``: mechanisms whose absence is the bug. ``control``: makes of a
    run the one without the bug.
    """

    breaks: Property
    plant: Plant = nullcontext
    mode: EngineMode = EngineMode.FENCED
    level: Level = Level.DC_QUORUM
    faults: FaultClass = FaultClass.ANY_OF_ONE_ZONE
    changed: Change = lambda scenario: scenario
    off: tuple[Fencing, ...] = ()
    control: Change = IN_MODE_FENCED

    def drawn(self, seed: int) -> Scenario:
        return self.changed(scenario_of_class(self.faults, level=self.level, mode=self.mode, seed=seed, engine="fifo"))

    @property
    def make_queue(self) -> MakeQueue:
        return Ablation.of(*self.off, engine="fifo").make_queue if self.off else queue_under_test

    def broken(self, scenario: Scenario) -> bool:
        """Whether the run breaks its property with the bug."""
        with self.plant():
            return self.breaks in attempt(scenario, make_queue=self.make_queue).verdict.violated

    def kept(self, scenario: Scenario) -> bool:
        """Whether the run keeps the property without the bug; in mode fenced, whether it breaks nothing at all."""
        violated = attempt(self.control(scenario)).verdict.violated
        return not violated if self.control is IN_MODE_FENCED else self.breaks not in violated

    def shrunk(self, scenario: Scenario) -> Scenario:
        with self.plant():
            shrunk = shrink(scenario, self.breaks, make_queue=self.make_queue, runs_max=SHRINK_RUNS_MAX)
        return shrunk.scenario.model_copy(update={"about": ABOUT, "found": None})


def failing(times: int, **changes: Any) -> Change:
    """Every fifth message fails so often."""

    def changed(scenario: Scenario) -> Scenario:
        operations = tuple(
            one.model_copy(update={"fails": times if number % 5 == 2 else 0})
            for number, one in enumerate(scenario.load.operations or ())
        )
        load = scenario.load.model_copy(update={"operations": operations})
        return of_queue(**changes)(scenario.model_copy(update={"load": load}))

    return changed


def working(ms: int) -> Change:
    """Each message takes so long."""
    return lambda scenario: scenario.model_copy(
        update={"consumers": scenario.consumers.model_copy(update={"processing": f"constant:{ms}ms"})}
    )


def given_up(late: str, *, for_s: float) -> Change:
    """A consumer gives its partitions up, which another wants; what it sends of the script ``late`` arrives later.

    It wants them again after ``for_s``.
    """
    faults = (
        MemberHidden(kind="member_hidden", zone="a", at_s=0.2, for_s=for_s, consumer=0, hidden="a-0"),
        MemberHidden(kind="member_hidden", zone="a", at_s=0.1, for_s=0.6, consumer=1, hidden="a-0"),
        CommandDelay(kind="command_delay", zone="a", at_s=0.1, for_s=0.5, consumer=0, script=late, late_ms=150),
    )
    return lambda scenario: scenario.model_copy(update={"faults": faults})


def in_time(scenario: Scenario) -> Scenario:
    """Nothing arrives late."""
    faults = tuple(fault for fault in scenario.faults if not isinstance(fault, CommandDelay))
    return scenario.model_copy(update={"faults": faults})


MUTANTS = {
    "no fence": OrderMutant(breaks=Property.FENCING, off=(Fencing.ORDERED_WRITES,)),
    "fence at the cursor only": OrderMutant(
        breaks=Property.SINK, plant=method(Sink, "take", unfenced), changed=working(40)
    ),
    "release by id": OrderMutant(
        breaks=Property.ONE_OWNER,
        mode=EngineMode.ROCKETMQ_5_3,
        faults=FaultClass.NONE,
        changed=given_up("unlock", for_s=0.08),
        control=in_time,
    ),
    "commit by last write": OrderMutant(breaks=Property.CURSOR, mode=EngineMode.ROCKETMQ_5_3),
    "commit before the effect": OrderMutant(
        breaks=Property.NO_GAPS, plant=method(ConsumeLoop, "_handed_over", committed_first)
    ),
    "unlock before the commit": OrderMutant(
        breaks=Property.SINK,
        mode=EngineMode.ROCKETMQ_5_3,
        faults=FaultClass.NONE,
        changed=given_up("HSET", for_s=0.5),
        control=in_time,
    ),
    "forced unlock": OrderMutant(
        breaks=Property.EXCLUSION, off=(Fencing.DRAINED_RELEASE,), faults=FaultClass.CRASH_OVERLONG
    ),
    "cache kept under a new token": OrderMutant(breaks=Property.REDELIVERY_IN_ORDER, plant=keeping_the_cache),
    "attempts in memory": OrderMutant(
        breaks=Property.RETRIES, off=(Fencing.STORED_ATTEMPTS,), faults=FaultClass.CRASH_OVERLONG
    ),
    "dead letter in two writes": OrderMutant(
        breaks=Property.RETRIES,
        plant=method(FencedResults, "_put_aside", aside_in_two),
        faults=FaultClass.CONSUMER_CRASH,
        changed=failing(5, reconsumed_max=1),
    ),
    "skip on failure": OrderMutant(
        breaks=Property.STRICT_ORDER, plant=method(FencedResults, "_failed", skipped), changed=failing(1)
    ),
    "retry by a side topic": OrderMutant(
        breaks=Property.STRICT_ORDER, plant=method(FencedResults, "_failed", through_a_side_topic), changed=failing(1)
    ),
    "a pool for a partition": OrderMutant(breaks=Property.EXCLUSION, plant=a_pool),
    "resize without a barrier": OrderMutant(breaks=Property.STRICT_ORDER, plant=no_barrier, faults=FaultClass.RESIZED),
    "two asynchronous sends": OrderMutant(
        breaks=Property.PRODUCED_IN_ORDER,
        mode=EngineMode.ROCKETMQ_5_3,
        faults=FaultClass.CUT_DROP,
        changed=of_queue(producer=SendMode.ASYNCHRONOUS),
        control=of_queue(producer=SendMode.ORDERED),
    ),
    "retry to another partition": OrderMutant(
        breaks=Property.PRODUCED_IN_ORDER,
        plant=method(Producer, "_append", tried_elsewhere),
        faults=FaultClass.CUT_DROP,
    ),
    "beginning looked up twice": OrderMutant(
        breaks=Property.NO_GAPS,
        plant=method(GroupCursor, "adopt", not_written),
        changed=of_queue(begins=Begin.LAST),
        faults=FaultClass.CONSUMER_CRASH,
    ),
    "token is the client's name, and two have one": OrderMutant(
        breaks=Property.EXCLUSION, plant=method(FencedUnderTest, "_zones", zones_of_one_name)
    ),
    "counter lost at a fail-over": OrderMutant(
        breaks=Property.FENCING,
        off=(Fencing.MAJORITY_DECISIONS,),
        level=Level.DC_ONE,
        faults=FaultClass.LOSS_AND_TAKEOVER,
    ),
    "a zone's own state taken over": OrderMutant(
        breaks=Property.CURSOR, off=(Fencing.ADOPTION,), faults=FaultClass.LOSS_AND_TAKEOVER
    ),
    "offsets by anybody": OrderMutant(breaks=Property.ONE_LOG, off=(Fencing.ONE_WRITER,), faults=FaultClass.CUT_HOLD),
    "handed out before it is decided": OrderMutant(
        breaks=Property.ONE_LOG, off=(Fencing.PROVEN_ENTRIES,), faults=FaultClass.LOSS_AND_TAKEOVER
    ),
    "a zone that lost something votes": OrderMutant(
        breaks=Property.CURSOR, off=(Fencing.ADMISSION,), faults=FaultClass.LOSS_AND_TAKEOVER
    ),
    "pause below the least": OrderMutant(
        breaks=Property.RETRIES, plant=method(Results, "_pause", lambda *_: 1), changed=failing(1)
    ),
    "one attempt too many": OrderMutant(
        breaks=Property.RETRIES,
        plant=method(FencedUnderTest, "_settings_of", one_attempt_more),
        changed=failing(5, reconsumed_max=1),
    ),
}
"""As section *Mutants* of docs/fifo-windows.md names them."""


def small_run(mutant: OrderMutant) -> Scenario | None:
    """Of the first seed that has one; None if none has."""
    for seed in range(1, SEEDS_MAX + 1):
        scenario = mutant.drawn(seed)
        if mutant.broken(scenario) and mutant.kept(scenario):
            small = mutant.shrunk(scenario)
            if is_small(small) and mutant.kept(small):
                return small
    return None


def is_small(scenario: Scenario) -> bool:
    return len(scenario.faults) <= FAULTS_MAX and len(scenario.load.operations or ()) <= OPERATIONS_MAX


def stored() -> dict[str, Scenario]:
    documents = yaml.safe_load(STORE.read_text(encoding="utf-8"))
    return {name: scenario_of(document, source=f"{STORE.name}, {name}") for name, document in documents.items()}


def store(runs: Mapping[str, Scenario]) -> None:
    documents = {name: runs[name].model_dump(mode="json", exclude_defaults=True) for name in MUTANTS if name in runs}
    STORE.write_text(yaml.safe_dump(documents, sort_keys=False, width=120), encoding="utf-8")


def row(name: str, small: Scenario) -> str:
    """Of section *Mutants* of docs/fifo-windows.md."""
    mutant, faults = MUTANTS[name], ", ".join(f"`{fault.kind}`" for fault in small.faults) or "none"
    drawn = f"{mutant.faults}, {small.seed}"
    return f"| {name} | {mutant.breaks} | {drawn} | {faults} | {len(small.load.operations or ())} |"

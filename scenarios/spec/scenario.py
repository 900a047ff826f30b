"""The scenario file: which cluster, which queue, which load, which faults, and what must hold.

Every section is a frozen model that refuses unknown fields; every duration is a number with its unit in the
name. Reading files, overrides and error lines is in ``zonelab.scenarios.spec.reading``; rules that span sections are in
``zonelab.scenarios.spec.rules``.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainValidator

from zonelab.analysis.checkers.consistency.anomalies import FORBIDDEN_OF, Anomaly
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.runs.order_rules import OrderRules
from zonelab.analysis.workloads import WorkloadKind
from zonelab.cluster.fields import (
    CLIENTS_MAX,
    COUNT_MAX,
    Count,
    CountFrom0,
    DelayText,
    EventLetters,
    Flag,
    MillisFrom0,
    NonNegative,
    Positive,
    Section,
)
from zonelab.cluster.random_streams import SEED_MAX
from zonelab.cluster.votes.levels import Level, Levels, Setting
from zonelab.cluster.wiring.settings import Links
from zonelab.cluster.zone import Persistence
from zonelab.engine.fifo.producer import SendMode
from zonelab.engine.fifo.settings import Order
from zonelab.engine.message import PRIORITY_MAX, PRIORITY_MIN
from zonelab.engine.queue import Features
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.spec.clients import Clients
from zonelab.scenarios.spec.engines import ByEngine, shipped
from zonelab.scenarios.spec.evaluate import Evaluate
from zonelab.scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from zonelab.scenarios.spec.ordered.sections import OrderChecks, OrderingKeys, SinkSettings
from zonelab.scenarios.spec.own_process import PREFIX
from zonelab.scenarios.spec.programs import Program, ProgramName
from zonelab.scenarios.spec.queue_factory import load_factory
from zonelab.scenarios.spec.queue_settings import DynoQueueSettings, QueueMode, QueueSettings, Topics
from zonelab.scenarios.spec.replication import Replication
from zonelab.scenarios.spec.simulation import Simulation
from zonelab.scenarios.spec.topology import TopologySection

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

RETRIES_MAX = 100

RATE_MAX_PER_S = 1_000_000

EARLY_MS_MAX = 1
"""Tolerance for a queue of the user's own that declares none: that of dyno-queues."""


class Arrival(StrEnum):
    POISSON = "poisson"
    CONSTANT = "constant"


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: 1 to 64 of a-z, 0-9, - and _, beginning with a letter or digit")
    return text


def _rate(value: Any) -> float | dict[str, float]:
    one = f"a number from 0 to {RATE_MAX_PER_S}"
    accepted = f"{one}, or a mapping from zone to {one}, e.g. {{a: 50, b: 10}}"
    rates = value.values() if isinstance(value, dict) else [value]
    for rate in rates:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= RATE_MAX_PER_S:
            raise ValueError(f"got {value!r}; accepted: {accepted}")
    return {str(zone): float(rate) for zone, rate in value.items()} if isinstance(value, dict) else float(value)


class Priority(Section):
    """Uniform between two priorities, both included; 0 is served first."""

    min: Annotated[int, Field(strict=True, ge=PRIORITY_MIN, le=PRIORITY_MAX)] = 0
    max: Annotated[int, Field(strict=True, ge=PRIORITY_MIN, le=PRIORITY_MAX)] = 0


class PushOperation(Section):
    """One message to push. Those of one zone and one time are pushed together, in one call."""

    at_ms: NonNegative
    """Milliseconds after the load begins."""
    zone: str
    id: Annotated[str, Field(min_length=1)]
    delay_ms: MillisFrom0 = 0
    priority: Annotated[int, Field(strict=True, ge=PRIORITY_MIN, le=PRIORITY_MAX)] = 0
    topic: Annotated[str, Field(min_length=1)] | None = None
    lease_ms: MillisFrom0 | None = None
    """A lease of its own; 0: none."""
    key: Annotated[str, Field(min_length=1)] | None = None
    """Its ordering key, of a queue with keys."""
    state: str | None = None
    """State of its key: see ``load.keys.states``."""
    poison: Flag = False
    """The program of a consumer that begins to work on it ends; soon another takes its place."""
    fails: CountFrom0 = 0
    """The first so many attempts at it fail, of ordered messages: its listener says *suspend*."""


class Load(Section):
    """Either drawn, by ``rate_per_s`` and what follows it, or listed message by message in ``operations``."""

    duration_s: Positive
    rate_per_s: Annotated[float | dict[str, float], PlainValidator(_rate)] = 0.0
    """Messages per second that the producer of each zone pushes; a zone left out of a mapping has none."""
    operations: tuple[PushOperation, ...] | None = None
    arrival: Arrival = Arrival.POISSON
    arrivals: str | None = None
    """In place of ``rate_per_s``: a process of the user's own, ``python:MODULE:FUNCTION``, that pushes in each zone."""
    delay: DelayText = "0"
    """Time between the push of a message and the moment from which it may be delivered."""
    priority: Priority = Priority()
    payload_bytes: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 64
    batch: Count = 1
    """Messages per push."""
    topics: Topics | None = None
    """Each message goes to one of them, drawn; None: to the first of the queue."""
    at_most_once: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    """Share of the messages with a lease of 0: what is delivered is done."""
    keys: OrderingKeys | None = None
    """Messages have ordering keys; None: each is a key of its own."""
    retries: Annotated[int, Field(strict=True, ge=0, le=RETRIES_MAX)] = 0
    """Times that a producer pushes again, under the same id, what was not confirmed to it."""
    retry_after_ms: NonNegative = 100.0
    """Time between the end of one attempt and the next."""

    @property
    def poison(self) -> frozenset[str]:
        """Ids of the messages that kill whoever works on them."""
        return frozenset(one.id for one in self.operations or () if one.poison)

    @property
    def failing(self) -> dict[str, int]:
        """Ids of the messages whose first attempts fail, and how many do."""
        return {one.id: one.fails for one in self.operations or () if one.fails}

    def rate_of(self, zone: str) -> float:
        return self.rate_per_s.get(zone, 0.0) if isinstance(self.rate_per_s, dict) else self.rate_per_s

    def at_rates(self, change: Callable[[float], float]) -> "Load":
        """Return this load with what ``change`` makes of every rate."""
        rate = self.rate_per_s
        rates = {zone: change(one) for zone, one in rate.items()} if isinstance(rate, dict) else change(rate)
        return self.model_copy(update={"rate_per_s": rates})


class ConsumerSection(Section):
    per_zone: Annotated[int, Field(strict=True, ge=0, le=CLIENTS_MAX)] = 2
    batch: Count = 10
    wait_ms: MillisFrom0 = 500
    """Time for which one pop waits for messages."""
    processing: DelayText = "exponential:2ms"
    """Time between a delivery and its ack, per message, one after the other."""
    extend: Annotated[float, Field(strict=True, ge=0, le=1)] = 0.0
    """Share of the deliveries that are worked on for longer than their lease, which is extended: half of them in time,
    the others when it has ended."""
    work: str | None = None
    """In place of ``processing``: a process of the user's own, ``python:MODULE:FUNCTION``. In simulation only."""


class ToldAccess(Section):
    """One operation of a workload, at its time."""

    at_ms: NonNegative
    """Milliseconds after the load begins."""
    zone: str
    client: Annotated[int, Field(strict=True, ge=0, lt=CLIENTS_MAX)] = 0
    f: str
    key: str = "0"
    value: str | None = None
    """Value that it writes, adds or pushes; drawn if not given."""
    expected: str | None = None
    """Value that a ``cas`` expects; not given: no value."""


class Workload(Section):
    """Clients of registers, sets, locks, counters or lists, in place of the queue's producers and consumers.

    ``load`` says how long and how often: a zone's clients begin ``load.rate_per_s`` operations a second in all.
    """

    kind: WorkloadKind
    keys: Count = 5
    clients_per_zone: Annotated[int, Field(strict=True, ge=1, le=CLIENTS_MAX)] = 3
    mix: dict[str, NonNegative] = Field(default_factory=dict)
    """Weight of each operation of the kind; the kind's own mix if empty."""
    lockstep_ms: NonNegative | None = None
    """All zones go from key to key together, each zone's operation within this time of the others'."""
    operations: tuple[ToldAccess, ...] | None = None
    """The operations one by one, instead of drawn ones."""
    forbid: tuple[Anomaly, ...] | None = None
    """Anomalies that must not occur for the run to be valid; the kind's own if not given."""
    budget_configurations: Annotated[int, Field(strict=True, ge=1, le=100 * COUNT_MAX)] = 200_000
    """Configurations that are held while one key is checked for linearizability; beyond that the verdict is unknown."""

    @property
    def forbidden(self) -> tuple[Anomaly, ...]:
        return FORBIDDEN_OF[self.kind] if self.forbid is None else self.forbid


class Drain(Section):
    bound_s: Positive = 15.0
    """Longest time for the queue to become empty once everything is healed."""
    quiet_s: Positive = 3.0
    """Time without any event, and with nothing due, after which the queue of ``programs`` counts as empty."""


class KnownResult(Section):
    """Result of a simulated run of this very scenario."""

    trace_hash: str
    violated: tuple[MessageClass | Property | Anomaly, ...]
    program: str
    """Fingerprint of the source files that ran it."""


class Checks(Section):
    forbid: tuple[MessageClass, ...] = FORBIDDEN_DEFAULT
    """Classes of messages that must stay empty for the run to be valid."""
    late_ms: NonNegative | None = None
    """Forbids first deliveries that are later than this after their due time; None: they may be as late as they are."""
    order: OrderChecks = OrderChecks()

    @property
    def forbidden(self) -> tuple[MessageClass, ...]:
        """``forbid``, and ``late`` if there is a bound of it."""
        return tuple(dict.fromkeys((*self.forbid, *(() if self.late_ms is None else (MessageClass.LATE,)))))


class Scenario(Section):
    name: Annotated[str, AfterValidator(_name)]
    about: str = ""
    arm: Arm = Arm.REAL
    seed: Annotated[int, Field(strict=True, ge=0, le=SEED_MAX)] = 1
    level: Level = Level.DC_QUORUM
    topology: TopologySection = TopologySection()
    persistence: Persistence = Persistence.AOF_EVERYSEC
    notify_keyspace_events: EventLetters = ""
    """Events of keys that the servers publish; none by default."""
    replication: Replication = Replication()
    links: Links = Links()
    queue: Annotated[QueueSettings, ByEngine()] = DynoQueueSettings()
    load: Load
    consumers: ConsumerSection = ConsumerSection()
    clients: Clients = Clients()
    sink: SinkSettings | None = None
    """Sink on which ordered messages have their effects; None: nothing."""
    workload: Workload | None = None
    """Without it, the clients use the queue."""
    programs: dict[ProgramName, Program] = Field(default_factory=dict)
    """Programs of the user's own at the zones' ports, on real servers, in place of ``queue`` and ``consumers``."""
    faults: tuple[AnyFault, ...] = ()
    drain: Drain = Drain()
    checks: Checks = Checks()
    simulation: Simulation = Simulation()
    found: KnownResult | None = None
    evaluate: Evaluate | None = None
    """Settings of ``zonelab evaluate``; a run has no use for them."""

    @property
    def zones(self) -> tuple[str, ...]:
        return self.topology.zones

    @property
    def rate_per_s(self) -> float:
        """Return the messages a second of all zones; 0 if the load has no rate."""
        return sum(map(self.load.rate_of, self.zones))

    @property
    def setting(self) -> Setting:
        """The level, or levels, of the connections of queues and workloads."""
        read = self.replication.read_level
        return self.level if read in (None, self.level) else Levels(read=read, write=self.level)

    @property
    def services(self) -> tuple[tuple[str, str], ...]:
        """(name, zone) of every background program of the queue, as ``services`` of the queue's factory names them.

        dyno-queues has none. Raises ``ValueError`` if a queue of the user's own cannot be found.
        """
        services = getattr(load_factory(self.queue.factory or shipped(self.queue).make), "services", None)
        return tuple(services(self)) if services is not None else ()

    @property
    def has_groups(self) -> bool:
        """Return whether consumers of the queue are members of a group. Raises ``ValueError`` as ``services`` does."""
        return hasattr(load_factory(self.queue.factory or shipped(self.queue).make), "member")

    @property
    def extends(self) -> bool:
        """True if consumers may extend leases, or the queue is the user's own: then its instances decide.

        Raises ``ValueError`` as ``services`` does.
        """
        own = self.queue.factory
        return own is not None or getattr(load_factory(shipped(self.queue).make), "extends", False)

    @property
    def used(self) -> str:
        """Return what the clients use, in a word for names of files: ``dyno-hardened``, ``register``, ``programs``."""
        if self.workload is not None:
            return str(self.workload.kind)
        if self.programs:
            return "programs"
        if self.queue.factory is not None:
            return "own"
        of_mode = [] if self.queue.mode == QueueMode.DEFAULT else [self.queue.mode]
        return "-".join([self.queue.engine, *of_mode])

    @property
    def own_functions(self) -> tuple[str, ...]:
        """Return what the scenario names of the user's own, as ``MODULE:FUNCTION``: a queue, arrivals, work."""
        processes = (self.load.arrivals, self.consumers.work)
        named = (self.queue.factory, *(text and text.removeprefix(PREFIX) for text in processes))
        return tuple(text for text in named if text)

    @property
    def features(self) -> Features:
        """Return what the queue promises, as its engine, or ``features`` of its factory, states it.

        Raises ``ValueError`` as ``services`` does.
        """
        own = self.queue.factory
        if own is None:
            return shipped(self.queue).features
        features: Features = getattr(load_factory(own), "features", Features(early_ms_max=EARLY_MS_MAX))
        return features

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The classes of messages and properties of order, or the anomalies of a workload, that make a run invalid."""
        if self.workload is not None:
            return self.workload.forbidden
        return (*self.checks.forbidden, *(self.checks.order.forbid if self.features.order else ()))

    @property
    def order_rules(self) -> OrderRules | None:
        """Return the settings of its order checker; None for a queue without order."""
        if not self.features.order:
            return None
        queue, checks = self.queue.of(FifoQueueSettings), self.checks.order
        return OrderRules(
            unit="key" if queue.order is Order.KEY or queue.resizes else "partition",
            retries_max=queue.reconsumed_max,
            suspend_ms=queue.consumer_settings(batch=1).times_ms.suspend,
            replay_max=self.consumers.batch,
            idempotent=queue.sending is SendMode.IDEMPOTENT,
            fenced_sink=self.sink is not None and self.sink_fenced,
            wait_ms=2.0 * queue.unack_ms if checks.wait_s is None else checks.wait_s * 1_000,
            forbid=tuple(map(str, checks.forbid)),
        )

    @property
    def sink_fenced(self) -> bool:
        """Return whether the sink refuses older tokens: as it says, or as the engine has tokens at all."""
        if self.sink is None:
            return False
        if self.sink.fenced is not None:
            return self.sink.fenced
        return isinstance(self.queue, FifoQueueSettings) and self.queue.fenced

    @property
    def servers(self) -> tuple[str, ...]:
        """Every server's name. The first of a zone is named as the zone, the others a2, a3 and so on."""
        return self.topology.layout.nodes

    @property
    def links_all(self) -> tuple[tuple[str, str], ...]:
        servers = self.servers
        return tuple((source, target) for source in servers for target in servers if source != target)

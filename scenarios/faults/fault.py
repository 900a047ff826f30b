"""Base of every kind of fault: a model, targets, action and end, a colour, draws and milder forms.

A kind is one class. It is registered by its line in ``zonelab.scenarios.faults.catalogue``.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, ClassVar, Protocol

from pydantic import ConfigDict

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.fields import NonNegative, Positive, Problem, Section, parse_link
from zonelab.cluster.testbed import Testbed
from zonelab.cluster.zone import Restart, Zone, ZoneState
from zonelab.engine.ports import Command, Reply, Runtime

ANY_LAG = object()
"""Among choices: any distribution of lags."""

Choices = tuple[object, ...]
"""Values of a field, of which a ``range`` stands for all that it holds; the mildest first."""

Changes = dict[str, object]
"""New values of some fields of a fault."""

_SHORTEST_S = 0.001

WarmSource = Callable[[], Zone]
"""Returns a running server with the same keys, to copy from. Raises ``ClusterError`` if there is none."""


class ClusterPart(StrEnum):
    """The part of a cluster of ``zonelab up`` that a fault is on."""

    LINKS = "links"
    SERVER = "server"
    COORDINATOR = "coordinator"


Concerns = Callable[[Command], bool]
Heard = Callable[[Reply], Reply]


class _Consumers(Protocol):
    @property
    def per_zone(self) -> int: ...


class _Program(Protocol):
    @property
    def count(self) -> int: ...
    def zones(self, every: tuple[str, ...]) -> tuple[str, ...]: ...


class Targets(Protocol):
    """Targets that the faults of a scenario can hit."""

    @property
    def zones(self) -> tuple[str, ...]: ...
    @property
    def servers(self) -> tuple[str, ...]: ...
    @property
    def links_all(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def consumers(self) -> _Consumers: ...
    @property
    def services(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def has_groups(self) -> bool: ...
    @property
    def programs(self) -> Mapping[str, _Program]: ...


class View(Protocol):
    """A living program as faults change it: ``zonelab.scenarios.clients.program_view.ProgramView``."""

    own_clock: NodeClock | None
    work_factor: float

    def pause(self, runtime: Runtime, *, at_command: int | None, after_effect: bool) -> None: ...
    def go_on(self) -> None: ...
    def alter(
        self, runtime: Runtime, *, concerns: Concerns, late_ms: int = 0, heard: Heard | None = None
    ) -> object: ...
    def mend(self, altered: object) -> None: ...


class ConsumerPrograms(Protocol):
    def view(self, zone: str, number: int) -> View: ...
    def crash(self, zone: str, number: int, *, at_command: int) -> None: ...
    def replace(self, zone: str, number: int) -> None: ...


class ProducerProgram(Protocol):
    @property
    def view(self) -> View: ...
    def hand_over(self, others: Sequence[Any]) -> None:
        """Let ``others``, of its own kind, push while it is dead what it would push; none: nobody does."""

    def crash(self, *, at_command: int) -> None: ...
    async def replace(self) -> None: ...


class ServicePrograms(Protocol):
    def view(self, name: str, zone: str) -> View: ...
    def kill(self, name: str, zone: str, *, at_command: int) -> None: ...
    def stop(self, name: str, zone: str, *, at_command: int | None) -> None: ...
    async def replace(self, name: str, zone: str) -> None: ...


class GuestProcesses(Protocol):
    """The processes of programs of the user's own: ``zonelab.scenarios.programs.processes.ProgramProcesses``."""

    def of(self, program: str, zone: str = "all") -> list[str]:
        """Names of the processes of ``program``, in ``zone`` or in all zones."""

    def strike(self, name: str, number: int) -> None: ...
    async def replace(self, name: str) -> None:
        """Start a process again that has ended."""

    def begin_strike(self, name: str, strike: Any) -> None:
        """Let ``strike``, a ``zonelab.scenarios.faults.guests.ProgramStrike``, fall on process ``name``."""

    def struck(self, name: str) -> Mapping[str, object]:
        """Facts of the last strike at process ``name``."""

    async def end_strike(self, name: str, *, restart: bool) -> None:
        """Undo what is left of it, and start the process again if it has ended."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A cluster that faults act upon, and the programs of its clients; a run without a queue has none."""

    targets: Targets
    testbed: Testbed
    consumers: ConsumerPrograms | None = None
    producers: Mapping[str, ProducerProgram] = field(default_factory=dict)
    services: ServicePrograms | None = None
    programs: GuestProcesses | None = None


@dataclass(frozen=True)
class Action:
    """A fault that is to happen to one cluster. An ``end`` that failed may be tried again.

    Both return when the cluster is in the state that they name.
    """

    begin: Callable[[], Awaitable[None]]
    end: Callable[[], Awaitable[None]]
    told: Callable[[], Mapping[str, object]] = dict
    """Returns, after the end, what else the table of faults says of it."""


class Fault(Section):
    """``for_s`` after its begin a fault ends.

    A kind says what it does (``action``), what it holds so that no other fault can have it at the same time
    (``holds``), and, where it has more than a zone, what else can be wrong with it, be drawn, or be milder.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    at_s: NonNegative
    """Seconds after the load begins."""
    for_s: Positive

    colour: ClassVar[str]
    """Colour of its band in plots."""
    harm: ClassVar[int]
    """The less, the milder: properties try to explain a failure with the mildest kinds."""
    simulated_only: ClassVar[bool] = False
    """Nobody can bring it about on real servers without privileges."""
    same_in_both_arms: ClassVar[bool] = True
    """Figures of simulated runs with it say what real servers would have."""
    of_clients: ClassVar[bool] = False
    """It ends producers or consumers, which only a run of a queue has."""
    of_services: ClassVar[bool] = False
    """It ends a background program of the queue, which not every queue has."""
    of_files: ClassVar[bool] = False
    """It is about what servers write to disk, which those without persistence do not."""
    of_programs: ClassVar[bool] = False
    """It is of a program of the user's own, which only a scenario with ``programs`` has."""
    of_groups: ClassVar[bool] = False
    """It is about the members of a consumer group, which not every queue has."""
    between_zones: ClassVar[bool] = False
    """A single zone cannot have it."""
    part: ClassVar[ClusterPart | None] = None
    """Part on which ``zonelab fault`` puts it; None if a cluster of ``zonelab up`` cannot have it."""
    not_up: ClassVar[str] = "nothing there corresponds to it"
    """Why such a cluster cannot have it."""
    only_up: ClassVar[str] = ""
    """Why a scenario cannot have it, though such a cluster can."""
    where: ClassVar[tuple[str, ...]] = ("zone",)
    """The fields that say where it is; ``zonelab fault`` has a target in their place."""
    amount_field: ClassVar[str | None] = None
    """The field that says how much of it."""
    leaves: ClassVar[ZoneState] = ZoneState.RUNNING
    """The state of a server, or of a coordinator, that has it."""
    outlives_server: ClassVar[bool] = False
    """It stays on a server that dies and comes back."""
    stops_server: ClassVar[bool] = False
    """The server has died or stands still: nobody can copy from it."""

    @property
    def comes_back(self) -> Restart | None:
        """With which data the server that it kills comes back; None if it kills none."""
        return None

    @property
    def amount(self) -> str:
        """Return how much of it, in a few characters; empty for kinds that have no more and less."""
        return ""

    @property
    def link_state(self) -> dict[str, object]:
        """The fields of ``zonelab.cluster.admin.links.LinkState`` that differ on a link with this fault."""
        return {}

    async def strike(self, thing: Any) -> None:
        """Let it happen to one server, or one coordinator."""

    async def relieve(self, thing: Any, source: WarmSource) -> None:
        """End it on a server, or a coordinator, that is as it ``leaves`` it."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Return what it hits, as its name says it."""

    @abstractmethod
    def holds(self, targets: Targets) -> set[str]:
        """Return what only one fault can hold at a time."""

    @abstractmethod
    def action(self, stage: Stage) -> Action: ...

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        """Yield what is wrong with it, at ``path`` of its scenario, beside its times and what others hold."""
        yield from ()

    def drawn(self, targets: Targets, random: Random) -> Changes:
        """Another target, and another extent: up to that of this fault, and either way."""
        zone = random.choice(targets.zones)
        link = ">".join(random.choice(targets.links_all)) if targets.links_all else None
        return self._drawn_at(zone, link, targets, random)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        """``zone`` and ``link`` are drawn already, whatever the kind has of them."""
        return {"zone": zone, **self._extent(part_drawn(random), random)}

    def _extent(self, part: float, random: Random) -> Changes:
        """Return how much of it, for kinds that have a more and a less: ``part`` of what this fault has."""
        return {}

    def hits_all(self) -> Iterator[Changes]:
        """The same for all messages, not for some that are drawn: others, whenever an operation has gone."""
        yield from ()

    def milder(self) -> Iterator[Changes]:
        """Less of it."""
        yield from ()

    def plainer(self) -> Iterator[Changes]:
        """Shorter at its end, shorter at its begin (which is also later), then less of it."""
        half_s = round(self.for_s / 2, 3)
        if half_s >= _SHORTEST_S:
            yield {"for_s": half_s}
            yield {"for_s": half_s, "at_s": round(self.at_s + self.for_s - half_s, 3)}
        yield from self.milder()

    @classmethod
    def places(cls, targets: Targets) -> dict[str, Choices]:
        """The fields of which one says where it is, the mildest first, with what each can be."""
        return {"zone": targets.zones}

    @classmethod
    def anywhere(cls, targets: Targets) -> dict[str, Choices]:
        """The fields that say where it is, with the places that are alike, each to be equally frequent."""
        return cls.places(targets)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        """The fields beside times and place, with what each can be."""
        return {}


class OfZone(Fault):
    """A fault of one zone, or of one of its servers."""

    kind: str
    zone: str

    @property
    def target(self) -> str:
        return self.zone

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from no_server(targets, f"{path}.zone", self.zone)


def part_drawn(random: Random) -> float:
    return float(2 ** -random.uniform(0, 4))


def at_once(*changes: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """Return what takes no time, as the begin or the end of an action."""

    async def change() -> None:
        for one in changes:
            one()

    return change


def links_named(text: str) -> tuple[tuple[str, str], ...]:
    """The link ``a>b``, or both of ``a:b``. Raises ``ValueError`` for anything else."""
    one, colon, other = (part.strip() for part in text.partition(":"))
    return ((one, other), (other, one)) if one and colon and other else (parse_link(text),)


def no_zone(targets: Targets, path: str, zone: str | None) -> Iterator[Problem]:
    """Yield what is wrong with the value ``zone`` at ``path`` if there is no such zone."""
    if zone is not None and zone not in targets.zones:
        yield Problem.of(path, zone, f"a zone of the topology ({', '.join(targets.zones)})")


def no_server(targets: Targets, path: str, server: str | None) -> Iterator[Problem]:
    """The same of a server; where each zone has one, their names are those of the zones."""
    servers = targets.servers
    if servers == targets.zones:
        yield from no_zone(targets, path, server)
    elif server is not None and server not in servers:
        yield Problem.of(path, server, f"a server of the topology ({', '.join(servers)})")


def no_consumer(targets: Targets, path: str, kind: str, consumer: int) -> Iterator[Problem]:
    """Yield what is wrong if the zone has no consumer of that number."""
    count = targets.consumers.per_zone
    if count == 0:
        yield Problem.of("consumers.per_zone", count, f"at least 1, as {path} ({kind}) is about a consumer")
    elif consumer >= count:
        yield Problem.of(f"{path}.consumer", consumer, f"0..{count - 1}")


def no_service(targets: Targets, path: str, kind: str, service: str | None, zone: str) -> Iterator[Problem]:
    """Yield the problem if no such service of the queue runs in ``zone``; an unknown zone is another rule's problem."""
    zones = [at for name, at in targets.services if name == service]
    if not targets.services:
        yield Problem.of(f"{path}.service", service, f"nothing: this queue has no services, which {kind} could be of")
    elif not zones:
        names = ", ".join(dict.fromkeys(name for name, _ in targets.services))
        yield Problem.of(f"{path}.service", service, f"a service of the queue ({names})")
    elif zone in targets.zones and zone not in zones:
        yield Problem.of(f"{path}.zone", zone, f"a zone where {service} runs ({', '.join(zones)})")


def no_link(targets: Targets, path: str, text: str | None, *, both_ways: bool = False) -> Iterator[Problem]:
    """The same of a link, written ``a>b``; ``both_ways``: perhaps ``a:b``."""
    links = ", ".join(f"{source}>{target}" for source, target in targets.links_all) or "none, there is one zone"
    if text is None:
        return
    try:
        pairs = links_named(text) if both_ways else (parse_link(text),)
    except ValueError as error:
        yield Problem(path, str(error))
        return
    if not set(pairs) <= set(targets.links_all):
        yield Problem.of(path, text, f"a link of the topology ({links})")

"""Faults of programs: consumers, producers, services and coordinators end, and others take their places."""

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import PlainValidator

from zonelab.cluster.fields import Count, Problem
from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import ClusterError, ZoneState
from zonelab.scenarios.faults.fault import (
    Action,
    Changes,
    Choices,
    ClusterPart,
    OfZone,
    Stage,
    Targets,
    WarmSource,
    at_once,
    no_service,
    no_zone,
)
from zonelab.scenarios.faults.links import around, cut_of

NOT_UP = "its clients are programs of yours, which you can kill or stop"

_COMMANDS_LOG2 = 6.0
_COMMANDS: Choices = (None, range(1, 21))


def _consumer(value: Any) -> int | Literal["all"]:
    if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"got {value!r}; accepted: a consumer's number, from 0, or all")


class ClientCrash(OfZone):
    """The program of a client ends between two commands."""

    harm = 1
    not_up = NOT_UP
    of_clients = True

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from no_zone(targets, f"{path}.zone", self.zone)


class ConsumerCrash(ClientCrash):
    """The consumer's program ends between two commands; after ``for_s`` another takes its place."""

    colour = "#8c564b"

    kind: Literal["consumer_crash"]
    zone: str
    consumer: Annotated[int | Literal["all"], PlainValidator(_consumer)] = 0
    at_command: Count | None = None
    """It ends just before the command of this number that it would send from ``at_s`` on; at once if not given.

    A program that does not come to send so many within ``for_s`` lives on.
    """

    @property
    def target(self) -> str:
        return f"consumer-{self.zone}-{self.consumer}"

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        count = targets.consumers.per_zone
        if count == 0:
            yield Problem.of("consumers.per_zone", count, f"at least 1, as {path} crashes a consumer")
        elif isinstance(self.consumer, int) and self.consumer >= count:
            yield Problem.of(f"{path}.consumer", self.consumer, f"0..{count - 1} or all")

    def holds(self, targets: Targets) -> set[str]:
        return {f"consumer {self.zone}-{number}" for number in self._numbers(targets)}

    def action(self, stage: Stage) -> Action:
        consumers, numbers = stage.consumers, self._numbers(stage.targets)
        assert consumers is not None, "the rules of a scenario refuse crashes of programs that are not there"
        at_command = self.at_command or 1
        return Action(
            at_once(*(partial(consumers.crash, self.zone, number, at_command=at_command) for number in numbers)),
            at_once(*(partial(consumers.replace, self.zone, number) for number in numbers)),
        )

    def _numbers(self, targets: Targets) -> tuple[int, ...]:
        return tuple(range(targets.consumers.per_zone)) if self.consumer == "all" else (self.consumer,)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        consumer = random.randrange(targets.consumers.per_zone)
        return {"zone": zone, "consumer": consumer, "at_command": _command(random)}

    def milder(self) -> Iterator[Changes]:
        yield from _earlier_commands(self.at_command)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"consumer": (range(targets.consumers.per_zone), "all"), "at_command": _COMMANDS}


class ProducerCrash(ClientCrash):
    """The producer's program ends, with pushes open; after ``for_s`` another takes its place."""

    colour = "#c49c94"

    kind: Literal["producer_crash"]
    zone: str
    at_command: Count | None = None
    """Command before which it dies; see ``ConsumerCrash``; the commands of all its open pushes count."""

    @property
    def target(self) -> str:
        return f"producer-{self.zone}"

    def holds(self, targets: Targets) -> set[str]:
        return {f"producer {self.zone}"}

    def action(self, stage: Stage) -> Action:
        producer = stage.producers[self.zone]
        return Action(at_once(partial(producer.crash, at_command=self.at_command or 1)), producer.replace)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        return {"zone": zone, "at_command": _command(random)}

    def milder(self) -> Iterator[Changes]:
        yield from _earlier_commands(self.at_command)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"at_command": _COMMANDS}


class ServiceCrash(ClientCrash):
    """A background program of the queue is killed or stopped; after ``for_s`` another takes its place."""

    colour = "#e7969c"
    of_services = True

    kind: Literal["service_crash"]
    zone: str
    service: str
    at_command: Count | None = None
    """Command before which it dies; see ``ConsumerCrash``."""
    how: Literal["kill", "stop"] = "kill"
    """``kill``: between two of its commands. ``stop``: it is asked to stop then, and does so in its own order."""

    @property
    def target(self) -> str:
        return f"{self.service}-{self.zone}"

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        if targets.services:
            yield from no_service(targets, path, self.kind, self.service, self.zone)
        else:
            yield Problem.of(f"{path}.kind", self.kind, "any other kind: this queue has no services")

    def holds(self, targets: Targets) -> set[str]:
        return {f"service {self.target}"}

    def action(self, stage: Stage) -> Action:
        services, name, zone = stage.services, self.service, self.zone
        assert services is not None, "the rules of a scenario refuse crashes of programs that are not there"
        if self.how == "kill":
            begin = partial(services.kill, name, zone, at_command=self.at_command or 1)
        else:
            begin = partial(services.stop, name, zone, at_command=self.at_command)
        return Action(at_once(begin), partial(services.replace, name, zone))

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        service, zone = random.choice(targets.services)
        how = random.choice(("kill", "stop"))
        return {"zone": zone, "service": service, "at_command": _command(random), "how": how}

    def milder(self) -> Iterator[Changes]:
        if self.how == "kill":
            yield {"how": "stop"}
        yield from _earlier_commands(self.at_command)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        names = tuple(dict.fromkeys(name for name, _ in targets.services))
        return {"service": names, "at_command": _COMMANDS, "how": ("stop", "kill")}


class CoordinatorProgram(Protocol):
    """The process of a coordinator in a cluster of ``zonelab up``."""

    async def start(self) -> None: ...
    async def kill(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class OfCoordinator(OfZone):
    """A fault of the coordinator of a zone.

    Coordinators ask the other zones' servers themselves, while Dynomite passes all of that through the zone's process
    (``dyn_dnode_peer.c``), so that for the others the zone goes with it. ``cut`` is what happens to all links from and
    to the zone for that reason.
    """

    part = ClusterPart.COORDINATOR
    cut: ClassVar[Cut | None] = None
    harm = 9

    @property
    def link_state(self) -> dict[str, object]:
        return {} if self.cut is None else {"cut": self.cut}

    def holds(self, targets: Targets) -> set[str]:
        return {*cut_of(around(targets, self.zone)), f"coordinator {self.zone}"}

    def action(self, stage: Stage) -> Action:
        raise ClusterError(f"{self.kind} is possible with zonelab fault only: {self.only_up}")


class CoordinatorDeath(OfCoordinator):
    """The coordinator ends, with commands on their way; another takes its place when the fault ends."""

    colour = "#2ca02c"
    leaves = ZoneState.DEAD

    async def strike(self, program: CoordinatorProgram) -> None:
        await program.kill()

    async def relieve(self, program: CoordinatorProgram, source: WarmSource) -> None:
        await program.start()


class CoordinatorStop(OfCoordinator):
    """The coordinator stands still."""

    colour = "#98df8a"
    leaves = ZoneState.PAUSED
    only_up = "the coordinators of a run are part of one process, which cannot stop one of them"

    async def strike(self, program: CoordinatorProgram) -> None:
        program.pause()

    async def relieve(self, program: CoordinatorProgram, source: WarmSource) -> None:
        program.resume()


class CoordinatorCrash(CoordinatorDeath):
    """Kill a coordinator (SIGKILL), as if a Dynomite died: others get errors from its zone at once.

    Its connections to the others, and theirs to it, are reset.
    """

    cut = Cut.DROP

    kind: Literal["coordinator_crash"]
    zone: str

    def action(self, stage: Stage) -> Action:
        coordinator = stage.testbed.coordinators[self.zone]
        links = [stage.testbed.links[pair] for pair in around(stage.targets, self.zone)]
        cuts = (partial(link.cut, Cut.DROP) for link in links)
        return Action(at_once(coordinator.crash, *cuts), at_once(coordinator.restart, *(link.mend for link in links)))


class CoordinatorPause(CoordinatorStop):
    """Freeze a coordinator (SIGSTOP), as if a Dynomite stood still: others wait for its zone until a time-out."""

    cut = Cut.FREEZE

    kind: Literal["coordinator_pause"]
    zone: str


class PortCrash(CoordinatorDeath):
    """Kill a coordinator's process (SIGKILL): its clients are disconnected and nobody listens at its port.

    The others still reach the zone's server.
    """

    only_up = "a client of a run has no connection of its own that could be refused"

    kind: Literal["port_crash"]
    zone: str


class PortPause(CoordinatorStop):
    """Freeze a coordinator's process (SIGSTOP): its clients are not answered.

    The others still reach the zone's server.
    """

    kind: Literal["port_pause"]
    zone: str


def _command(random: Random) -> int | None:
    return int(2 ** random.uniform(0, _COMMANDS_LOG2)) if random.random() < 0.75 else None


def _earlier_commands(at_command: int | None) -> Iterator[Changes]:
    if at_command is not None:
        yield {"at_command": None}
        if at_command > 1:
            yield {"at_command": at_command // 2}
            yield {"at_command": at_command - 1}

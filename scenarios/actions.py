"""What each kind of fault does to a cluster and its programs, and how it is undone."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Protocol

from cluster.clock import NodeClock
from cluster.coordinator import Coordinator
from cluster.links.lag import Lag
from cluster.links.link import Cut, Link
from cluster.sim.zone import SimZone
from cluster.zone import Restart, Zone, ZoneError, ZoneState
from engine.ports import Runtime, Timer
from scenarios.clients.consumers import Consumers
from scenarios.clients.producers import Producer


class Action(Protocol):
    """One kind of fault. ``begin`` and ``end`` return when the cluster is in the state that they name."""

    async def begin(self) -> None: ...
    async def end(self) -> None: ...


@dataclass(frozen=True)
class ZoneDeath:
    """``death`` of a zone's server, then a restart with its files, without them, or with a copy of a live zone's."""

    zone: Zone
    restart: Restart
    others: tuple[Zone, ...]
    death: Callable[[], Awaitable[None]]

    async def begin(self) -> None:
        await self.death()

    async def end(self) -> None:
        await self.zone.restart(self.restart, warm_from=self._source() if self.restart is Restart.WARM else None)

    def _source(self) -> Zone:
        for zone in self.others:
            if zone.state is ZoneState.RUNNING:
                return zone
        raise ZoneError(f"zone {self.zone.name}: no running zone to copy the data from")


@dataclass(frozen=True)
class ZonePause:
    """SIGSTOP of a zone's server: it keeps its connections and answers nobody."""

    zone: Zone

    async def begin(self) -> None:
        await self.zone.pause()

    async def end(self) -> None:
        await self.zone.resume()


@dataclass(frozen=True)
class ZoneSlow:
    """A simulated server takes longer for each command."""

    zone: SimZone
    factor: float

    async def begin(self) -> None:
        self.zone.slow_down(self.factor)

    async def end(self) -> None:
        self.zone.slow_down(1)


@dataclass(frozen=True)
class ClockWrong:
    """A clock jumps, drifts or both, and is set right again at once."""

    clock: NodeClock
    offset_ns: int
    drift_ppm: int

    async def begin(self) -> None:
        self.clock.jump(self.offset_ns)
        self.clock.drift(ppm=self.drift_ppm)

    async def end(self) -> None:
        self.clock.correct()


@dataclass(frozen=True)
class LinkLag:
    """Another lag on some links, then the one that they had."""

    links: tuple[Link, ...]
    lag: Lag
    before: dict[int, Lag] = field(default_factory=dict)

    async def begin(self) -> None:
        for index, link in enumerate(self.links):
            self.before[index] = link.lag
            link.set_lag(self.lag)

    async def end(self) -> None:
        for index, link in enumerate(self.links):
            link.set_lag(self.before[index])


@dataclass(frozen=True)
class LinkLoss:
    """More, or less, loss on some links, then that which they had."""

    links: tuple[Link, ...]
    share: float
    before: dict[int, float] = field(default_factory=dict)

    async def begin(self) -> None:
        for index, link in enumerate(self.links):
            self.before[index] = link.loss
            link.set_loss(self.share)

    async def end(self) -> None:
        for index, link in enumerate(self.links):
            link.set_loss(self.before[index])


@dataclass(frozen=True)
class LinkDuplication:
    """Some messages on some links arrive twice."""

    links: tuple[Link, ...]
    share: float
    after_ns: int

    async def begin(self) -> None:
        for link in self.links:
            link.set_duplication(self.share, after_ns=self.after_ns)

    async def end(self) -> None:
        for link in self.links:
            link.set_duplication(0)


@dataclass(frozen=True)
class LinkSwizzle:
    """Links hold what is sent: in the first half of the time one after another begins, in the second one ends."""

    links: tuple[Link, ...]
    runtime: Runtime
    random: Random
    duration_ns: int
    timers: list[Timer] = field(default_factory=list)

    async def begin(self) -> None:
        half_ns = self.duration_ns // 2
        for link, at_ns in self._in_any_order(half_ns, first=0):
            self._at(at_ns, partial(link.cut, Cut.HOLD))
        for link, at_ns in self._in_any_order(half_ns, first=1):
            self._at(half_ns + at_ns, link.mend)

    async def end(self) -> None:
        for timer in self.timers:
            timer.cancel()
        for link in self.links:
            link.mend()

    def _in_any_order(self, within_ns: int, *, first: int) -> list[tuple[Link, int]]:
        order = self.random.sample(self.links, len(self.links))
        return [(link, within_ns * number // len(order)) for number, link in enumerate(order, first)]

    def _at(self, after_ns: int, change: Callable[[], None]) -> None:
        if after_ns:
            self.timers.append(self.runtime.call_later(after_ns, change))
        else:
            change()


@dataclass(frozen=True)
class LinkCut:
    """Some links carry nothing."""

    links: tuple[Link, ...]
    mode: Cut

    async def begin(self) -> None:
        for link in self.links:
            link.cut(self.mode)

    async def end(self) -> None:
        for link in self.links:
            link.mend()


@dataclass(frozen=True)
class Crash:
    """The programs of some consumers of a zone end between two commands; later others take their places."""

    consumers: Consumers
    zone: str
    numbers: tuple[int, ...]
    at_command: int

    async def begin(self) -> None:
        for number in self.numbers:
            self.consumers.crash(self.zone, number, at_command=self.at_command)

    async def end(self) -> None:
        for number in self.numbers:
            self.consumers.replace(self.zone, number)


@dataclass(frozen=True)
class ProducerDeath:
    """The program of a zone's producer ends; later another takes its place."""

    producer: Producer
    at_command: int

    async def begin(self) -> None:
        self.producer.crash(at_command=self.at_command)

    async def end(self) -> None:
        await self.producer.replace()


@dataclass(frozen=True)
class CoordinatorDeath:
    """The coordinator of a zone ends; its connections to the others, and theirs to it, are reset."""

    coordinator: Coordinator
    cut: LinkCut

    async def begin(self) -> None:
        self.coordinator.crash()
        await self.cut.begin()

    async def end(self) -> None:
        self.coordinator.restart()
        await self.cut.end()

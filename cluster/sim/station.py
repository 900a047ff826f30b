"""Stations, which take time over commands, a bounded number at once: a SimPy resource in front of their execution."""

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from random import Random

import simpy
from simpy.resources.resource import Request

from zonelab.cluster.links.lag import Lag
from zonelab.cluster.sim.event_order import SimEnvironment


@dataclass(frozen=True, kw_only=True)
class StationSettings:
    """``service``: the work on one command, drawn for each. ``capacity``: so many pipelines are worked on at once."""

    service: Lag
    capacity: int = 1

    def __post_init__(self) -> None:
        if self.capacity < 1:
            raise ValueError(f"capacity must be 1 or more, got {self.capacity}")


class Station:
    """Works on pipelines in the order in which they come; those that find no room wait.

    ``deaths``: how often the process that does the work has died. Another one finds nobody waiting.
    """

    def __init__(
        self,
        environment: SimEnvironment,
        settings: StationSettings,
        *,
        random: Random,
        deaths: Callable[[], int] = lambda: 0,
    ) -> None:
        self.deaths = deaths
        self._environment = environment
        self._capacity = settings.capacity
        self._draw_ns = settings.service.sampler(random)
        self._workers = simpy.Resource(environment, settings.capacity)
        self._life = 0

    def serve(self, commands: int, then: Callable[[], None]) -> None:
        """Call ``then`` once so many commands have had their turn and their work, whoever has died meanwhile."""
        if self._life != self.deaths():
            self._life = self.deaths()
            self._workers = simpy.Resource(self._environment, self._capacity)
        turn = self._workers.request()  # within this call, so that places in the queue are those of the calls
        cost_ns = sum(self._draw_ns() for _ in range(commands))
        self._environment.process(self._work(turn, cost_ns, then))

    def _work(self, turn: Request, cost_ns: int, then: Callable[[], None]) -> Generator[simpy.Event, None, None]:
        with turn:
            yield turn
            yield self._environment.timeout(cost_ns)
        then()


class StationLane:
    """One way through a station, which nothing leaves before what came earlier, however many are worked on at once."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._waiting: deque[list[Callable[[], None] | None]] = deque()

    def serve(self, commands: int, then: Callable[[], None]) -> None:
        """Serve; see ``Station.serve``."""
        place: list[Callable[[], None] | None] = [None]
        self._waiting.append(place)
        self._station.serve(commands, partial(self._served, place, then))

    def _served(self, place: list[Callable[[], None] | None], then: Callable[[], None]) -> None:
        place[0] = then
        while self._waiting and (first := self._waiting[0][0]) is not None:
            self._waiting.popleft()
            first()

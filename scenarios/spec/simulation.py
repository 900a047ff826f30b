"""Settings of a run in virtual time only: the order of ties, and the times of servers, coordinators and programs."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from zonelab.cluster.fields import Count, DelayText, Section
from zonelab.cluster.sim.schedule import TieBreak


def _station(value: Any) -> Any:
    """Its time alone may stand for it."""
    return value if value is None or isinstance(value, dict | StationSection) else {"time": value}


def _service(value: Any) -> Any:
    """The time of servers alone may stand for it, as files have it from before others could take time."""
    if value is None:
        return ServiceSection()
    return value if isinstance(value, dict | ServiceSection) else {"server": value}


class StationSection(Section):
    """``time``: the work on one command. ``capacity``: so many pipelines are worked on at once; others wait."""

    time: DelayText
    capacity: Count = 1


TakesTime = Annotated[StationSection | None, BeforeValidator(_station)]


class ServiceSection(Section):
    """Work on a command, each drawn by itself. Whoever is left out takes none, a server 5 microseconds."""

    server: DelayText | None = None
    """One at a time."""
    coordinator: TakesTime = None
    """Time at each node for every command that passes it on the way to its own server, whichever zone it comes from."""
    program: TakesTime = None
    """Time of each producer, consumer and service of a queue, and of a zone's clients of a workload, before it sends.
    """


class Simulation(Section):
    tie_break: TieBreak = TieBreak.RANDOM
    """The order of events that happen at the same time."""
    service: Annotated[ServiceSection, BeforeValidator(_service)] = ServiceSection()

"""Settings of a run in virtual time only: the order of ties, and the times of servers, coordinators and programs."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from zonelab.cluster.fields import Count, DelayText, Section
from zonelab.cluster.sim.schedule import TieBreak


def _station(value: Any) -> Any:
    """Return ``value`` as a section: a time alone stands for a station with that time."""
    return value if value is None or isinstance(value, dict | StationSection) else {"time": value}


def _service(value: Any) -> Any:
    """Return ``value`` as a section: a time alone stands for that of servers, as in files of earlier versions."""
    if value is None:
        return ServiceSection()
    return value if isinstance(value, dict | ServiceSection) else {"server": value}


class StationSection(Section):
    """Station that works on commands.

    ``time``: the work on one command. ``capacity``: number of pipelines in work at once; others wait.
    """

    time: DelayText
    capacity: Count = 1


TakesTime = Annotated[StationSection | None, BeforeValidator(_station)]


class ServiceSection(Section):
    """Times of the work on a command, drawn for each one. If not given, a server takes 5 microseconds, others none."""

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

"""All kinds of faults. A new one is a class, in the module of its family, and a line here."""

from typing import Annotated, get_args

from pydantic import Field
from pydantic.fields import FieldInfo

from zonelab.scenarios.faults import clocks, guests, links, outages, programs, seen, traffic, zones
from zonelab.scenarios.faults.fault import ClusterPart, Fault

AnyFault = Annotated[
    zones.Kill
    | zones.Wipe
    | zones.PowerFailure
    | zones.Pause
    | zones.SlowZone
    | zones.Memory
    | zones.DiskFull
    | outages.ZoneOutage
    | clocks.ClockFault
    | clocks.ClockFreeze
    | traffic.LagFault
    | traffic.LossFault
    | traffic.DuplicateFault
    | links.CutFault
    | links.Clog
    | links.SwizzleClog
    | links.Flap
    | programs.ConsumerCrash
    | programs.ProducerCrash
    | programs.ServiceCrash
    | guests.ProgramKill
    | programs.CoordinatorCrash
    | seen.ProgramPause
    | seen.CommandDelay
    | seen.ConsumerSlow
    | seen.MemberHidden,
    Field(discriminator="kind"),
]

CLASSES: dict[str, type[Fault]] = {
    get_args(one.model_fields["kind"].annotation)[0]: one for one in get_args(get_args(AnyFault)[0])
}
"""By kind."""

BESIDE_PROGRAMS = tuple(
    kind
    for kind, one in CLASSES.items()
    if not (one.of_clients or one.simulated_only or issubclass(one, clocks.OfClock))
)
"""Kinds that a scenario with programs of the user's own can have."""

ONLY_UP: dict[str, type[Fault]] = {
    "coordinator_pause": programs.CoordinatorPause,
    "port_crash": programs.PortCrash,
    "port_pause": programs.PortPause,
}
"""By kind, faults that only a cluster of ``zonelab up`` can have."""

UP: dict[str, type[Fault]] = {
    kind: one for part in ClusterPart for kind, one in {**CLASSES, **ONLY_UP}.items() if one.part is part
}
"""By kind, all that such a cluster can have: first those of links, then of servers, then of coordinators."""


def amounts_of(kind: type[Fault]) -> dict[str, FieldInfo]:
    """Return the fields of ``kind`` beside its times and its place, by name."""
    beside = ("kind", "at_s", "for_s", *kind.where)
    return {name: field for name, field in kind.model_fields.items() if name not in beside}

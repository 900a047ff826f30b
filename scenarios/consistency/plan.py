"""The load of a workload, fixed beforehand by the seed: which client of a zone begins which operation when."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from random import Random

from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.consistency.operations import MIXES, NEEDS_ARGUMENT, AccessRequest
from zonelab.scenarios.spec.push_plan import arrivals
from zonelab.scenarios.spec.scenario import Scenario, Workload


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedAccess:
    """An operation that is to begin ``offset_ns`` after the load begins.

    ``expects_last``: a compare-and-set that expects what its client has last seen or written of the key.
    """

    offset_ns: int
    client: int
    request: AccessRequest
    expects_last: bool = False


def plan_accesses(scenario: Scenario, *, zone: str, random: Callable[[str], Random]) -> Iterator[PlannedAccess]:
    """The operations of the clients of ``zone``, in the order of their times. ``random`` gives the stream of a name."""
    workload = scenario.workload
    assert workload is not None, "only a scenario with a workload has one"
    if workload.operations is not None:
        yield from _explicit(workload, zone)
        return
    rate_per_s = scenario.load.rate_of(zone)
    if rate_per_s == 0:
        return
    contents = random(f"accesses {zone}")
    mix = workload.mix or MIXES[workload.kind]
    # Every zone draws the steps of a lockstep from a stream of its own that begins alike, and so the same steps.
    steps = random(f"arrivals {zone}") if workload.lockstep_ms is None else Random(scenario.seed)
    for number, offset_ns in enumerate(arrivals(scenario.load, rate_per_s, steps)):
        (f,) = contents.choices(list(mix), weights=list(mix.values()))
        together = workload.lockstep_ms is not None
        key = number % workload.keys if together else contents.randrange(workload.keys)
        delay_ns = round(contents.uniform(0, workload.lockstep_ms or 0) * NS_PER_MS)
        yield PlannedAccess(
            offset_ns=offset_ns + delay_ns,
            client=contents.randrange(workload.clients_per_zone),
            request=AccessRequest(f=f, key=str(key), argument=f"{zone}{number}" if f in NEEDS_ARGUMENT else None),
            expects_last=f == "cas",
        )


def _explicit(workload: Workload, zone: str) -> Iterator[PlannedAccess]:
    own = [op for op in workload.operations or () if op.zone == zone]
    for number, op in enumerate(sorted(own, key=attrgetter("at_ms"))):
        drawn = f"{zone}{number}" if op.f in NEEDS_ARGUMENT else None
        yield PlannedAccess(
            offset_ns=round(op.at_ms * NS_PER_MS),
            client=op.client,
            request=AccessRequest(f=op.f, key=op.key, argument=op.value or drawn, expected=op.expected),
        )

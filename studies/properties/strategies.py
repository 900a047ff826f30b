"""Hypothesis strategies: topologies, levels, lags, loads, fault schedules and whole scenarios, valid by construction.

Times are drawn in whole milliseconds and lists in full, so that examples shrink to round figures and few entries.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic import TypeAdapter

from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level
from zonelab.cluster.wiring.settings import Links
from zonelab.cluster.zone import Restart
from zonelab.engine.message import PRIORITY_MAX, PRIORITY_MIN
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.faults.catalogue import CLASSES, AnyFault
from zonelab.scenarios.faults.fault import ANY_LAG, Choices, Targets
from zonelab.scenarios.spec.load_times import RECONNECT_MAX_S
from zonelab.scenarios.spec.queue_settings import DynoQueueSettings
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import Drain, Load, PushOperation, Scenario
from zonelab.scenarios.spec.topology import TopologySection

ZONE_NAMES = ("a", "b", "c")
LAG_KINDS = ("zero", "constant", "lognormal", "heavy")
FAULT_KINDS = tuple(
    sorted(
        (kind for kind, one in CLASSES.items() if not (one.of_services or one.of_groups or one.of_programs)),
        key=lambda kind: CLASSES[kind].harm,
    )
)
"""From the milder to the worse, about; examples shrink to the first."""

_SCALES_MS = (0.1, 0.5, 1, 2, 5, 10, 20, 50)
_SHAPES = (2, 2.5, 3)
"""Shapes of a Pareto lag: finite means, and beyond a time-out of 5 s less than once in a million draws."""

_ANY_FAULT: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)

_PROCESSES_MAX = 2
_LEASE_MS = 2_000
_LEASE_LOOK_MS = 500


def topologies(*, min_zones: int = 1, max_zones: int = len(ZONE_NAMES)) -> st.SearchStrategy[TopologySection]:
    """Zones ``a``, ``b``, ``c``: so many of them. Raises ``ValueError`` for numbers that no data centre can have."""
    if not 1 <= min_zones <= max_zones <= len(ZONE_NAMES):
        raise ValueError(f"zones must be 1 to {len(ZONE_NAMES)}, got min_zones={min_zones} and max_zones={max_zones}")
    return st.integers(min_zones, max_zones).map(lambda count: TopologySection(zones=ZONE_NAMES[:count]))


def levels() -> st.SearchStrategy[Level]:
    return st.sampled_from(LEVELS_OF_ONE_DC)


def lags(kinds: Sequence[str] = LAG_KINDS) -> st.SearchStrategy[str]:
    """Lags of links, written as in scenario files: none, constant, log-normal, heavy-tailed.

    Raises ``ValueError`` for a kind that is none of ``LAG_KINDS``.
    """
    _accept("lag kinds", kinds, LAG_KINDS)
    scales_ms = st.sampled_from(_SCALES_MS)
    made: dict[str, st.SearchStrategy[str]] = {
        "zero": st.just("0"),
        "constant": scales_ms.map(lambda ms: f"constant:{ms:g}ms"),
        "lognormal": st.builds(
            lambda ms, factor: f"lognormal:{ms:g}ms:{ms * factor:g}ms", scales_ms, st.sampled_from([2, 5, 20])
        ),
        "heavy": st.builds(lambda ms, shape: f"pareto:{ms:g}ms:{shape:g}", scales_ms, st.sampled_from(_SHAPES)),
    }
    return st.one_of([made[kind] for kind in LAG_KINDS if kind in kinds])


@st.composite
def workloads(
    draw: st.DrawFn,
    zones: Sequence[str] = ZONE_NAMES,
    *,
    duration_ms: int = 2_000,
    max_messages: int = 20,
    max_delay_ms: int = 1_000,
) -> Load:
    """Messages ``m0``, ``m1`` and so on, each with a time, a zone, a delay and a priority."""
    one = st.tuples(
        st.integers(0, duration_ms - 1),
        st.sampled_from(list(zones)),
        st.one_of(st.just(0), st.integers(0, max_delay_ms)),
        st.one_of(st.just(0), st.integers(PRIORITY_MIN, PRIORITY_MAX)),
    )
    drawn = draw(st.lists(one, min_size=1, max_size=max_messages))
    operations = tuple(
        PushOperation(id=f"m{number}", at_ms=at_ms, zone=zone, delay_ms=delay_ms, priority=priority)
        for number, (at_ms, zone, delay_ms, priority) in enumerate(sorted(drawn))
    )
    return Load(duration_s=duration_ms / 1000, operations=operations)


@st.composite
def fault_schedules(
    draw: st.DrawFn,
    zones: Sequence[str] = ZONE_NAMES,
    *,
    duration_ms: int = 2_000,
    kinds: Sequence[str] = FAULT_KINDS,
    max_faults: int = 4,
    consumers_per_zone: int = _PROCESSES_MAX,
) -> tuple[AnyFault, ...]:
    """Faults of a load that takes ``duration_ms``, in order of their beginning; no two hold the same thing at a time.

    A fault that would is left out. Raises ``ValueError`` for a kind that is none of ``FAULT_KINDS``.
    """
    _accept("fault kinds", kinds, FAULT_KINDS)
    # The rules of scenario files decide, over a scenario in which only the faults could be wrong.
    frame = Scenario(
        name="frame",
        arm=Arm.SIM,
        topology=TopologySection(zones=tuple(zones)),
        load=Load(duration_s=duration_ms / 1000, rate_per_s=1),
        consumers={"per_zone": consumers_per_zone},  # type: ignore[arg-type]
        drain=Drain(bound_s=60),
    )
    possible = [kind for kind in FAULT_KINDS if kind in kinds and (len(zones) > 1 or not CLASSES[kind].between_zones)]
    one = _fault(frame, duration_ms, possible) if possible else st.nothing()
    drawn = draw(st.lists(one, max_size=max_faults if possible else 0))
    accepted: tuple[AnyFault, ...] = ()
    for fault in drawn:
        longer = (*accepted, fault)
        if not problems(frame.model_copy(update={"faults": longer})) and _has_sources(longer):
            accepted = longer
    return tuple(sorted(accepted, key=lambda fault: fault.at_s))


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    topology: st.SearchStrategy[TopologySection] | None = None,
    level: st.SearchStrategy[Level] | None = None,
    lag: st.SearchStrategy[str] | None = None,
    kinds: Sequence[str] = FAULT_KINDS,
    duration_ms: int = 2_000,
    max_messages: int = 20,
    max_faults: int = 4,
) -> Scenario:
    """Whole scenarios for the simulation. ``kinds=()``: without faults."""
    drawn = draw(topologies() if topology is None else topology)
    faults = fault_schedules(drawn.zones, duration_ms=duration_ms, kinds=kinds, max_faults=max_faults)
    return Scenario(
        name="drawn",
        arm=Arm.SIM,
        seed=draw(st.integers(0, 2**32 - 1)),
        level=draw(levels() if level is None else level),
        topology=drawn,
        links=Links(lag=draw(lags() if lag is None else lag)),
        queue=DynoQueueSettings(unack_ms=_LEASE_MS, unack_interval_ms=_LEASE_LOOK_MS),
        load=draw(workloads(drawn.zones, duration_ms=duration_ms, max_messages=max_messages)),
        faults=draw(faults),
        drain=Drain(bound_s=RECONNECT_MAX_S + 4 * (_LEASE_MS + _LEASE_LOOK_MS) / 1000),
    )


def _accept(what: str, given: Sequence[str], accepted: Sequence[str]) -> None:
    unknown = [kind for kind in given if kind not in accepted]
    if unknown or isinstance(given, str):
        raise ValueError(f"{what}: got {given!r}; accepted: any of {', '.join(accepted)}")


@st.composite
def _fault(draw: st.DrawFn, targets: Targets, duration_ms: int, kinds: Sequence[str]) -> AnyFault:
    kind = draw(st.sampled_from(kinds))
    at_ms = draw(st.integers(0, duration_ms - 2))
    for_ms = draw(st.integers(1, duration_ms - at_ms - 1))
    places = CLASSES[kind].places(targets)
    place = draw(st.sampled_from(tuple(places)))
    fields = {place: places[place], **CLASSES[kind].extents(targets)}
    drawn = {name: draw(_one_of(choices)) for name, choices in fields.items()}
    return _ANY_FAULT.validate_python({"kind": kind, "at_s": at_ms / 1000, "for_s": for_ms / 1000, **drawn})


def _one_of(choices: Choices) -> st.SearchStrategy[Any]:
    if ANY_LAG in choices:
        return lags()
    ranges = [st.integers(one.start, one.stop - 1) if isinstance(one, range) else st.just(one) for one in choices]
    return st.one_of(ranges) if any(isinstance(one, range) for one in choices) else st.sampled_from(choices)


def _has_sources(faults: Sequence[AnyFault]) -> bool:
    """No zone that comes back warm meets another that is down, so there is always one to copy from."""
    downs = [fault for fault in faults if fault.stops_server]
    warm = [fault for fault in downs if fault.comes_back is Restart.WARM]
    return not any(_meet(one, other) for one in warm for other in downs if other is not one)


def _meet(one: AnyFault, other: AnyFault) -> bool:
    return other.at_s <= one.at_s + one.for_s and one.at_s <= other.at_s + other.for_s

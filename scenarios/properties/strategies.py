"""Hypothesis strategies: topologies, levels, lags, loads, fault schedules and whole scenarios, valid by construction.

Times are drawn in whole milliseconds and lists in full, so that examples shrink to round figures and few entries.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic import TypeAdapter

from cluster.votes.vote import LEVELS_OF_ONE_DC, Level
from engine.message import PRIORITY_MAX, PRIORITY_MIN
from scenarios.spec.rules import RECONNECT_MAX_S, problems
from scenarios.spec.scenario import (
    AnyFault,
    Arm,
    CutMode,
    Drain,
    Kill,
    Links,
    Load,
    Operation,
    Pause,
    PowerFailure,
    QueueSettings,
    Scenario,
    Wipe,
)
from scenarios.spec.topology import Topology

ZONE_NAMES = ("a", "b", "c")
LAG_KINDS = ("zero", "constant", "lognormal", "heavy")
FAULT_KINDS = (
    "consumer_crash",
    "producer_crash",
    "lag",
    "slow",
    "loss",
    "duplicate",
    "clock",
    "pause",
    "clog",
    "swizzle_clog",
    "cut",
    "coordinator_crash",
    "kill",
    "power_failure",
    "wipe",
)
"""From the milder to the worse, about; examples shrink to the first."""

_OF_LINKS = ("lag", "loss", "duplicate", "clog", "cut")
_BETWEEN_ZONES = (*_OF_LINKS, "swizzle_clog")
_CLOCK_MS = 2_000
_CLOCK_PPM = 100_000
_SCALES_MS = (0.1, 0.5, 1, 2, 5, 10, 20, 50)
_SHAPES = (2, 2.5, 3)
"""Of a Pareto lag: finite means, and beyond a time-out of 5 s less than once in a million draws."""

_ANY_FAULT: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)

_PROCESSES_MAX = 2
_LEASE_MS = 2_000
_LEASE_LOOK_MS = 500


def topologies(*, min_zones: int = 1, max_zones: int = len(ZONE_NAMES)) -> st.SearchStrategy[Topology]:
    """Zones ``a``, ``b``, ``c``: so many of them. Raises ``ValueError`` for numbers that no data centre can have."""
    if not 1 <= min_zones <= max_zones <= len(ZONE_NAMES):
        raise ValueError(f"zones must be 1 to {len(ZONE_NAMES)}, got min_zones={min_zones} and max_zones={max_zones}")
    return st.integers(min_zones, max_zones).map(lambda count: Topology(zones=ZONE_NAMES[:count]))


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
        Operation(id=f"m{number}", at_ms=at_ms, zone=zone, delay_ms=delay_ms, priority=priority)
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
    possible = [kind for kind in FAULT_KINDS if kind in kinds and (len(zones) > 1 or kind not in _BETWEEN_ZONES)]
    one = _fault(tuple(zones), duration_ms, possible, consumers_per_zone) if possible else st.nothing()
    drawn = draw(st.lists(one, max_size=max_faults if possible else 0))
    # The rules of scenario files decide, over a scenario in which only the faults could be wrong.
    frame = Scenario(
        name="frame",
        arm=Arm.SIM,
        topology=Topology(zones=tuple(zones)),
        load=Load(duration_s=duration_ms / 1000, rate_per_s=1),
        consumers={"per_zone": consumers_per_zone},  # type: ignore[arg-type]
        drain=Drain(bound_s=60),
    )
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
    topology: st.SearchStrategy[Topology] | None = None,
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
        queue=QueueSettings(unack_ms=_LEASE_MS, unack_interval_ms=_LEASE_LOOK_MS),
        load=draw(workloads(drawn.zones, duration_ms=duration_ms, max_messages=max_messages)),
        faults=draw(faults),
        drain=Drain(bound_s=RECONNECT_MAX_S + 4 * (_LEASE_MS + _LEASE_LOOK_MS) / 1000),
    )


def _accept(what: str, given: Sequence[str], accepted: Sequence[str]) -> None:
    unknown = [kind for kind in given if kind not in accepted]
    if unknown or isinstance(given, str):
        raise ValueError(f"{what}: got {given!r}; accepted: any of {', '.join(accepted)}")


@st.composite
def _fault(
    draw: st.DrawFn, zones: tuple[str, ...], duration_ms: int, kinds: Sequence[str], consumers_per_zone: int
) -> AnyFault:
    kind = draw(st.sampled_from(kinds))
    at_ms = draw(st.integers(0, duration_ms - 2))
    for_ms = draw(st.integers(1, duration_ms - at_ms - 1))
    zone = draw(st.sampled_from(zones))
    target = _links_of(draw, kind, zones, zone) if kind in _OF_LINKS else {"zone": zone}
    extent = {name: draw(strategy) for name, strategy in _extents(kind, zones, consumers_per_zone).items()}
    if kind == "clock" and not any(extent.values()):
        extent["offset_ms"] = 1
    return _ANY_FAULT.validate_python({"kind": kind, "at_s": at_ms / 1000, "for_s": for_ms / 1000, **target, **extent})


def _links_of(draw: st.DrawFn, kind: str, zones: tuple[str, ...], zone: str) -> dict[str, str]:
    one_way = draw(st.sampled_from([f"{source}>{target}" for source in zones for target in zones if source != target]))
    around, along = ("isolate", "one_way") if kind == "cut" else ("zone", "link")
    return {around: zone} if draw(st.booleans()) else {along: one_way}


def _extents(kind: str, zones: tuple[str, ...], consumers_per_zone: int) -> dict[str, st.SearchStrategy[Any]]:
    """The fields of a kind beside its times and its target; each shrinks to the mildest."""
    restarts = st.sampled_from(["keep", "warm"] if len(zones) > 1 else ["keep"])
    at_command = st.one_of(st.none(), st.integers(1, 20))
    fields: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "kill": {"restart": restarts},
        "power_failure": {"restart": restarts, "torn": st.booleans()},
        "slow": {"factor": st.sampled_from([2.0, 10.0, 100.0, 1000.0])},
        "clock": {
            "offset_ms": st.integers(-_CLOCK_MS, _CLOCK_MS),
            "drift_ppm": st.one_of(st.just(0), st.integers(-_CLOCK_PPM, _CLOCK_PPM)),
        },
        "lag": {"lag": lags()},
        "loss": {"share": st.sampled_from([0.01, 0.1, 0.3])},
        "duplicate": {"share": st.sampled_from([1.0, 0.3]), "after_ms": st.sampled_from([0.0, 10.0, 300.0])},
        "cut": {"mode": st.sampled_from(tuple(CutMode))},
        "swizzle_clog": {"order": st.integers(0, 1_000)},
        "consumer_crash": {
            "consumer": st.one_of(st.integers(0, consumers_per_zone - 1), st.just("all")),
            "at_command": at_command,
        },
        "producer_crash": {"at_command": at_command},
    }
    return fields.get(kind, {})


def _has_sources(faults: Sequence[AnyFault]) -> bool:
    """No zone that comes back warm meets another that is down, so there is always one to copy from."""
    downs = [fault for fault in faults if isinstance(fault, Kill | Wipe | PowerFailure | Pause)]
    warm = [fault for fault in downs if isinstance(fault, Kill | PowerFailure) and fault.restart == "warm"]
    return not any(_meet(one, other) for one in warm for other in downs if other is not one)


def _meet(one: AnyFault, other: AnyFault) -> bool:
    return other.at_s <= one.at_s + one.for_s and one.at_s <= other.at_s + other.for_s

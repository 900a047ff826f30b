"""The queue engines that a scenario can name: one entry each, and the only place where they are listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from engine.queue import Features


@dataclass(frozen=True, slots=True)
class Engine:
    """``make``: the adapter, ``MODULE:CLASS``; by name, because adapters read the scenario.

    ``features``: what it promises, in each of its modes.
    ``modes``: of ``default``, ``compat`` and ``hardened`` those that it has.
    """

    about: str
    make: str
    features: Features
    modes: tuple[str, ...] = ("default",)


_DYNO_MODES = ("default", "compat", "hardened")
_DYNO = Features(early_ms_max=1)

ENGINES: Mapping[str, Engine] = {
    "dyno": Engine("dyno-queues V1, one command at a time", "scenarios.queues.dyno:DynoUnderTest", _DYNO, _DYNO_MODES),
    "dyno-v2": Engine(
        "dyno-queues V2: pipelines, and per-shard queues behind one queue",
        "scenarios.queues.dyno:PipelinedUnderTest",
        _DYNO,
        _DYNO_MODES,
    ),
    "gmq": Engine(
        "job pool, delay and TTR buckets, a dispatcher, ready lists",
        "scenarios.queues.gmq:GmqUnderTest",
        Features(time_unit_ms=1_000, early_ms_max=1_000, priorities=False),
        ("default", "compat"),
    ),
    "youzan": Engine(
        "job pool, buckets with timers, ready lists",
        "scenarios.queues.youzan:YouzanUnderTest",
        Features(time_unit_ms=1_000, early_ms_max=1_000, priorities=False),
        ("default", "compat"),
    ),
    "zset": Engine(
        "one sorted set, ZRANGEBYSCORE and ZREM, no lease",
        "scenarios.queues.zset:ZsetUnderTest",
        Features(leases=False, priorities=False),
    ),
}
"""By name."""


def known_engine(name: str) -> str:
    """``name`` itself. Raises ``ValueError``, which offers the nearest name, if there is no such engine."""
    if name in ENGINES:
        return name
    near = get_close_matches(name, ENGINES, n=1)
    nearest = f" (did you mean {near[0]}?)" if near else ""
    raise ValueError(f"got {name!r}{nearest}; accepted: {', '.join(ENGINES)}")

"""The queue engines that a scenario can name: one entry each, and the only place where they are listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from engine.queue import Features


@dataclass(frozen=True, slots=True)
class Shipped:
    """An engine in one of its modes.

    ``make``: the adapter, ``MODULE:CLASS``; by name, because adapters read the scenario.

    ``features``: what the engine promises in this mode.
    """

    make: str
    features: Features


@dataclass(frozen=True, slots=True)
class Engine:
    """``modes``: of ``default``, ``compat`` and ``hardened`` those that it has, by name."""

    about: str
    modes: Mapping[str, Shipped]


_DYNO = Features(early_ms_max=1)
_HARDENED = Shipped("scenarios.queues.hardened:HardenedUnderTest", _DYNO)
_GMQ_HARDENED = Features(early_ms_max=1, priorities=False)
_SECONDS = Features(time_unit_ms=1_000, early_ms_max=1_000, priorities=False)


def _dyno(adapter: str) -> Mapping[str, Shipped]:
    original = Shipped(f"scenarios.queues.dyno:{adapter}", _DYNO)
    return {"default": original, "compat": original, "hardened": _HARDENED}


def _copy_in_seconds(make: str) -> Mapping[str, Shipped]:
    """Of a queue that counts in whole seconds, rounded down, and serves the first topic that has any."""
    original = Shipped(make, _SECONDS)
    return {"default": original, "compat": original}


ENGINES: Mapping[str, Engine] = {
    "dyno": Engine("dyno-queues V1, one command at a time", _dyno("DynoUnderTest")),
    "dyno-v2": Engine("dyno-queues V2: pipelines, and per-shard queues behind one queue", _dyno("PipelinedUnderTest")),
    "gmq": Engine(
        "job pool, delay and TTR buckets, a dispatcher, ready lists",
        {
            **_copy_in_seconds("scenarios.queues.gmq:GmqUnderTest"),
            "hardened": Shipped("scenarios.queues.gmq_hardened:HardenedGmqUnderTest", _GMQ_HARDENED),
        },
    ),
    "youzan": Engine(
        "job pool, buckets with timers, ready lists", _copy_in_seconds("scenarios.queues.youzan:YouzanUnderTest")
    ),
    "zset": Engine(
        "one sorted set, ZRANGEBYSCORE and ZREM, no lease",
        {"default": Shipped("scenarios.queues.zset:ZsetUnderTest", Features(leases=False, priorities=False))},
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

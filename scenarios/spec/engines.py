"""The queue engines that a scenario can name: one entry each, and the only place where they are listed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from zonelab.analysis.near_names import did_you_mean
from zonelab.engine.queue import Features
from zonelab.scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from zonelab.scenarios.spec.queue_settings import (
    DynoQueueSettings,
    GmqQueueSettings,
    QueueMode,
    QueueSettings,
    YouzanQueueSettings,
)


@dataclass(frozen=True, slots=True)
class ShippedEngine:
    """An engine in one of its modes.

    ``make``: the adapter, ``MODULE:CLASS``; by name, because adapters read the scenario.

    ``features``: what the engine promises in this mode.
    """

    make: str
    features: Features


@dataclass(frozen=True, slots=True)
class Engine:
    """``modes``: of ``default``, ``compat`` and ``hardened`` those that it has, by name; or others of its own.

    ``settings``: the model that checks the ``queue:`` section of a scenario which names the engine.
    """

    about: str
    modes: Mapping[str, ShippedEngine]
    settings: type[QueueSettings] = QueueSettings


_DYNO = Features(early_ms_max=1)
_HARDENED = ShippedEngine("zonelab.scenarios.queues.hardened:HardenedUnderTest", _DYNO)
_GMQ_HARDENED = Features(early_ms_max=1, priorities=False, unique_ids=True)
_ORDERED = Features(priorities=False, order=True, keys=True, groups=True, suspend=True, rollback=True, commit=True)
_SECONDS = Features(time_unit_ms=1_000, early_ms_max=1_000, priorities=False)


def _dyno(adapter: str) -> Mapping[str, ShippedEngine]:
    original = ShippedEngine(f"zonelab.scenarios.queues.dyno:{adapter}", _DYNO)
    return {"default": original, "compat": original, "hardened": _HARDENED}


def _copy_in_seconds(make: str, *, unique_ids: bool) -> Mapping[str, ShippedEngine]:
    """Return the modes of a queue that counts in whole seconds, rounded down, and serves the first topic that
    has any.
    """
    original = ShippedEngine(make, replace(_SECONDS, unique_ids=unique_ids))
    return {"default": original, "compat": original}


ENGINES: Mapping[str, Engine] = {
    "dyno": Engine("dyno-queues V1, one command at a time", _dyno("DynoUnderTest"), DynoQueueSettings),
    "dyno-v2": Engine(
        "dyno-queues V2: pipelines, and per-shard queues behind one queue",
        _dyno("PipelinedUnderTest"),
        DynoQueueSettings,
    ),
    "gmq": Engine(
        "job pool, delay and TTR buckets, a dispatcher, ready lists",
        {
            **_copy_in_seconds("zonelab.scenarios.queues.gmq:GmqUnderTest", unique_ids=True),
            "hardened": ShippedEngine("zonelab.scenarios.queues.gmq_hardened:HardenedGmqUnderTest", _GMQ_HARDENED),
        },
        GmqQueueSettings,
    ),
    "youzan": Engine(
        "job pool, buckets with timers, ready lists",
        _copy_in_seconds("zonelab.scenarios.queues.youzan:YouzanUnderTest", unique_ids=False),
        YouzanQueueSettings,
    ),
    "zset": Engine(
        "one sorted set, ZRANGEBYSCORE and ZREM, no lease",
        {
            "default": ShippedEngine(
                "zonelab.scenarios.queues.zset:ZsetUnderTest", Features(leases=False, priorities=False)
            )
        },
    ),
    "fifo": Engine(
        "ordered messages as RocketMQ's: partitions, locks with leases, consumer groups",
        {
            **dict.fromkeys(
                FifoQueueSettings.modes, ShippedEngine("zonelab.scenarios.queues.ordered.fifo:FifoUnderTest", _ORDERED)
            ),
            QueueMode.FENCED: ShippedEngine("zonelab.scenarios.queues.ordered.fifo_fenced:FencedUnderTest", _ORDERED),
        },
        FifoQueueSettings,
    ),
}
"""By name."""


def known_engine(name: str) -> str:
    """``name`` itself. Raises ``ValueError``, which offers the nearest name, if there is no such engine."""
    if name in ENGINES:
        return name
    raise ValueError(unknown_engine(name))


def unknown_engine(name: str) -> str:
    """Return what is wrong with ``name``, and the nearest that would be accepted."""
    return f"got {name!r}{did_you_mean(name, ENGINES)}; accepted: {', '.join(ENGINES)}"


def queue_settings(engine: str, **options: Any) -> QueueSettings:
    """The ``queue:`` section that names ``engine``. Raises ``ValidationError`` for ``options`` that it lacks."""
    return ENGINES[engine].settings(engine=engine, **options)


def shipped(queue: QueueSettings) -> ShippedEngine:
    """The engine in its mode, unless there is a ``factory``; in its first if it lacks that mode."""
    modes = ENGINES[queue.engine].modes
    return modes.get("compat" if queue.compat else queue.mode, next(iter(modes.values())))


class ByEngine:
    """Marks a field of ``QueueSettings`` as one that the model of its own ``engine`` checks."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        models = {name: handler.generate_schema(engine.settings) for name, engine in ENGINES.items()}
        return core_schema.tagged_union_schema(models, discriminator=_engine_of)


def _engine_of(queue: Any) -> str:
    default = QueueSettings.model_fields["engine"].default
    named = queue.get("engine", default) if isinstance(queue, dict) else getattr(queue, "engine", default)
    return str(named)

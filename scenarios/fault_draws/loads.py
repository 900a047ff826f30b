"""Loads of the scenarios of a class of faults: drawn by the seed alone, but for what some classes change."""

from random import Random

from zonelab.cluster.random_streams import Streams
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.spec.push_plan import explicit_operations

ZONES = ("a", "b", "c")
LOAD_S = 1.0
POISON_MAX = 3

_RATE_PER_S = 14.0
_DELAY = "0.5*constant:0ms + 0.5*uniform:20ms:300ms"
_RETRIES_SHARE = 0.5
_RETRIES_MAX = 6
_SWEPT_S = 3.0
"""The keeper of hardened mode looks for orphans every fourth round, and takes one that it sees a second time."""


def happens(random: Random | None, share: float) -> bool:
    """True in ``share`` of the seeds; never without ``random``."""
    return random is not None and random.random() < share


def load_of(seed: int) -> spec.Load:
    """Return what ``seed`` pushes and when, the same in every class, at every level and in every mode."""
    drawn = spec.Load(duration_s=LOAD_S, rate_per_s=_RATE_PER_S, delay=_DELAY, priority=spec.Priority(max=9))
    operations = explicit_operations(drawn, zones=ZONES, random=Streams(seed).stream)
    return spec.Load(duration_s=LOAD_S, operations=operations)


def retried(seed: int) -> spec.Load:
    """The load of ``seed``, in half of the seeds with producers that try again."""
    random = Streams(seed).stream("retries")
    if not happens(random, _RETRIES_SHARE):
        return load_of(seed)
    settings = {"retries": random.randint(1, _RETRIES_MAX), "retry_after_ms": float(random.randint(5, 300))}
    return load_of(seed).model_copy(update=settings)


def poisoned(seed: int) -> spec.Load:
    """The load of ``seed``, a few messages of which kill whoever works on them."""
    load, random = load_of(seed), Streams(seed).stream("poison")
    operations = list(load.operations or ())
    for index in random.sample(range(len(operations)), min(len(operations), random.randint(1, POISON_MAX))):
        operations[index] = operations[index].model_copy(update={"poison": True})
    return load.model_copy(update={"operations": tuple(operations)})


def swept(seed: int) -> spec.Load:
    """The load of ``seed``, and time to find orphans after it: no run waits for what no zone lists."""
    return load_of(seed).model_copy(update={"duration_s": LOAD_S + _SWEPT_S})

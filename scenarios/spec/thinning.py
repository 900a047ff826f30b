"""Thinned runs: a part of the arrivals and the same part of the consumers, so that outages of a large load are short.

What a message meets stays: links, leases, work, lengths of faults, messages a consumer. What all messages share is
divided: bounds of hint queues, entries of a round of anti-entropy, partitions and keys of ordered messages. Bounds of
one partition stay, as its rate does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from zonelab.scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from zonelab.scenarios.spec.scenario import Scenario

MESSAGES_MAX = 5_000
"""Messages of the longest run with a fault: about 20 seconds of a processor, at 250 a second."""

CONSUMERS_MAX = 500
"""Consumers of a run: the looks of idle ones are most of what a run with more of them takes."""

CONSUMERS_DOUBLING = 200
"""With so many consumers a message of a run takes twice as long as with few, as all of them look for it.

Measured of benchmarks/rollout-120.yaml (29 November 2026): 5.0 ms of a processor with 6, 11 ms with 150, 10 to 15 ms
with 450.
"""

CONSUMERS_LEAST = 2
"""Consumers of a zone that thinning leaves: a single one has nobody to compete with."""

_DIVIDED = ("dyno", "dyno-v2", "zset", "fifo")


@dataclass(frozen=True, slots=True)
class ThinnedScenario:
    """``factor``: by how much arrivals and consumers were divided."""

    scenario: Scenario
    factor: float


def refusal(scenario: Scenario, k: int) -> str | None:
    """Return why ``scenario`` cannot be thinned by ``k``, in one line; None if it can."""
    return None if k == 1 else next(_reasons(scenario, k), None)


def most_thinned(scenario: Scenario) -> int:
    """Return the largest ``k`` by which ``scenario`` can be thinned; 1 if by none."""
    most = scenario.consumers.per_zone // CONSUMERS_LEAST
    return next((k for k in range(most, 1, -1) if refusal(scenario, k) is None), 1)


def thinned(scenario: Scenario, k: int) -> ThinnedScenario:
    """``scenario`` with ``per_zone // k`` consumers a zone, and arrivals divided as exactly as these are.

    So each consumer has as much to do as before; ``factor`` is ``k`` or slightly more. Raises ``ValueError`` with the
    reason if it cannot be.
    """
    if k == 1:
        return ThinnedScenario(scenario, 1.0)
    if (reason := refusal(scenario, k)) is not None:
        raise ValueError(f"thinning: got {k}; accepted: up to {most_thinned(scenario)}, as {reason}")
    consumers, load = scenario.consumers, scenario.load
    left = consumers.per_zone // k
    factor = consumers.per_zone / left
    keys = load.keys and load.keys.model_copy(update={"count": load.keys.count // k})
    changed: dict[str, Any] = {
        "consumers": consumers.model_copy(update={"per_zone": left}),
        "load": load.at_rates(lambda rate: rate / factor).model_copy(update={"keys": keys}),
        "replication": _replication(scenario, factor),
    }
    if isinstance(scenario.queue, FifoQueueSettings):
        changed["queue"] = scenario.queue.model_copy(update={"partitions": scenario.queue.partitions // k})
    return ThinnedScenario(scenario.model_copy(update=changed), factor)


def thinning_for(scenarios: Sequence[Scenario], *, least: int = 1) -> int:
    """Return the least thinning, of ``least`` and more, with which a run has at most ``CONSUMERS_MAX`` consumers.

    All ``scenarios`` can be thinned by it; if none is large enough it is the largest.
    """
    wanted = max(least, ceil(_consumers(scenarios) / CONSUMERS_MAX))
    most = min(map(most_thinned, scenarios))
    found = [k for k in range(most, 0, -1) if not any(refusal(one, k) for one in scenarios)]
    return min((k for k in found if k >= wanted), default=found[0])


def thinning_for_messages(scenarios: Sequence[Scenario], messages: float, *, messages_max: int) -> int:
    """Return the least thinning with which a run that would have ``messages`` takes no longer than ``messages_max``
    do with few consumers; otherwise as ``thinning_for``.
    """
    consumers, most = _consumers(scenarios), min(map(most_thinned, scenarios))

    def as_of_few(k: int) -> float:
        return messages / k * (1 + consumers / k / CONSUMERS_DOUBLING)

    return thinning_for(scenarios, least=next((k for k in range(1, most) if as_of_few(k) <= messages_max), most))


def _consumers(scenarios: Sequence[Scenario]) -> int:
    return max(one.consumers.per_zone * len(one.zones) for one in scenarios)


def _replication(scenario: Scenario, factor: float) -> Any:
    changed: dict[str, Any] = {}
    if (hints := scenario.replication.hinted_handoff) is not None:
        bounds = {name: max(1, round(getattr(hints, name) / factor)) for name in ("queue", "queue_bytes")}
        changed["hinted_handoff"] = hints.model_copy(update=bounds)
    if (compared := scenario.replication.anti_entropy) is not None:
        entries = max(1, round(compared.entries / factor))
        changed["anti_entropy"] = compared.model_copy(update={"entries": entries})
    return scenario.replication.model_copy(update=changed)


def _reasons(scenario: Scenario, k: int) -> Iterator[str]:
    queue, load, per_zone = scenario.queue, scenario.load, scenario.consumers.per_zone
    if queue.factory is not None:
        yield "a queue of the user's own may have sizes that nobody divides"
    if queue.engine not in _DIVIDED:
        yield f"engine {queue.engine} has timers that work off one job after the other, whose number does not divide"
    if load.operations is not None or load.arrivals is not None:
        yield "a load that is listed, or a process of the user's own, has no rate to divide"
    if per_zone // k < CONSUMERS_LEAST:
        yield f"consumers.per_zone {per_zone} leaves fewer than {CONSUMERS_LEAST} a zone"
    if isinstance(queue, FifoQueueSettings):
        yield from _undivided(queue, scenario, k)


def _undivided(queue: FifoQueueSettings, scenario: Scenario, k: int) -> Iterator[str]:
    """Yield what does not divide of ordered messages, which need whole partitions and keys."""
    if queue.partition_count == 1 or queue.resizes or queue.more_groups:
        yield "a single partition, resizes and several groups do not divide"
    sizes = {"consumers.per_zone": scenario.consumers.per_zone, "queue.partitions": queue.partitions}
    if scenario.load.keys is not None:
        sizes["load.keys.count"] = scenario.load.keys.count
    for name, size in sizes.items():
        if size % k:
            yield f"{name} {size} is no multiple of {k}"
